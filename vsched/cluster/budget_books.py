"""PodDisruptionBudgets by namespace, and what becomes of them when pods come and go that no controller counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vsched.cluster.namespace_books import NamespaceBooks, in_order
from vsched.model.budget import DisruptionBudget
from vsched.model.task import Task


class BudgetBooks(NamespaceBooks[str, DisruptionBudget, tuple[DisruptionBudget, ...]]):
    """The budgets that select pods."""

    def __init__(self) -> None:
        super().__init__(in_order)

    def settle(self, came: Iterable[Task], went: Iterable[Task]) -> None:
        """These pods run from now on, and those that ran are gone: for what-if questions, where nobody says so.

        How many pods a budget expects stays as its status has it: who was evicted is missed until another one runs.
        """
        by = Counter[tuple[str, str]]()
        for tasks, change in ((came, 1), (went, -1)):
            for task in tasks:
                pairs = dict(task.labels.pairs)
                by.update(
                    {
                        (task.namespace, key): change
                        for key, budget in self.items(task.namespace).items()
                        if budget.selector.matches(pairs) and (change > 0 or task.name not in budget.disrupted)
                    }
                )
        for (namespace, key), change in by.items():
            self.put(namespace, key, self.items(namespace)[key].changed(change))

"""PodDisruptionBudgets by namespace: their status, less the evictions that the status does not show yet.

The next session may start milliseconds after an eviction was decided, before the status changes. In a what-if no
controller updates the status, so pods that come and go are counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from vsched.mirror.state.namespace_objects import NamespaceIndex, in_order
from vsched.model.jobs.budget import DisruptionBudget, come_and_go
from vsched.model.pods.task import Task

BELIEVED_SECONDS = 60.0
"""An eviction that no status shows counts for so long."""


class ExpectedEviction(NamedTuple):
    """An eviction that the status of its budget does not show yet."""

    namespace: str
    key: str
    """Of the budget."""
    pod: str
    """The name of the pod."""
    at: float


class BudgetIndex(NamespaceIndex[str, DisruptionBudget, tuple[DisruptionBudget, ...]]):
    """The budgets that select pods."""

    def __init__(self) -> None:
        super().__init__(self._as_promised)
        self._promises: dict[str, ExpectedEviction] = {}
        """By the pod's uid, in the order they were made."""

    def promise(self, task: Task, at: float) -> None:
        """The pod is to be evicted."""
        about = self.about(task)
        if len(about) != 1:
            return  # no budget counts it, or several do, and then the API server refuses it
        key, budget = about[0]
        if task.name not in budget.disrupted and not (task.unready and budget.spares_unready):
            self._promises[task.uid] = ExpectedEviction(task.namespace, key, task.name, at)
            self._changed.add(task.namespace)

    def withdraw(self, uid: str) -> None:
        """The pod is not evicted, or the budget's status shows it."""
        promise = self._promises.pop(uid, None)
        if promise is not None:
            self._changed.add(promise.namespace)

    def see(self, namespace: str, key: str, budget: DisruptionBudget | None, has_left: Callable[[str], bool]) -> bool:
        """Take in a budget, None where it is gone; ``has_left`` says whether a pod is leaving or gone."""
        changed = budget is None or budget != self.items(namespace).get(key)
        uids = [uid for uid, one in self._promises.items() if (one.namespace, one.key) == (namespace, key)]
        for uid in uids if changed else ():
            if budget is None or self._promises[uid].pod in budget.disrupted or has_left(uid):
                self.withdraw(uid)
        return self.put(namespace, key, budget)

    def expire(self, now: float) -> None:
        """Forget evictions that have not been shown for too long."""
        while self._promises:
            uid, oldest = next(iter(self._promises.items()))
            if now - oldest.at < BELIEVED_SECONDS:
                return
            self.withdraw(uid)

    def about(self, task: Task) -> list[tuple[str, DisruptionBudget]]:
        """The budgets that select a pod, by identity."""
        found = self.items(task.namespace)
        pairs = dict(task.labels.pairs) if found else {}
        return [(key, budget) for key, budget in found.items() if budget.selector.matches(pairs)]

    def _as_promised(self, items: Mapping[str, DisruptionBudget]) -> tuple[DisruptionBudget, ...]:
        used = Counter(promise.key for promise in self._promises.values()) if self._promises else Counter[str]()
        return in_order({key: _less(budget, used[key]) for key, budget in items.items()})

    def settle(self, came: Sequence[Task], went: Sequence[Task]) -> None:
        """Count pods that run from now on and pods that are gone, for what-if simulations."""
        for namespace in {task.namespace for task in (*came, *went)}:
            for key, budget in list(self.items(namespace).items()):
                self.put(namespace, key, come_and_go(budget, came, went))


def _less(budget: DisruptionBudget, used: int) -> DisruptionBudget:
    return msgspec.structs.replace(budget, allowed=max(0, budget.allowed - used)) if used else budget

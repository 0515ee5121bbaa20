"""PodDisruptionBudgets by namespace, as their status has them and as it will have them.

An eviction that was decided uses a budget up before its status says so, and the next session may be milliseconds away.
In a what-if nobody counts at all: there the pods that come and go are counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from vsched.mirror.state.namespace_objects import NamespaceIndex, in_order
from vsched.model.budget import DisruptionBudget, come_and_go
from vsched.model.task import Task

BELIEVED_SECONDS = 60.0
"""So long an eviction counts of which no status says anything."""


class Promise(NamedTuple):
    """An eviction that was decided and that the status of its budget does not show yet."""

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
        self._promises: dict[str, Promise] = {}
        """By the pod's uid, in the order they were made."""

    def promise(self, task: Task, at: float) -> None:
        """The pod is to be evicted."""
        about = self.about(task)
        if len(about) != 1:
            return  # none has to be asked, or none would agree
        key, budget = about[0]
        if task.name not in budget.disrupted and not (task.unready and budget.spares_unready):
            self._promises[task.uid] = Promise(task.namespace, key, task.name, at)
            self._changed.add(task.namespace)

    def withdraw(self, uid: str) -> None:
        """The pod is not evicted, or its budget counts it."""
        promise = self._promises.pop(uid, None)
        if promise is not None:
            self._changed.add(promise.namespace)

    def see(self, namespace: str, key: str, budget: DisruptionBudget | None, has_left: Callable[[str], bool]) -> bool:
        """What the budget's object says now; ``has_left`` tells of pods that are seen to leave or are gone."""
        changed = budget is None or budget != self.items(namespace).get(key)
        uids = [uid for uid, one in self._promises.items() if (one.namespace, one.key) == (namespace, key)]
        for uid in uids if changed else ():
            if budget is None or self._promises[uid].pod in budget.disrupted or has_left(uid):
                self.withdraw(uid)
        return self.put(namespace, key, budget)

    def expire(self, now: float) -> None:
        """Forget what should long have been seen."""
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
        """These pods run from now on, and those that ran are gone: for what-if questions, where nobody says so."""
        for namespace in {task.namespace for task in (*came, *went)}:
            for key, budget in list(self.items(namespace).items()):
                self.put(namespace, key, come_and_go(budget, came, went))


def _less(budget: DisruptionBudget, used: int) -> DisruptionBudget:
    return msgspec.structs.replace(budget, allowed=max(0, budget.allowed - used)) if used else budget

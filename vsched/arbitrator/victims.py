"""Pods that may be evicted for others, in the order in which they go (seed 001): arrays, so that one look is quick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vsched.model.arbitration import SYSTEM_NAMESPACE, Party
from vsched.model.nodes import Ints, Mask
from vsched.model.shape import Shape
from vsched.model.status import Status
from vsched.model.task import Task

CRITICAL = 2_000_000_000
"""The priority from which on pods belong to the cluster itself (``system-cluster-critical``)."""
_PLACED = (Status.BOUND, Status.RUNNING)


def is_evictable(task: Task) -> bool:
    """Whether the eviction of a pod can help anybody; a pod that the API server keeps is spared for a while."""
    return (
        task.status in _PLACED
        and task.preemptable
        and not task.returns
        and task.priority < CRITICAL
        and task.namespace != SYSTEM_NAMESPACE
    )


def order_of(victim: Task) -> tuple[bool, int, float, str, str]:
    """Which pods of a namespace go first: those that are offered, then those of low priority, then young ones."""
    return not victim.preferred_victim, victim.priority, -victim.created, victim.namespace, victim.name


class Victims:
    """The evictable pods of some namespaces; a pod is known by its position, the order within its namespace."""

    def __init__(self, parties: Iterable[Party], rows: Mapping[str, int]) -> None:
        parties = [party for party in parties if not party.terminating]
        self.owners = tuple(party.namespace for party in parties)
        """Namespaces; pods know theirs by its number."""
        tasks = [task for party in parties for task in party.tasks.values() if is_evictable(task) and task.node in rows]
        tasks.sort(key=order_of)
        self.tasks: Sequence[Task] = tasks
        number = {namespace: position for position, namespace in enumerate(self.owners)}
        shapes: dict[Shape, int] = {}
        self.row: Ints = np.fromiter((rows[task.node] for task in tasks), np.int64, len(tasks))
        """int64[pods]: row of the node."""
        self.owner: Ints = np.fromiter((number[task.namespace] for task in tasks), np.int64, len(tasks))
        """int64[pods]: number of the namespace."""
        self._shape: Ints = np.fromiter(
            (shapes.setdefault(task.shape, len(shapes)) for task in tasks), np.int64, len(tasks)
        )
        self._shapes = [dict(shape.request) for shape in shapes]
        self._amounts: dict[int, Ints] = {}
        self.left: Mask = np.ones(len(tasks), dtype=np.bool_)
        """bool[pods]: not evicted so far."""

    def amounts(self, column: int) -> Ints:
        """int64[pods]: how much each uses of a resource."""
        found = self._amounts.get(column)
        if found is None:
            by_shape = np.array([request.get(column, 0) for request in self._shapes], dtype=np.int64)
            found = self._amounts[column] = by_shape[self._shape]
        return found

    def freeable(self, column: int, which: Mask, nodes: int) -> Ints:
        """int64[nodes]: how much of a resource these pods use on each node."""
        sums: Ints = np.zeros(nodes, dtype=np.int64)
        np.add.at(sums, self.row[which], self.amounts(column)[which])
        return sums

    def largest(self, column: int, which: Mask, nodes: int) -> Ints:
        """int64[nodes]: how much of a resource a single one of them uses at most."""
        most: Ints = np.zeros(nodes, dtype=np.int64)
        np.maximum.at(most, self.row[which], self.amounts(column)[which])
        return most

    def turns(self, degrees: Sequence[float]) -> Ints:
        """int64[pods]: who goes first, smaller does; pods of the most overused namespace before all others."""
        order = sorted(range(len(self.owners)), key=lambda owner: (-degrees[owner], self.owners[owner]))
        rank: Ints = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        turns: Ints = rank[self.owner] * len(self.tasks) + np.arange(len(self.tasks))
        return turns

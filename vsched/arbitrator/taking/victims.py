"""Pods that may be evicted for others, in the order in which they go (seed 001): arrays, so that one look is quick."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from vsched.model.arbitration.records import SYSTEM_NAMESPACE, NamespaceAccount
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

CRITICAL = 2_000_000_000
"""The priority from which on pods belong to the cluster itself (``system-cluster-critical``)."""
FIRST = 64
"""Pods that are put in order at first: mostly the first few do."""
_PLACED = (Status.BOUND, Status.RUNNING)


class Victims:
    """The evictable pods of some namespaces; a pod is known by its position, which means nothing else."""

    def __init__(self, parties: Iterable[NamespaceAccount], rows: Mapping[str, int]) -> None:
        groups = {party.namespace: _evictable(party, rows) for party in parties}
        self.owners = tuple(groups)
        """Namespaces; pods know theirs by its number."""
        tasks = [task for group in groups.values() for task in group]
        self.tasks: Sequence[Task] = tasks
        sizes = [len(group) for group in groups.values()]
        self.owner: Ints = np.repeat(np.arange(len(sizes)), sizes)
        """int64[pods]: number of the namespace."""
        self.row: Ints = _ints([rows[task.node] for task in tasks])
        """int64[pods]: row of the node."""
        shapes: dict[Shape, int] = {}
        self._shape: Ints = _ints([shapes.setdefault(task.shape, len(shapes)) for task in tasks])
        self._shapes = [dict(shape.request) for shape in shapes]
        self._amounts: dict[int, Ints] = {}
        self.left: Mask = np.ones(len(self.tasks), dtype=np.bool_)
        """bool[pods]: not evicted so far."""
        self._place = self._places()
        """int64[pods]: who goes first within a namespace: those offered, then of low priority, then young ones."""

    def _places(self) -> Ints:
        tasks = self.tasks
        kept_back = _ints([_kept_back(task) for task in tasks])
        priority = _ints([task.priority for task in tasks])
        created = np.array([task.created for task in tasks], dtype=np.float64)
        keys = (-created, priority, kept_back)
        order = np.lexsort(keys)
        places: Ints = np.zeros(len(order), dtype=np.int64)
        if len(order):
            differs = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
            places[order[1:]] = np.cumsum(differs)
        return places

    def amounts(self, column: int) -> Ints:
        """int64[pods]: how much each uses of a resource."""
        found = self._amounts.get(column)
        if found is None:
            by_shape = np.array([request.get(column, 0) for request in self._shapes], dtype=np.int64)
            found = self._amounts[column] = by_shape[self._shape]
        return found

    def owned_by(self, namespaces: Collection[str]) -> Mask:
        """bool[pods]: whose they are."""
        chosen = np.fromiter((owner in namespaces for owner in self.owners), np.bool_, len(self.owners))
        found: Mask = chosen[self.owner]
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
        turns: Ints = rank[self.owner] * len(self.tasks) + self._place
        return turns

    def in_turn(self, positions: Ints, turns: Ints) -> Iterator[int]:
        """These pods in the order in which they go: by their turns, and of one turn by name."""
        most = FIRST
        while len(positions):
            of_these = turns[positions]
            now = of_these <= (np.partition(of_these, most)[most] if most < len(positions) else of_these.max())
            tasks = self.tasks
            yield from sorted(
                positions[now].tolist(), key=lambda at: (turns.item(at), tasks[at].namespace, tasks[at].name)
            )
            positions, most = positions[~now], most * 4


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _kept_back(task: Task) -> int:
    """How far down the line a pod is by what its owner says of it: 0 goes first.

    Pods that are said not to be preemptable go last, but they go: nobody opts out of giving back.
    """
    return 2 if not task.preemptable else 0 if task.preferred_victim else 1


def _evictable(party: NamespaceAccount, rows: Mapping[str, int]) -> list[Task]:
    """The pods of a namespace whose eviction can help anybody."""
    if party.namespace == SYSTEM_NAMESPACE or party.terminating:
        return []
    return [
        task
        for task in party.tasks.values()
        if task.status in _PLACED
        and not task.spared  # the API server would not let it go
        and not task.returns
        and task.priority < CRITICAL
        and task.node in rows
    ]

"""Pods that may be evicted, and the order in which they are; kept in arrays to make the search fast."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from vsched.framework.combine.victim_rules import Protected
from vsched.framework.jobs import JobView
from vsched.framework.ledger.units import members
from vsched.framework.surplus import protected_by
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, NamespaceAccount
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

CRITICAL = 2_000_000_000
"""Pods of this priority or above belong to the cluster itself (``system-cluster-critical``)."""
FIRST = 64
"""How many pods are sorted at first: mostly the first few suffice."""
_PLACED = (Status.BOUND, Status.RUNNING)


class Victims:
    """The evictable pods of some namespaces. A pod is identified by its position, which has no other meaning."""

    def __init__(
        self,
        accounts: Iterable[NamespaceAccount],
        rows: Mapping[str, int],
        jobs: Mapping[str, Job] | None,
        protected: Protected | None,
    ) -> None:
        """``jobs`` says which pods leave together: those of a job that leaves as a whole or not at all.

        ``protected`` says which pods may not be evicted yet; None where no pod is protected.
        """

        def may_leave(task: Task) -> bool:
            return _may_leave(task, rows) and not (protected is not None and protected(task))

        groups = {account.namespace: _evictable(account, jobs or {}, may_leave) for account in accounts}
        self.owners = tuple(groups)
        """The namespaces; ``owner`` holds positions in it."""
        tasks = [task for group in groups.values() for task in group]
        self.tasks: Sequence[Task] = tasks
        self._units = _units(tasks, jobs or {})
        self._kept = _kept(tasks, jobs or {})
        sizes = [len(group) for group in groups.values()]
        self.owner: Ints = np.repeat(np.arange(len(sizes)), sizes)
        """int64[pods]: position of the pod's namespace in ``owners``."""
        self.row: Ints = _ints([rows[task.node] for task in tasks])
        """int64[pods]: row of the pod's node."""
        shapes: dict[Shape, int] = {}
        self._shape: Ints = _ints([shapes.setdefault(task.shape, len(shapes)) for task in tasks])
        self._shapes = [dict(shape.request) for shape in shapes]
        self._amounts: dict[int, Ints] = {}
        self.left: Mask = np.ones(len(self.tasks), dtype=np.bool_)
        """bool[pods]: whether the pod has not been evicted in this round."""
        self._place = self._places()
        """int64[pods]: order within a namespace: preferred victims first, then low priority, then the youngest."""

    def _places(self) -> Ints:
        tasks = self.tasks
        kept_back = _ints([2 if task.uid in self._kept else _kept_back(task) for task in tasks])
        priority = _ints([task.priority for task in tasks])
        created = np.array([task.created for task in tasks], dtype=np.float64)
        keys = (-created, priority, kept_back)
        order = np.lexsort(keys)
        places: Ints = np.zeros(len(order), dtype=np.int64)
        if len(order):
            differs = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
            places[order[1:]] = np.cumsum(differs)
        return places

    def unit(self, position: int) -> Sequence[int]:
        """The positions of the pods that leave together with this one, itself included."""
        return self._units.get(self.tasks[position].job, (position,))

    def amounts(self, column: int) -> Ints:
        """int64[pods]: how much of a resource each pod requests."""
        found = self._amounts.get(column)
        if found is None:
            by_shape = np.array([request.get(column, 0) for request in self._shapes], dtype=np.int64)
            found = self._amounts[column] = by_shape[self._shape]
        return found

    def owned_by(self, namespaces: Collection[str]) -> Mask:
        """bool[pods]: whether the pod belongs to one of these namespaces."""
        chosen = np.fromiter((owner in namespaces for owner in self.owners), np.bool_, len(self.owners))
        found: Mask = chosen[self.owner]
        return found

    def freeable(self, column: int, which: Mask, nodes: int) -> Ints:
        """int64[nodes]: how much of a resource the pods in ``which`` request together on each node."""
        sums: Ints = np.zeros(nodes, dtype=np.int64)
        np.add.at(sums, self.row[which], self.amounts(column)[which])
        return sums

    def largest(self, column: int, which: Mask, nodes: int) -> Ints:
        """int64[nodes]: the largest request for a resource by a single pod of ``which`` on each node."""
        most: Ints = np.zeros(nodes, dtype=np.int64)
        np.maximum.at(most, self.row[which], self.amounts(column)[which])
        return most

    def turns(self, degrees: Sequence[float]) -> Ints:
        """int64[pods]: the order of eviction, smaller first; pods of the most overused namespace come first.

        ``degrees`` says how overused each namespace in ``owners`` is.
        """
        order = sorted(range(len(self.owners)), key=lambda owner: (-degrees[owner], self.owners[owner]))
        rank: Ints = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        turns: Ints = rank[self.owner] * len(self.tasks) + self._place
        return turns

    def alone_first(self, positions: Ints, turns: Ints) -> Iterator[int]:
        """The same as ``in_turn``, with pods that leave together with others after those that leave alone."""
        together = np.zeros(len(self.tasks), dtype=np.bool_)
        for unit in self._units.values():
            together[unit] = len(unit) > 1
        yield from self.in_turn(positions[~together[positions]], turns)
        yield from self.in_turn(positions[together[positions]], turns)

    def in_turn(self, positions: Ints, turns: Ints) -> Iterator[int]:
        """These pods in the order of eviction: by their turns, and for equal turns by namespace and name."""
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
    """The class of a pod by its annotations; 0 is evicted first.

    Pods marked as not preemptable go last, but they can be evicted: no workload can opt out of giving back.
    """
    return 2 if not task.preemptable else 0 if task.preferred_victim else 1


def _evictable(account: NamespaceAccount, jobs: Mapping[str, Job], may_leave: Callable[[Task], bool]) -> list[Task]:
    """The pods of a namespace that may be evicted and whose eviction can make room."""
    if account.namespace == SYSTEM_NAMESPACE or account.terminating:
        return []
    keys = {task.job for task in account.tasks.values()}
    whole = (job for key in keys if (job := jobs.get(key)) is not None and job.spec.leaves_whole)
    stuck = {job.key for job in whole if not all(may_leave(task) for task in members(job))}
    return [task for task in account.tasks.values() if may_leave(task) and task.job not in stuck]


def _may_leave(task: Task, rows: Mapping[str, int]) -> bool:
    return (
        task.status in _PLACED
        and not task.spared  # the API server would not let it go
        and not task.returns
        and task.priority < CRITICAL
        and task.node in rows
    )


def _kept(tasks: Sequence[Task], jobs: Mapping[str, Job]) -> set[str]:
    """Uids of pods that their jobs keep from other evictions by their preemptibility; these go last."""
    by_job: dict[str, list[Task]] = {}
    for task in tasks:
        job = jobs.get(task.job)
        if job is not None and job.spec.preemptibility is not None:
            by_job.setdefault(task.job, []).append(task)
    found: set[str] = set()
    for key, own in by_job.items():
        keeps = protected_by(JobView(jobs[key]))
        if keeps is not None:
            found.update(
                task.uid for task in sorted(own, key=lambda task: (task.priority, -task.created)) if keeps(task)
            )
    return found


def _units(tasks: Sequence[Task], jobs: Mapping[str, Job]) -> dict[str, list[int]]:
    """By key of a job that leaves as a whole, the positions of its pods."""
    found: dict[str, list[int]] = {}
    for position, task in enumerate(tasks):
        job = jobs.get(task.job)
        if job is not None and job.spec.leaves_whole:
            found.setdefault(task.job, []).append(position)
    return found

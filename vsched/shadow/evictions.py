"""Evictions there, and whether they were of use: each is followed for a bounded time."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable

from vsched.model.pods.task import Task
from vsched.shadow.findings import Evicted

FOLLOWED_MAX = 10_000
"""So many evictions are followed at once, and so many marks of pods are kept; the oldest are given up first."""


class _Followed:
    __slots__ = ("at", "back", "job", "node", "pod", "takers", "used")

    def __init__(self, task: Task, at: float) -> None:
        self.job, self.pod, self.node, self.at = task.job, task.key, task.node, at
        self.used = self.back = False
        self.takers: set[str] = set()
        """Gangs that waited at the time and have a pod on the node since."""


class EvictionFollower:
    """Follows evictions from when they are seen until ``bound_seconds`` later."""

    def __init__(self, bound_seconds: float) -> None:
        self._bound_seconds = bound_seconds
        self._marked: OrderedDict[str, None] = OrderedDict()
        """Pods whose status says that they are evicted."""
        self._followed: list[_Followed] = []
        """In the order of their times."""
        self._on_node: defaultdict[str, list[_Followed]] = defaultdict(list)
        self._of_job: defaultdict[str, list[_Followed]] = defaultdict(list)
        self._taken_by: defaultdict[str, list[_Followed]] = defaultdict(list)

    def mark(self, uid: str) -> None:
        """The status of this pod says that it is evicted."""
        self._marked[uid] = None
        if len(self._marked) > FOLLOWED_MAX:
            self._marked.popitem(last=False)

    def left(self, task: Task, at: float) -> bool:
        """A pod leaves its node, or has left it; whether it is evicted, in which case it is followed from now on."""
        if task.uid not in self._marked:
            return False
        del self._marked[task.uid]
        followed = _Followed(task, at)
        self._followed.append(followed)
        self._on_node[task.node].append(followed)
        self._of_job[task.job].append(followed)
        return True

    def placed(self, job: str, tasks: Iterable[Task]) -> None:
        """These pods of a gang are on nodes, and were not before."""
        for task in tasks:
            came_back = next((one for one in self._of_job.get(job, ()) if not one.back), None)
            if came_back is not None:
                came_back.back = True
            for followed in self._on_node.get(task.node, ()):
                if followed.job != job and task.created <= followed.at and job not in followed.takers:
                    followed.takers.add(job)
                    self._taken_by[job].append(followed)

    def complete(self, job: str) -> None:
        """This gang has its minimum of pods on nodes."""
        for followed in self._taken_by.get(job, ()):
            followed.used = True

    def due(self, now: float) -> list[Evicted]:
        """Evictions whose time is over, with what became of them; more than can be followed are given up."""
        over = 0
        for followed in self._followed:
            if followed.at + self._bound_seconds > now and over >= len(self._followed) - FOLLOWED_MAX:
                break
            over += 1
        ended, self._followed = self._followed[:over], self._followed[over:]
        for one in ended:
            _forget(self._on_node, one.node, one)
            _forget(self._of_job, one.job, one)
            for job in one.takers:
                _forget(self._taken_by, job, one)
        return [Evicted(now, one.job, one.pod, one.node, one.at, one.used, one.back) for one in ended]


def _forget(kept: defaultdict[str, list[_Followed]], key: str, followed: _Followed) -> None:
    kept[key].remove(followed)
    if not kept[key]:
        del kept[key]

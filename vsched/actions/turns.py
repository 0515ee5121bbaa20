"""Decides which job has the next turn: by queue, then namespace, user and job. After its turn each gets a new key.

The order is kept in heaps of (key, number) pairs, and a key is computed when an entry is added. A turn changes the keys
of its queue, namespace, user and job only, and these are not in their heaps during the turn, so no key becomes stale.
Where a turn decided nothing, which is what most turns of a long backlog come to, they keep their keys, and the queue
stays the first one.
With a hierarchy of queues a turn may change the keys of other queues too (``actions.standings``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any

from vsched.actions.ordering import QueueOrdering
from vsched.actions.standings import standings
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.model.queues.queue import Queue


class JobTurns:
    """Iterates over jobs in turn until none is left, one wave of the ordering after the other."""

    def __init__(self, ordering: QueueOrdering, queues: Mapping[str, Queue], jobs: Iterable[JobView]) -> None:
        self._ordering = ordering
        self._queues = queues
        self._jobs = jobs

    def __iter__(self) -> Iterator[tuple[Queue, JobView, QueueLane]]:
        """Yield (queue, job, lane); the caller ends the turn with ``lane.end_turn``."""
        for wave in self._ordering.waves(self._jobs):
            yield from self._play(wave)

    def _play(self, jobs: Iterable[JobView]) -> Iterator[tuple[Queue, JobView, QueueLane]]:
        lanes: dict[str, QueueLane] = {}
        for job in jobs:
            lane = lanes.get(job.queue)
            if lane is None:
                lane = lanes[job.queue] = QueueLane(self._ordering, self._queues[job.queue])
            lane.add(job)
        for lane in lanes.values():
            lane.order()
        order = standings(self._ordering, (lane.queue for lane in lanes.values()))
        while (queue := order.take()) is not None:
            lane = lanes[queue.name]
            while (waiting := lane.pop()) is not None:
                yield queue, waiting, lane
                if lane.closed or not lane.idle:
                    break  # after a turn that decided nothing, the queue is still the first one
            if lane.closed or not lane:
                order.moved((queue,))
            else:
                order.put(queue)


class QueueLane:
    """The jobs of one queue that wait for a turn; grouped by namespace and by user where plugins order these."""

    def __init__(self, ordering: QueueOrdering, queue: Queue) -> None:
        self.queue = queue
        self.closed = False
        """Set by the caller to skip the queue for the rest of the action."""
        self.idle = False
        """Whether the last turn decided nothing."""
        self._ordering = ordering
        self._plugins = ordering.plugins
        self._lines: dict[str, NamespaceLine] = {}
        self._namespaces: list[tuple[Any, Any, int, str]] = []
        self._compares = self._plugins.orders_namespaces
        """Whether keys of namespaces decide anything."""
        self._numbers = count()

    def add(self, job: JobView) -> None:
        """Add a job before the first turn."""
        namespace = job.namespace if self._plugins.orders_namespaces else ""
        line = self._lines.get(namespace)
        if line is None:
            line = self._lines[namespace] = NamespaceLine(self._plugins, self.queue.name, namespace, self._numbers)
        line.add(job)

    def order(self) -> None:
        """Order the jobs that were added; called once, before the first turn."""
        self._compares = self._compares and len(self._lines) > 1
        for namespace, line in self._lines.items():
            line.order()
            self._push(namespace)

    def pop(self) -> JobView | None:
        """Remove and return the next job; None where there is none. ``end_turn`` puts its namespace back."""
        if not self._namespaces:
            return None
        self._key, _, _, self._turn = heappop(self._namespaces)
        return self._lines[self._turn].pop()

    def end_turn(self, job: JobView | None, *, idle: bool = False) -> None:
        """End a turn: put the job back if it is given, and its namespace if it still has jobs.

        ``idle``: nothing was placed, admitted, reserved or evicted in the turn, so that all sort keys are the same.
        """
        self.idle = idle
        if not self._lines[self._turn].end_turn(job, idle=idle):
            return
        if idle:
            heappush(self._namespaces, (self._key, self._lines[self._turn].first, next(self._numbers), self._turn))
        else:
            self._push(self._turn)

    def __bool__(self) -> bool:
        """Whether any job waits for a turn."""
        return bool(self._namespaces)

    def waiting(self) -> Iterator[JobView]:
        """The jobs that wait for a turn, in no particular order."""
        for line in self._lines.values():
            yield from line.waiting()

    def _push(self, namespace: str) -> None:
        key = self._ordering.namespace_key(self.queue.name, namespace) if self._compares else ()
        heappush(self._namespaces, (key, self._lines[namespace].first, next(self._numbers), namespace))


Waiting = tuple[Any, int, JobView]
"""A sort key, a number that no other has, and the job."""


class UserLine:
    """The jobs of one user that wait for a turn.

    Those that had none are in a sorted list, for their keys do not change: to take the next one costs nothing. Jobs
    that come back are in a heap.
    """

    __slots__ = ("_again", "_ahead")

    def __init__(self) -> None:
        self._ahead: list[Waiting] = []
        """The last one goes first."""
        self._again: list[Waiting] = []

    def add(self, waiting: Waiting) -> None:
        """Add a job before the first turn."""
        self._ahead.append(waiting)

    def order(self) -> None:
        """Order the jobs that were added."""
        self._ahead.sort(reverse=True)

    def put(self, waiting: Waiting) -> None:
        """Add a job that had a turn."""
        heappush(self._again, waiting)

    @property
    def first(self) -> Any:
        """The sort key of the next job."""
        ahead, again = self._ahead, self._again
        if not again:
            return ahead[-1][0]
        return again[0][0] if not ahead or again[0] < ahead[-1] else ahead[-1][0]

    def pop(self) -> JobView:
        """Remove and return the next job."""
        ahead, again = self._ahead, self._again
        if again and (not ahead or again[0] < ahead[-1]):
            return heappop(again)[-1]
        return ahead.pop()[-1]

    def __bool__(self) -> bool:
        """Whether any job waits."""
        return bool(self._ahead) or bool(self._again)

    def __iter__(self) -> Iterator[JobView]:
        """The jobs, in no particular order."""
        for line in (self._ahead, self._again):
            for _, _, job in line:
                yield job


class NamespaceLine:
    """The jobs of one namespace, or of all, that wait for a turn; grouped by user where a plugin orders users."""

    def __init__(self, plugins: PluginSet, queue: str, namespace: str, numbers: Iterator[int]) -> None:
        self._plugins = plugins
        self._queue, self._namespace = queue, namespace
        self._numbers = numbers
        self._jobs: dict[str, UserLine] = {}
        """By user."""
        self._users: list[tuple[Any, Any, int, str]] = []

    def add(self, job: JobView) -> None:
        """Add a job before the first turn."""
        user = job.job.user if self._plugins.orders_users else ""
        line = self._jobs.get(user)
        if line is None:
            line = self._jobs[user] = UserLine()
        line.add((self._plugins.job_key(job), next(self._numbers), job))

    def order(self) -> None:
        """Order the jobs that were added."""
        for user, line in self._jobs.items():
            line.order()
            self._push(user)

    @property
    def first(self) -> tuple[Any, Any]:
        """The sort keys of the next user and job."""
        return self._users[0][:2]

    def pop(self) -> JobView:
        """Remove and return the next job; ``end_turn`` puts its user back."""
        self._key, _, _, self._turn = heappop(self._users)
        return self._jobs[self._turn].pop()

    def end_turn(self, job: JobView | None, *, idle: bool) -> bool:
        """Put the job back if it is given, and its user if there are still jobs; returns whether any job waits."""
        line = self._jobs[self._turn]
        if job is not None:
            line.put((self._plugins.job_key(job), next(self._numbers), job))
        if line:
            if idle:
                heappush(self._users, (self._key, line.first, next(self._numbers), self._turn))
            else:
                self._push(self._turn)
        return bool(self._users)

    def waiting(self) -> Iterator[JobView]:
        """The jobs that wait for a turn, in no particular order."""
        for line in self._jobs.values():
            yield from line

    def _push(self, user: str) -> None:
        key = self._plugins.user_key(self._queue, self._namespace, user) if self._plugins.orders_users else ()
        heappush(self._users, (key, self._jobs[user].first, next(self._numbers), user))

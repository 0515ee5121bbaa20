"""Decides which job has the next turn: by queue, then namespace, user and job. After its turn each gets a new key.

The order is kept in heaps of (key, number) pairs, and a key is computed when an entry is added. A turn changes the keys
of its queue, namespace, user and job only, and these are not in their heaps during the turn, so no key becomes stale.
Where a turn decided nothing, which is what most turns of a long backlog come to, they keep their keys, and the queue
stays the first one. So jobs of crowds whose turns are known to come to nothing can be passed over in one step.
With a hierarchy of queues a turn may change the keys of other queues too (``actions.standings``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from typing import Any

from vsched.actions.ordering import QueueOrdering
from vsched.actions.standings import standings
from vsched.framework.combine.orders import OrderKey
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.crowds import Crowd
from vsched.framework.jobs import JobView
from vsched.model.queues.queue import Queue

NOBODY: Mapping[str, JobView] = {}


class JobTurns:
    """Iterates over jobs in turn until none is left, one wave of the ordering after the other."""

    def __init__(
        self,
        ordering: QueueOrdering,
        queues: Mapping[str, Queue],
        jobs: Iterable[JobView],
        crowds: Iterable[Crowd] = (),
        views: Mapping[str, JobView] = NOBODY,
    ) -> None:
        """``crowds`` take part with all of their jobs, whose ``views`` are given by key."""
        self._ordering = ordering
        self._queues = queues
        self._jobs = jobs
        self._crowds = crowds
        self._views = views

    def __iter__(self) -> Iterator[tuple[Queue, JobView, QueueLane]]:
        """Yield (queue, job, lane); the caller ends the turn with ``lane.end_turn``."""
        together: list[JobView | Crowd] = [*self._jobs, *self._crowds]
        for wave in self._ordering.waves(together):
            yield from self._play(wave)

    def _play(self, jobs: Iterable[JobView | Crowd]) -> Iterator[tuple[Queue, JobView, QueueLane]]:
        lanes: dict[str, QueueLane] = {}
        for job in jobs:
            lane = lanes.get(job.queue)
            if lane is None:
                lane = lanes[job.queue] = QueueLane(self._ordering, self._queues[job.queue], self._views)
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

    def __init__(self, ordering: QueueOrdering, queue: Queue, views: Mapping[str, JobView]) -> None:
        self.queue = queue
        self.closed = False
        """Set by the caller to skip the queue for the rest of the action."""
        self.idle = False
        """Whether the last turn decided nothing."""
        self._ordering = ordering
        self._plugins = ordering.plugins
        self._views = views
        self._added: list[JobView | Crowd] = []
        """As long as they are not in order."""
        self._alone: JobView | None = None
        """The only job of the queue while it waits: with nobody to be compared with, it needs no sort key."""
        self._only: UserLine | None = None
        """The only line of the queue where there is one and no crowd: its jobs are compared with each other alone."""
        self._crowds = 0
        """How many crowds were added."""
        self._parts = 0
        """How many crowds and users there are."""
        self._idle_turns = 0
        """In a row, since jobs were last passed over."""
        self._lines: dict[str, NamespaceLine] = {}
        self._namespaces: list[tuple[Any, Any, int, str]] = []
        self._compares = self._plugins.orders_namespaces
        """Whether keys of namespaces decide anything."""
        self._numbers = count()

    def add(self, job: JobView | Crowd) -> None:
        """Add a job or a crowd before the first turn."""
        self._added.append(job)

    def order(self) -> None:
        """Order the jobs that were added; called once, before the first turn."""
        added, self._added = self._added, []
        if len(added) == 1 and isinstance(added[0], JobView):
            self._alone = added[0]
            return
        for job in added:
            namespace = job.namespace if self._plugins.orders_namespaces else ""
            line = self._lines.get(namespace)
            if line is None:
                line = NamespaceLine(self._plugins, self.queue.name, namespace, self._numbers, self._views)
                self._lines[namespace] = line
            line.add(job)
            self._crowds += isinstance(job, Crowd)
        self._compares = self._compares and len(self._lines) > 1
        lines = [*self._lines.values()]
        for one in lines:
            one.order()
        if len(lines) == 1 and not self._crowds:
            self._only = lines[0].only
            if self._only is not None:
                return
        for namespace in self._lines:
            self._push(namespace)
        self._parts = self._crowds + sum(map(len, self._lines.values()))

    def pop(self) -> JobView | None:
        """Remove and return the next job; None where there is none. ``end_turn`` puts its namespace back."""
        if self._only is not None:
            return self._only.pop() if self._only else None
        if not self._namespaces:
            alone, self._alone = self._alone, None
            return alone
        self._key, _, _, self._turn = heappop(self._namespaces)
        return self._lines[self._turn].pop()

    def end_turn(self, job: JobView | None, *, idle: bool = False) -> None:
        """End a turn: put the job back if it is given, and its namespace if it still has jobs.

        ``idle``: nothing was placed, admitted, reserved or evicted in the turn, so that all sort keys are the same.
        """
        self.idle = idle
        if self._only is not None:
            if job is not None:
                self._only.put((self._plugins.job_key(job), next(self._numbers), job))
            return
        if not self._lines:
            self._alone = job
            return
        self._idle_turns = self._idle_turns + 1 if idle else 0
        if not self._lines[self._turn].end_turn(job, idle=idle):
            return
        if idle:
            heappush(self._namespaces, (self._key, self._lines[self._turn].first, next(self._numbers), self._turn))
        else:
            self._push(self._turn)

    def __bool__(self) -> bool:
        """Whether any job waits for a turn."""
        if self._only is not None:
            return bool(self._only)
        return bool(self._namespaces) or self._alone is not None

    def waiting(self) -> Iterator[JobView]:
        """The jobs that wait for a turn, in no particular order, without those of crowds."""
        if self._alone is not None:
            yield self._alone
        for line in self._lines.values():
            yield from line.waiting()

    def crowds(self) -> Iterator[tuple[Crowd, int]]:
        """The crowds with jobs that wait for a turn, in no particular order, and the position of the next one."""
        for line in self._lines.values():
            yield from line.crowds()

    def pass_over(self, is_told: Callable[[JobView], bool]) -> Sequence[Passed]:
        """Take the next jobs off the line as long as they belong to crowds that are told; one of each is shown.

        For the time after a turn that decided nothing, when sort keys stay as they are. It goes through all crowds and
        users, so it does nothing until there were as many such turns.
        """
        if not self._crowds or self._idle_turns < self._parts:
            return ()
        self._idle_turns = 0
        told = {crowd: is_told(self._views[crowd.keys[at]]) for crowd, at in self.crowds()}
        if not any(told.values()):
            return ()
        others = ((key, self._lines[name].first_but(told)) for key, _, _, name in self._namespaces)
        bound = min(((key, *first) for key, first in others if first is not None), default=None)
        passed: list[Passed] = []
        for key, _, _, name in self._namespaces:
            if bound is None or key <= bound[0]:
                until = None if bound is None or key < bound[0] else bound[1:]
                passed += self._lines[name].pass_over(told, until)
        left = ((key, name) for key, _, _, name in self._namespaces if self._lines[name])
        self._namespaces = [(key, self._lines[name].first, next(self._numbers), name) for key, name in left]
        heapify(self._namespaces)
        return passed

    def _push(self, namespace: str) -> None:
        key = self._ordering.namespace_key(self.queue.name, namespace) if self._compares else ()
        heappush(self._namespaces, (key, self._lines[namespace].first, next(self._numbers), namespace))


Waiting = tuple[Any, int, JobView]
"""A sort key, a number that no other has, and the job."""
Passed = tuple[Crowd, int, int]
"""A crowd, the position of the first of some jobs in a row, and that after the last."""


class UserLine:
    """The jobs of one user that wait for a turn.

    Those that had none are in a sorted list, for their keys do not change: to take the next one costs nothing. Jobs
    that come back are in a heap. Crowds are in order anyway; the next job of each is in another heap.
    """

    __slots__ = ("_again", "_ahead", "_crowds", "_views")

    def __init__(self, views: Mapping[str, JobView]) -> None:
        self._views = views
        self._crowds: list[tuple[OrderKey, int, Crowd]] = []
        """The sort key and the position of the next job of each crowd."""
        self._ahead: list[Waiting] = []
        """The last one goes first."""
        self._again: list[Waiting] = []

    def add(self, waiting: Waiting) -> None:
        """Add a job before the first turn."""
        self._ahead.append(waiting)

    def add_crowd(self, crowd: Crowd) -> None:
        """Add a crowd before the first turn."""
        self._crowds.append((crowd.ranks[0], 0, crowd))

    def order(self) -> None:
        """Order the jobs that were added."""
        self._ahead.sort(reverse=True)
        heapify(self._crowds)

    def put(self, waiting: Waiting) -> None:
        """Add a job that had a turn."""
        heappush(self._again, waiting)

    @property
    def first(self) -> Any:
        """The sort key of the next job."""
        first = self._first_alone
        if self._crowds and (first is None or self._crowds[0][0] < first):
            return self._crowds[0][0]
        return first

    @property
    def _first_alone(self) -> Any:
        """The sort key of the next job that is in no crowd; None where there is none."""
        ahead, again = self._ahead, self._again
        if not again:
            return ahead[-1][0] if ahead else None
        return again[0][0] if not ahead or again[0] < ahead[-1] else ahead[-1][0]

    def pop(self) -> JobView:
        """Remove and return the next job."""
        ahead, again, crowds = self._ahead, self._again, self._crowds
        if crowds and ((first := self._first_alone) is None or crowds[0][0] < first):
            _, at, crowd = crowds[0]
            if at + 1 < len(crowd.ranks):
                heapreplace(crowds, (crowd.ranks[at + 1], at + 1, crowd))
            else:
                heappop(crowds)
            return self._views[crowd.keys[at]]
        if again and (not ahead or again[0] < ahead[-1]):
            return heappop(again)[-1]
        return ahead.pop()[-1]

    def crowds(self) -> Iterator[tuple[Crowd, int]]:
        """The crowds with jobs that wait, and the position of the next one."""
        for _, at, crowd in self._crowds:
            yield crowd, at

    def first_but(self, told: Mapping[Crowd, bool]) -> Any:
        """The sort key of the next job that is of no crowd that was told; None where there is none."""
        firsts = [rank for rank, _, crowd in self._crowds if not told[crowd]]
        alone = self._first_alone
        return min(firsts if alone is None else [*firsts, alone], default=None)

    def pass_over(self, told: Mapping[Crowd, bool], bound: Any) -> Iterator[Passed]:
        """Take out the jobs of crowds that were told whose sort keys are below a bound; None for all of them."""
        left: list[tuple[OrderKey, int, Crowd]] = []
        for entry in self._crowds:
            rank, at, crowd = entry
            if not told[crowd] or (bound is not None and rank >= bound):
                left.append(entry)
                continue
            end = len(crowd.ranks) if bound is None else bisect_left(crowd.ranks, bound)
            if end < len(crowd.ranks):
                left.append((crowd.ranks[end], end, crowd))
            yield crowd, at, end
        heapify(left)
        self._crowds = left

    def __bool__(self) -> bool:
        """Whether any job waits."""
        return bool(self._ahead) or bool(self._again) or bool(self._crowds)

    def __iter__(self) -> Iterator[JobView]:
        """The jobs that are in no crowd, in no particular order."""
        for line in (self._ahead, self._again):
            for _, _, job in line:
                yield job


class NamespaceLine:
    """The jobs of one namespace, or of all, that wait for a turn; grouped by user where a plugin orders users."""

    def __init__(
        self, plugins: PluginSet, queue: str, namespace: str, numbers: Iterator[int], views: Mapping[str, JobView]
    ) -> None:
        self._plugins = plugins
        self._views = views
        self._queue, self._namespace = queue, namespace
        self._numbers = numbers
        self._jobs: dict[str, UserLine] = {}
        """By user."""
        self._users: list[tuple[Any, Any, int, str]] = []

    def add(self, job: JobView | Crowd) -> None:
        """Add a job or a crowd before the first turn."""
        user = "" if not self._plugins.orders_users else job.user if isinstance(job, Crowd) else job.job.user
        line = self._jobs.get(user)
        if line is None:
            line = self._jobs[user] = UserLine(self._views)
        if isinstance(job, Crowd):
            line.add_crowd(job)
        else:
            line.add((self._plugins.job_key(job), next(self._numbers), job))

    def order(self) -> None:
        """Order the jobs that were added."""
        for user, line in self._jobs.items():
            line.order()
            self._push(user)

    @property
    def only(self) -> UserLine | None:
        """The jobs, where all are of one user; else None."""
        lines = list(self._jobs.values())
        return lines[0] if len(lines) == 1 else None

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
        """The jobs that wait for a turn, in no particular order, without those of crowds."""
        for line in self._jobs.values():
            yield from line

    def crowds(self) -> Iterator[tuple[Crowd, int]]:
        """The crowds with jobs that wait for a turn, and the position of the next one."""
        for line in self._jobs.values():
            yield from line.crowds()

    def first_but(self, told: Mapping[Crowd, bool]) -> Any:
        """The sort keys of user and job of the next job that is of no crowd that was told; None where there is none."""
        firsts = ((key, self._jobs[user].first_but(told)) for key, _, _, user in self._users)
        return min((one for one in firsts if one[1] is not None), default=None)

    def pass_over(self, told: Mapping[Crowd, bool], bound: Any) -> list[Passed]:
        """Take out the jobs of crowds that were told whose sort keys are below a bound; None for all of them."""
        passed: list[Passed] = []
        for key, _, _, user in self._users:
            if bound is None or key <= bound[0]:
                passed += self._jobs[user].pass_over(told, None if bound is None or key < bound[0] else bound[1])
        left = ((key, user) for key, _, _, user in self._users if self._jobs[user])
        self._users = [(key, self._jobs[user].first, next(self._numbers), user) for key, user in left]
        heapify(self._users)
        return passed

    def __len__(self) -> int:
        """How many users have jobs that wait for a turn."""
        return len(self._users)

    def _push(self, user: str) -> None:
        key = self._plugins.user_key(self._queue, self._namespace, user) if self._plugins.orders_users else ()
        heappush(self._users, (key, self._jobs[user].first, next(self._numbers), user))

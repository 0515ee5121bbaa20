"""The limits of queues and namespaces at a later time: whether they let a job in, and what they leave besides it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from vsched.actions.blocked import QUEUE_OVERUSED
from vsched.framework.codes import Code
from vsched.framework.nodes.limited import Limited, asked
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.amounts.resources import Vector, add
from vsched.model.pods.task import Task
from vsched.model.queues.queue import ROOT, Queue

LIMITS_MOST = 1 << 62
"""More than any limit of pods (``limits.memory``)."""


class PlannedLimits:
    """The limits that count for one job. Each answer is about the amounts that are held at the time."""

    def __init__(self, session: Session, queue: Queue, tasks: Sequence[Task]) -> None:
        """``tasks`` are those that the job lacks of its minimum."""
        self._session = session
        self._queue = queue
        self._tasks = tasks
        total: Vector = {}
        for task in tasks:
            add(total, task.shape.request)
        self._total = tuple(sorted(total.items()))
        self._shapes = Counter(task.shape for task in tasks)
        assert session.reserved.planned is not None, "starts are planned"
        self._limits_of = session.reserved.planned.limits_of
        self._own = self._limits_of(tasks[0])
        self._close = {*self._own[:-1]} - {Limited(queue=ROOT)}
        """The queues whose work is looked at first: not all work of the cluster."""
        if tasks[0].namespace in session.snapshot.ceilings:
            self._close.add(self._own[-1])

    def refusal(self) -> Refusal | None:
        """What refuses the tasks, of all that allocate asks of a queue and a namespace; None where they may start."""
        plugins, queue, first = self._session.plugins, self._queue, self._tasks[0]
        found = plugins.allocatable(queue, self._total)
        for shape, count in self._shapes.items():
            found = found or plugins.namespace_limit(first.namespace, shape, count)
        found = found or plugins.claim_limit(queue, self._tasks)
        if found is None and plugins.overused(queue):
            found = Refusal(QUEUE_OVERUSED, "", code=Code.QUEUE_SHARE, subject=queue.name)
        return found

    def is_close(self, task: Task) -> bool:
        """Whether the task counts for a limit of the job's queue, of a queue above it or of its namespace."""
        return not self._close.isdisjoint(self._limits_of(task))

    def is_wide(self, refusal: Refusal) -> bool:
        """Whether the end of other work may help as well: at a limit of the whole cluster or of lent amounts."""
        return refusal.code is Code.NAMESPACE_CEILING or Limited(queue=refusal.subject) not in self._close

    def takes(self, limited: Limited) -> list[tuple[int | str, int]]:
        """What the tasks take of a limit."""
        found: Counter[int | str] = Counter()
        for task in self._tasks:
            for key, amount in asked(limited, task):
                found[key] += amount
        return list(found.items())

    def left(self, ended: Iterable[Task]) -> dict[Limited, dict[int | str, int]]:
        """What may be held besides the job, which has its places.

        ``ended`` is work that has ended by then, although it counts as held now.
        """
        plugins, total = self._session.plugins, self._session.snapshot.total
        own, *_, space = self._own
        found: dict[Limited, dict[int | str, int]] = {}
        for column, _ in self._total:
            most = int(total[column]) + 1
            room = _room(partial(self._may_hold, column), most)
            if room is not None:
                found.setdefault(own, {})[column] = room
            for name, above in plugins.room_above(self._queue, column).items():
                found.setdefault(Limited(queue=name), {})[column] = above
        if space.namespace in self._session.snapshot.ceilings:
            found[space] = dict(self._left_in_namespace(space))
        for task in ended if found else ():
            for limited in self._limits_of(task):
                rooms = found.get(limited)
                if rooms is not None:
                    for key, amount in asked(limited, task):
                        if key in rooms:
                            rooms[key] += amount
        return found

    def _may_hold(self, column: int, amount: int) -> bool:
        return self._session.plugins.allocatable(self._queue, ((column, amount),)) is None

    def _left_in_namespace(self, space: Limited) -> Iterable[tuple[int | str, int]]:
        plugins, shape, total = self._session.plugins, self._tasks[0].shape, self._session.snapshot.total

        def fits(key: int | str, amount: int) -> bool:
            requests = ((key, amount),) if isinstance(key, int) else ()
            limits = ((key, amount),) if isinstance(key, str) else ()
            asking = msgspec.structs.replace(shape, request=requests, limits=limits)
            return plugins.namespace_limit(space.namespace, asking) is None

        for key, _ in self.takes(space):
            most = int(total[key]) + 1 if isinstance(key, int) else LIMITS_MOST
            room = _room(partial(fits, key), most)
            if room is not None:
                yield key, room


def _room(fits: Callable[[int], bool], most: int) -> int | None:
    """The largest amount that fits; None where ``most`` does."""
    if fits(most):
        return None
    low, high = 0, most
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

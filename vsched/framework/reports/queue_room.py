"""What queues may hold by their own statement, and what pods take of it that nodes are to be added for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property

from vsched.framework.points.extension import StatedLimit
from vsched.framework.refusal import QueueBound, Shortage
from vsched.framework.session import Session
from vsched.framework.words.limits import at_limit
from vsched.model.amounts.resources import Vector, add, times
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task


class QueueRoom:
    """The limits that the queues of a session state, and what is promised of them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._limits: dict[str, list[StatedLimit]] = {}
        self._promised: dict[str, Vector] = {}
        """By queue: what the pods ask for that nodes are to be added for."""

    def all_may_grow(self, queue: str) -> bool:
        """Whether a queue and those above it may hold all that waits in them, by their stated limits."""
        stated = self._stated(queue)
        return not stated or self._tight.isdisjoint(limit.queue for limit in stated)

    def take(self, queue: str, tasks: Sequence[Task]) -> str | None:
        """Count the tasks against the limits; where they are too many, nothing is counted, and the reason returned."""
        asked = _sum(tasks)
        for limit in self._stated(queue):
            short = next(self._short(limit, asked), None)
            if short is not None:
                return at_limit(queue, limit.queue, short, QueueBound(short.limit, short.limit, limit.queue))
        self._count(queue, asked.items())
        return None

    def take_often(self, queue: str, tasks: Sequence[Task], most: int) -> int:
        """Count such tasks again and again, at most so often, as long as there is room; returns how often."""
        asked = _sum(tasks)
        for limit in self._stated(queue):
            promised = self._promised.get(limit.queue, {})
            for column, amount in limit.amounts:
                wanted = asked.get(column, 0)
                if wanted:
                    left = amount - limit.held.get(column, 0) - promised.get(column, 0)
                    most = min(most, max(0, left // wanted))
        self._count(queue, times(tuple(asked.items()), most))
        return most

    def _count(self, queue: str, amounts: Iterable[tuple[int, int]]) -> None:
        for limit in self._stated(queue):
            add(self._promised.setdefault(limit.queue, {}), amounts)

    def _stated(self, name: str) -> list[StatedLimit]:
        """What a queue and those above it may hold by their own statement."""
        found = self._limits.get(name)
        if found is None:
            found = self._limits[name] = self._session.plugins.stated_limits(self._session.snapshot.queues[name])
        return found

    @cached_property
    def _tight(self) -> Set[str]:
        """The queues that may not hold all that waits in them and below them, by their own statement."""
        snapshot, asked = self._session.snapshot, dict[str, Vector]()
        stated = [(self._stated(name), usage) for name, usage in snapshot.books.items() if name in snapshot.queues]
        for limits, usage in stated:
            for name in {limit.queue for limit in limits}:
                add(asked.setdefault(name, {}), usage.pending.items())
        return {limit.queue for limits, _ in stated for limit in limits if _is_short(limit, asked[limit.queue])}

    def _short(self, limit: StatedLimit, asked: Vector) -> Iterator[Shortage]:
        names, promised = self._session.snapshot.axis.names, self._promised.get(limit.queue, {})
        for column, most in limit.amounts:
            wanted = asked.get(column, 0)
            before = promised.get(column, 0)
            held = limit.held.get(column, 0) + before
            if wanted and held + wanted > most:
                yield Shortage(names[column], held, wanted, most, before)


def counts(tasks: Sequence[Task]) -> Iterable[tuple[Shape, int]]:
    """How many of the tasks have each shape; mostly all have one."""
    first = tasks[0].shape
    if all(task.shape is first for task in tasks):
        return ((first, len(tasks)),)
    return Counter(task.shape for task in tasks).items()


def _sum(tasks: Sequence[Task]) -> Vector:
    """What the tasks ask for together."""
    asked: Vector = {}
    for shape, count in counts(tasks):
        add(asked, times(shape.request, count))
    return asked


def _is_short(limit: StatedLimit, asked: Vector) -> bool:
    """Whether a limit leaves too little for these amounts."""
    wanted = ((asked.get(column, 0), limit.held.get(column, 0), most) for column, most in limit.amounts)
    return any(amount and held + amount > most for amount, held, most in wanted)

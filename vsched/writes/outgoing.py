"""A bounded queue of requests about pods, and the workers that send them. Bindings and evictions share it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, Generic, Protocol, TypeVar

from vsched.writes import words
from vsched.writes.limits import Attempts
from vsched.writes.precedence import Precedence
from vsched.writes.unexpected import report
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import UNSENT, Write, Writer, WriteResult, may_help


class AboutPod(Protocol):
    """A decision about one pod."""

    @property
    def uid(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=AboutPod)


class Outgoing(ABC, Generic[T]):
    """Sends requests in order, several at once. A new decision replaces one that still waits for the same pod."""

    what: ClassVar[str]
    """What is sent, for people."""

    def __init__(self, writer: Writer, max_in_flight: int, queue_limit: int) -> None:
        self._writer = writer
        bounds = WorkqueueSettings(max_in_flight, limit=queue_limit)  # the rate is the writer's business
        self._workqueue: Workqueue[str, T] = Workqueue(bounds, lambda _, item: self._carry_out(item))

    @abstractmethod
    async def _carry_out(self, item: T) -> None:
        """Send the request, and say what became of it."""

    @abstractmethod
    def _drop(self, item: T, why: str) -> None:
        """Say that it will not be sent."""

    @property
    def depth(self) -> int:
        """How many wait for a worker."""
        return len(self._workqueue)

    @property
    def in_flight(self) -> int:
        """How many a worker has in hand, waits between attempts included."""
        return self._workqueue.in_flight

    @property
    def busy(self) -> bool:
        """Whether anything waits or is in flight."""
        return self._workqueue.busy

    def goes_before(self, others: Precedence) -> None:
        """Have others wait while anything waits for a worker or is in flight."""
        workqueue = self._workqueue
        others.give(lambda: workqueue.busy)
        workqueue.on_idle.add(others.over)

    def submit(self, items: Iterable[T]) -> None:
        """Queue them in order; those that find no room are dropped at once, with an outcome."""
        for _ in self.submitting(items):
            pass

    def submitting(self, items: Iterable[T]) -> Iterator[None]:
        """The same in steps, one for each; other tasks may run in between."""
        for item in items:
            self._submit(item)
            yield

    def _submit(self, item: T) -> None:
        if not self._workqueue.put(item.uid, item):
            self._drop(item, words.queue_is_full(self.what))

    async def run(self) -> None:
        """Send what is submitted, until cancelled."""
        await self._workqueue.run()

    async def drain(self, deadline_seconds: float) -> int:
        """Carry out what was submitted; counts what is left at the deadline."""
        return await self._workqueue.drain(deadline_seconds)

    async def _send(
        self, item: T, make: Callable[[T], Write], attempts: Attempts, again: Callable[[WriteResult], bool] = may_help
    ) -> WriteResult:
        try:
            return await self._writer.send(make(item), attempts, again)
        except Exception as error:  # the requests about other pods go on
            why = report(words.item_is_dropped(self.what, item.namespace, item.name), error)
            return WriteResult(UNSENT, words.not_sent(why))

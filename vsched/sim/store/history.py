"""The history of the objects of one kind: a log of events that every watch reads with a cursor of its own.

Watches have no queues. A watch that is too slow gets ``Behind`` when its events are no longer in the log. The store
decides how far back the log reaches.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from operator import attrgetter

import orjson

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.sim.store.managed_fields import LazyManagedFields, entries_of

_REVISION = attrgetter("revision")


class StoredObject:
    """An object as it is stored. Its JSON is made when it is first needed."""

    __slots__ = ("_raw", "obj", "owners", "revision")

    def __init__(self, obj: Obj, revision: int, owners: LazyManagedFields | None) -> None:
        self.obj = obj
        self.revision = revision
        self.owners = owners
        """Who owns its fields; None if the object has managedFields, or its owners are unknown."""
        self._raw: bytes | None = None

    def managed_fields(self, kind: Kind) -> list[Obj]:
        """Its managedFields."""
        if self.owners is None:
            return entries_of(self.obj)
        self.owners = self.owners.settled(kind, self.obj)
        return self.owners.entries(kind, self.obj)

    @property
    def raw(self) -> bytes:
        raw = self._raw
        if raw is None:
            raw = self._raw = orjson.dumps(self.obj)
        return raw


class Event:
    """One change: the object after it and before it, and the line for watches, which is made once for all of them."""

    __slots__ = ("_line", "key", "previous", "record", "revision", "type")

    def __init__(self, type_: str, key: str, record: StoredObject, previous: StoredObject | None) -> None:
        self.type = type_
        self.key = key
        self.record = record
        self.previous = previous
        self.revision = record.revision
        self._line: bytes | None = None

    @property
    def obj(self) -> Obj:
        return self.record.obj

    @property
    def line(self) -> bytes:
        line = self._line
        if line is None:
            line = self._line = self.line_as(self.type)
        return line

    def line_as(self, type_: str) -> bytes:
        """The line for a watch that shows the change as one of another type."""
        return b'{"type":"%b","object":%b}\n' % (type_.encode(), self.record.raw)


class Behind(Exception):
    """A reader asked for events that are no longer in the log."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")


class EventHistory:
    """The events of one kind after the revision ``floor``; older events are dropped."""

    def __init__(self, floor: int = 0) -> None:
        self._events: list[Event] = []
        self._base = 0
        self._waiting: list[asyncio.Future[None]] = []
        self.floor = floor
        self.closed = False

    @property
    def end(self) -> int:
        """The cursor of a reader that has read everything."""
        return self._base + len(self._events)

    @property
    def latest(self) -> int:
        """The revision of the newest event, or of the newest one that was dropped."""
        return self._events[-1].revision if self._events else self.floor

    @property
    def readers_waiting(self) -> int:
        return len(self._waiting)

    def append(self, event: Event) -> None:
        self._events.append(event)
        if self._waiting:
            self.wake()

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def close(self) -> None:
        """Ends all readers, because the kind is no longer served."""
        self.closed = True
        self.wake()

    def forget(self, revision: int) -> None:
        """Drops the events up to a revision, as compaction does."""
        count = bisect_right(self._events, revision, key=_REVISION)
        del self._events[:count]
        self._base += count
        self.floor = max(self.floor, revision)

    def restart(self, revision: int) -> None:
        """Begin anew at a revision; whoever reads on with an old cursor is behind."""
        self._base += len(self._events) + 1
        self._events = []
        self.floor = revision
        self.wake()

    def cursor_after(self, revision: int) -> int:
        """The cursor of a reader that has seen ``revision``; raises Behind if later events were dropped."""
        if revision < self.floor:
            raise Behind(revision, self.floor)
        return self._base + bisect_right(self._events, revision, key=_REVISION)

    def since(self, revision: int) -> list[Event]:
        """Every event after a revision; raises Behind if some were dropped."""
        return self._events[self.cursor_after(revision) - self._base :]

    def read(self, cursor: int, limit: int) -> list[Event]:
        start = cursor - self._base
        if start < 0:
            raise Behind(cursor, self.floor)
        return self._events[start : start + limit]

    def waiter(self) -> asyncio.Future[None]:
        """A future that is done at the next event."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def leave(self, future: asyncio.Future[None]) -> None:
        """Drops the future of a reader that no longer waits."""
        if future in self._waiting:
            self._waiting.remove(future)


class Subscription:
    """A reader of a history, with its cursor."""

    def __init__(self, history: EventHistory, cursor: int) -> None:
        self._history = history
        self._cursor = cursor

    @property
    def closed(self) -> bool:
        return self._history.closed

    def take(self, limit: int = 1000) -> list[Event]:
        """The next events, at most ``limit``; raises Behind if the reader was too slow."""
        events = self._history.read(self._cursor, limit)
        self._cursor += len(events)
        return events

    async def wait(self, timeout_seconds: float | None = None) -> bool:
        """Waits for the next event; False if the time is up first."""
        if self._cursor < self._history.end or self._history.closed:
            return True
        future = self._history.waiter()
        if timeout_seconds is None:
            try:
                await future
            finally:
                self._history.leave(future)
            return True
        timer = asyncio.get_running_loop().call_later(timeout_seconds, _expire, future)
        try:
            await future
        finally:
            timer.cancel()
            self._history.leave(future)
        return self._cursor < self._history.end or self._history.closed


def _expire(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

"""A rate-limited workqueue: it writes the latest value of each key when it is due, with a few workers.

A value replaces one that still waits for the same key. A value put while its key is being written waits for the end
of that write. So an object that changes faster than it can be written costs one write, with the latest content.
A value that yields waits longer than until it is due, while something else has precedence.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from math import inf
from typing import Generic, NamedTuple, TypeVar

import msgspec

from vsched.clock import monotonic
from vsched.handlers import Handlers
from vsched.writes import words
from vsched.writes.limits import TokenBucket
from vsched.writes.precedence import Precedence
from vsched.writes.unexpected import report

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

AT_ONCE = 500
"""So many entries that do not count, or not yet, are passed over between two turns of the event loop."""


Entry = tuple[float, int, K]
"""When a key is due, a number, and the key."""


class WaitingWrite(NamedTuple, Generic[K, V]):
    """A value that waits to be written."""

    value: V
    entry: Entry[K]
    """The one that counts for its key; all others of the key are stale."""
    yields: bool


class WorkqueueSettings(msgspec.Struct, frozen=True):
    """Bounds of one workqueue."""

    workers: int
    """Writes in flight at the same time."""
    per_second: float = inf
    """Average number of writes a second; as many as there are where nothing is said."""
    burst: float = inf
    limit: int = 100_000
    """How many keys may wait; the queue refuses and counts further ones."""


class Workqueue(Generic[K, V]):
    """Values by key that wait until they are due, and the workers that write them."""

    def __init__(
        self,
        settings: WorkqueueSettings,
        write: Callable[[K, V], Awaitable[None]],
        clock: Callable[[], float] = monotonic,
        precedence: Precedence | None = None,
    ) -> None:
        """``precedence`` says when values that yield have to wait; without it, none does."""
        self._settings = settings
        self._write = write
        self._clock = clock
        limited = settings.per_second < inf
        self._bucket = TokenBucket(settings.per_second, settings.burst, clock) if limited else None
        self._waiting: dict[K, WaitingWrite[K, V]] = {}
        self._due: list[Entry[K]] = []
        """A heap."""
        self._held_up: deque[tuple[float, Entry[K]]] = deque()
        """Entries that are due and wait for what has precedence, in this order; until when at most."""
        self._precedence = precedence
        if precedence is not None:
            precedence.wait(self._hand_out)
        self._number = 0
        self._writing: set[K] = set()
        self._after: dict[K, tuple[V, float, bool]] = {}
        """Values put while their key was being written, with the time they are due, and whether they yield."""
        self._idle: list[asyncio.Future[Entry[K]]] = []
        """Workers that wait for something to be due, each for an entry of the heap."""
        self._timer: asyncio.TimerHandle | None = None
        """Looks at the first entry that is not due yet."""
        self._timer_due = 0.0
        self._ended = asyncio.Event()
        """Set whenever a write ends."""
        self.on_idle: Handlers[[]] = Handlers()
        """Called when nothing waits or is being written any more."""
        self._hurried = False
        self.refused = 0
        """How many keys were refused because the queue was full."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._after)

    @property
    def busy(self) -> bool:
        """Whether a value waits or is being written."""
        return bool(self._waiting or self._writing)

    @property
    def in_flight(self) -> int:
        """Keys that are being written."""
        return len(self._writing)

    def get(self, key: K) -> V | None:
        """The value that waits for ``key``, or None."""
        later = self._after.get(key)
        if later is not None:
            return later[0]
        waiting = self._waiting.get(key)
        return None if waiting is None else waiting.value

    def put(self, key: K, value: V, wait_seconds: float = 0.0, *, yields: bool = False) -> bool:
        """Write ``value`` for ``key`` after ``wait_seconds``, or earlier if the key already waits for an earlier time.

        It ``yields`` to what has precedence if all that waits for the key does. Returns False where the queue is full.
        """
        due = self._clock() + wait_seconds
        if key in self._writing:
            later = self._after.get(key)
            if later is not None:
                due, yields = min(due, later[1]), yields and later[2]
            self._after[key] = (value, due, yields)
            return True
        waiting = self._waiting.get(key)
        if waiting is not None:
            before = waiting.entry[0]
            if due < before or (waiting.yields and not yields):
                self._enter(key, value, min(due, before), yields=yields and waiting.yields)
            else:
                self._waiting[key] = WaitingWrite(value, waiting.entry, waiting.yields)
            return True
        if len(self._waiting) >= self._settings.limit:
            self.refused += 1
            return False
        self._enter(key, value, due, yields=yields)
        return True

    def retry(self, key: K, value: V, wait_seconds: float) -> None:
        """Write ``value`` again after ``wait_seconds``, unless a newer one waits for ``key``."""
        if self.get(key) is None:
            self.put(key, value, wait_seconds)

    def _enter(self, key: K, value: V, due: float, *, yields: bool) -> None:
        self._number += 1
        entry = due, self._number, key
        self._waiting[key] = WaitingWrite(value, entry, yields)
        heapq.heappush(self._due, entry)
        self._hand_out()

    def discard(self, key: K) -> None:
        """Forget the value that waits for ``key``. A write that has begun goes on."""
        self._waiting.pop(key, None)
        self._after.pop(key, None)

    def take_all(self) -> list[V]:
        """Everything that waits, which is then forgotten."""
        taken = [*(waiting.value for waiting in self._waiting.values()), *(value for value, *_ in self._after.values())]
        self._waiting.clear()
        self._after.clear()
        return taken

    async def run(self) -> None:
        """Write what is due, until cancelled."""
        # What a worker had taken and not begun when it was cancelled waits again.
        self._due = [waiting.entry for waiting in self._waiting.values()]
        heapq.heapify(self._due)
        self._held_up.clear()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._settings.workers):
                    group.create_task(self._work())
        finally:
            self._idle.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            entry = self._take()
            if entry is None:
                waiter: asyncio.Future[Entry[K]] = loop.create_future()
                self._idle.append(waiter)
                self._look_later()
                entry = await waiter
            if self._bucket is not None and not self._hurried:
                wait_seconds = self._bucket.claim()
                if wait_seconds:
                    await asyncio.sleep(wait_seconds)
            if not self._is_stale(entry):
                await self._carry_out(entry[2])

    # -- one worker is woken for each entry: to wake them all would cost more than the writes

    def _take(self) -> Entry[K] | None:
        """The first entry whose turn it is; None where there is none, or too many are before it."""
        now, held_up = self._clock(), self._held_up
        for _ in range(AT_ONCE):
            if held_up and (self._is_stale(held_up[0][1]) or held_up[0][0] <= now or not self._must_yield()):
                _, entry = held_up.popleft()
                if not self._is_stale(entry):
                    return entry
            elif self._due and (self._hurried or self._due[0][0] <= now):
                entry = heapq.heappop(self._due)
                if self._is_stale(entry):
                    continue
                if self._precedence is None or not self._waiting[entry[2]].yields or not self._must_yield():
                    return entry
                held_up.append((now + self._precedence.most_seconds, entry))
            else:
                break
        return None

    def _is_stale(self, entry: Entry[K]) -> bool:
        """Whether another entry counts for the key, or none."""
        waiting = self._waiting.get(entry[2])
        return waiting is None or waiting.entry is not entry

    def _must_yield(self) -> bool:
        """Whether something has precedence over values that yield."""
        return self._precedence is not None and self._precedence.taken() and not self._hurried

    def _hand_out(self) -> None:
        """Give what is due to workers that wait."""
        while self._idle:
            entry = self._take()
            if entry is None:
                self._look_later()
                return
            waiter = self._idle.pop()
            if not waiter.done():
                waiter.set_result(entry)
            else:  # its worker has been cancelled
                heapq.heappush(self._due, entry)

    def _look_later(self) -> None:
        """Look again when the first entry is due, or has waited long enough for what has precedence."""
        due = self._due[0][0] if self._due else inf
        if self._held_up:
            due = min(due, self._held_up[0][0])
        if self._hurried and due < inf:  # what is left is behind entries that do not count
            due = self._clock()
        if due == inf:
            return
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = asyncio.get_running_loop().call_later(max(0.0, due - self._clock()), self._look)

    def _look(self) -> None:
        self._timer = None
        self._hand_out()

    async def _carry_out(self, key: K) -> None:
        value = self._waiting.pop(key).value
        self._writing.add(key)
        try:
            await self._write(key, value)
        except Exception as error:  # work on all other objects goes on
            report(words.key_is_dropped(key), error)
        finally:
            self._writing.discard(key)
            self._ended.set()
            later = self._after.pop(key, None)
            if later is not None:
                self._enter(key, later[0], later[1], yields=later[2])
            elif not self.busy:
                self.on_idle()

    async def drain(self, deadline_seconds: float) -> int:
        """Write everything now, whatever its due time and the rate; returns how many are left at the deadline."""
        self._hurried = True
        self._hand_out()
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_seconds):
                while self.busy:
                    self._ended.clear()
                    await self._ended.wait()
        return len(self) + len(self._writing)

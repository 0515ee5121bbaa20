"""A work queue of keys, each at most once, for now or later.

It is bounded: beyond the limit keys are dropped, and ``overflowed`` asks to reconcile everything.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque

LIMIT = 1_000_000
_SLACK = 1024
"""Outdated timers in the heap before it is rebuilt."""


class WorkQueue:
    """A key that is in the queue is not added again; of two times the earlier one counts."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.overflowed = False
        self._limit = limit
        self._ready: deque[str] = deque()
        self._waiting: set[str] = set()
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """The number of keys for later."""
        return len(self._due)

    def add(self, key: str) -> None:
        if key in self._waiting:
            return
        if len(self._ready) >= self._limit:
            self.overflowed = True
        else:
            self._waiting.add(key)
            self._ready.append(key)
        self._wake.set()

    def add_after(self, key: str, seconds: float) -> None:
        """Adds the key in so many seconds."""
        if seconds <= 0:
            self.add(key)
            return
        due = asyncio.get_running_loop().time() + seconds
        if self._due.get(key, due + 1) <= due:
            return
        if len(self._due) >= self._limit:
            self.overflowed = True
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, key))
        if len(self._heap) > 2 * len(self._due) + _SLACK:
            self._heap = [(moment, name) for name, moment in self._due.items()]
            heapq.heapify(self._heap)
        if self._heap[0][0] >= due:
            self._arm()

    def forget(self, key: str) -> None:
        """Drops the timer of a key."""
        self._due.pop(key, None)

    async def take(self, most: int) -> list[str]:
        """Waits for keys, and takes up to ``most`` of them, oldest first."""
        while not self._ready and not self.overflowed:
            self._wake.clear()
            await self._wake.wait()
        keys = [self._ready.popleft() for _ in range(min(most, len(self._ready)))]
        self._waiting.difference_update(keys)
        return keys

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _arm(self) -> None:
        self.close()
        if self._heap:
            self._alarm = asyncio.get_running_loop().call_at(self._heap[0][0], self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = asyncio.get_running_loop().time()
        while self._heap and self._heap[0][0] <= now:
            due, key = heapq.heappop(self._heap)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        self._arm()

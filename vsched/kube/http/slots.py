"""So many at the same time: a semaphore that costs next to nothing where nobody has to wait.

Each turn with that of asyncio takes a coroutine, even while most slots are free.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """Taken and given back; those that wait get them in turn."""

    def __init__(self, count: int) -> None:
        self._free = count
        """Nobody waits while there are any: a slot that is given back goes to the first who waits."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take_now(self) -> bool:
        """Take a slot if there is one."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def take(self) -> None:
        """Take a slot, and wait for it where there is none."""
        if self.take_now():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was given and cancelled in the same turn of the loop
                self.give()
            raise

    def give(self) -> None:
        """Give a slot back."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

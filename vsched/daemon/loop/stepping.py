"""Sessions one at a time, each when it is asked for: in replays time stands still while the daemon decides."""

from __future__ import annotations

import asyncio
import math

from vsched.daemon.triggers import Reason, Trigger


class Steps(Trigger):
    """A trigger that nothing pulls but ``step``; changes wait, however many, and there is no period."""

    def __init__(self) -> None:
        super().__init__(period_seconds=math.inf, window_seconds=0.0)
        self._asked = asyncio.Event()
        self._resting = asyncio.Event()
        self._released = False

    async def next(self, busy_seconds: float = 0.0) -> Reason:
        self._resting.set()
        if not self._released:
            await self._asked.wait()
        self._asked.clear()
        return Reason.CHANGE

    async def step(self) -> None:
        """Have one session held, and wait for its end: what it decided is under way then."""
        await self._resting.wait()
        self._resting.clear()
        self._asked.set()
        await self._resting.wait()

    def release(self) -> None:
        """No more steps: sessions need not be asked for, so that a daemon that was told to stop comes to its end."""
        self._released = True
        self._asked.set()

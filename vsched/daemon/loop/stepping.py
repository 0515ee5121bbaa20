"""A trigger for replays of traces: one session for each step, so that time stands still while the daemon decides."""

from __future__ import annotations

import asyncio
import math

from vsched.daemon.triggers import Reason, Trigger


class Steps(Trigger):
    """A trigger that only ``step`` fires; changes do not, and there is no period."""

    def __init__(self) -> None:
        super().__init__(period_seconds=math.inf, window_seconds=0.0)
        self._asked = asyncio.Event()
        self._resting = asyncio.Event()
        self._released = False
        self.due_seconds = math.inf
        """After how long another session may decide more although nothing has changed."""

    async def next(self, busy_seconds: float = 0.0, due_seconds: float = math.inf) -> Reason:
        self.due_seconds = due_seconds
        self._resting.set()
        if not self._released:
            await self._asked.wait()
        self._asked.clear()
        return Reason.CHANGE

    async def step(self) -> None:
        """Run one session and wait for its end; its writes are under way then."""
        await self._resting.wait()
        self._resting.clear()
        self._asked.set()
        await self._resting.wait()

    def release(self) -> None:
        """No more steps: sessions start by themselves, so that a stopping daemon can end."""
        self._released = True
        self._asked.set()

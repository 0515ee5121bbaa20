"""When the next session starts: soon after a change, when the period is over, or when the last session said.

The first change opens a short window, so that changes that come together are decided together. The window closes
early once no more changes come.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from math import inf

LOOKS = 4
"""How often a window is checked for further changes."""
WORTH = 2.0
"""Time to wait for further changes, as a multiple of a session's duration."""


class Reason(StrEnum):
    """Why a session starts."""

    CHANGE = "change"
    TIMER = "timer"


class Trigger:
    """Wakes the loop; anyone may pull it, any number of times."""

    def __init__(self, period_seconds: float, window_seconds: float) -> None:
        self.period_seconds = period_seconds
        self.window_seconds = window_seconds
        self._pulled = asyncio.Event()
        self._pulls = 0

    def pull(self) -> None:
        """Something changed."""
        self._pulls += 1
        self._pulled.set()

    async def next(self, busy_seconds: float = 0.0, due_seconds: float = inf) -> Reason:
        """Wait until the next session is due; ``busy_seconds`` is how long the last one took.

        ``due_seconds`` is after how long another session may decide more although nothing has changed.
        """
        reason = Reason.CHANGE
        try:
            async with asyncio.timeout(min(self.period_seconds, due_seconds)):
                await self._pulled.wait()
        except TimeoutError:
            reason = Reason.TIMER
        else:
            await self._gather(busy_seconds)
        self._pulled.clear()
        return reason

    async def _gather(self, busy_seconds: float) -> None:
        """Wait for further changes until the window is over or none came for a while."""
        # Long sessions widen the window: watches and bindings need the processor, too.
        left_seconds = max(self.window_seconds, min(busy_seconds / 4, self.period_seconds))
        # The costlier a session, the longer it waits for company: one that takes half a window always waits it out.
        look_seconds = max(self.window_seconds / LOOKS, WORTH * busy_seconds)
        while left_seconds > 0:
            pulls = self._pulls
            await asyncio.sleep(min(look_seconds, left_seconds))
            left_seconds -= look_seconds
            if self._pulls == pulls:
                return

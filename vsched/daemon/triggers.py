"""When the next session starts: soon after something changed, or when the period is over, whichever is first.

The first change opens a short window so that what comes together is decided together. Nothing is decided here.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum


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

    def pull(self) -> None:
        """Something changed."""
        self._pulled.set()

    async def next(self, busy_seconds: float = 0.0) -> Reason:
        """Wait for the next session; ``busy_seconds`` is what the last one took, a part of which is left to others."""
        reason = Reason.CHANGE
        try:
            await asyncio.wait_for(self._pulled.wait(), self.period_seconds)
        except TimeoutError:
            reason = Reason.TIMER
        else:
            # Long sessions widen the window: watches and bindings need the processor, too.
            await asyncio.sleep(max(self.window_seconds, min(busy_seconds / 4, self.period_seconds)))
        self._pulled.clear()
        return reason

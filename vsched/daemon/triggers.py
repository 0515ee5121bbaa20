"""When the next session starts: soon after a change, when the period is over, or when the last session said.

After a rest, the first change starts a session at once: who creates a lone pod waits for it. A change that comes soon
after a session opens a short window, so that changes that come together are decided together. The window closes early
once no more changes come. While changes stream in, windows are longer, and close only where none came for as long as a
usual window: each session costs something, and pods that are decided together cost less than each by itself, but who
waits for bindings before creating more must not wait for a window. Changes that are only to be told, and decide
nothing, wait for the next session, or a little while.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from math import exp, inf

LOOKS = 8
"""How often a window is checked for further changes."""
WORTH = 2.0
"""Time to wait for further changes, or to rest before the first one is not waited with, as a multiple of a session's
duration."""
CALM_WORTH = 0.5
"""The former where changes do not stream in: who creates a lone pod waits for it."""
WIDEST = 5.0
"""How long a window is while changes stream in, as a multiple of the usual one. Each is twice as long as the last."""
STREAM_WORTH, STREAM_SECONDS = 10.0, 0.1
"""While changes stream in, a window is at least so many times as long as the last session, up to this bound."""
CALM_SECONDS = 0.1
"""How long changes wait for a session that are only to be told."""
STREAM, COMPANY = 8.0, 3
"""Changes stream in where so many came within about ``LATELY_SECONDS``, and so many since the session before the last:
who waits for each binding before the next pod makes two changes in that time, however quick it is."""
LATELY_SECONDS = 0.1


class Reason(StrEnum):
    """Why a session starts."""

    CHANGE = "change"
    TIMER = "timer"


class Trigger:
    """Wakes the loop; anyone may pull it, any number of times."""

    def __init__(self, period_seconds: float, window_seconds: float) -> None:
        self._period_seconds = period_seconds
        self.window_seconds = window_seconds
        self._pulled = asyncio.Event()
        self._pulls = 0
        self._widening = 1.0
        """How long the last window was, as a multiple of the usual one."""
        self._counted, self._counted_at = 0, 0.0
        """The pulls that the level knows of, and when it was counted."""
        self._level = 0.0
        """How many pulls there were lately; each counts less the longer it is ago."""
        self._decided = (0, 0)
        """The pulls before the session before the last one, and before the last one."""
        self._later: asyncio.TimerHandle | None = None
        """Pulls, where nothing else has before."""

    @property
    def pulls(self) -> int:
        """How often it was pulled."""
        return self._pulls

    def set_period(self, seconds: float) -> None:
        """Have a session at least so often, from the next one on."""
        self._period_seconds = seconds

    def pull(self) -> None:
        """Something changed."""
        self._pulls += 1
        self._pulled.set()

    def pull_later(self) -> None:
        """Something changed that is only to be told: a session is due in a while, unless there is one before."""
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(CALM_SECONDS, self.pull)

    async def next(self, busy_seconds: float = 0.0, due_seconds: float = inf) -> Reason:
        """Wait until the next session is due; ``busy_seconds`` is how long the last one took.

        ``due_seconds`` is after how long another session may decide more although nothing has changed.
        """
        reason, rested_at = Reason.CHANGE, _now() + max(self.window_seconds, WORTH * busy_seconds)
        try:
            async with asyncio.timeout(min(self._period_seconds, due_seconds)):
                await self._pulled.wait()
        except TimeoutError:
            reason = Reason.TIMER
        else:
            streams = self._count() >= STREAM and self._pulls - self._decided[0] >= COMPANY
            if streams or _now() < rested_at:
                await self._gather(busy_seconds, streams=streams)
            else:
                self._widening = 1.0
        self._count()
        self._decided = self._decided[1], self._pulls
        self._pulled.clear()
        if self._later is not None:
            self._later.cancel()
            self._later = None
        return reason

    async def _gather(self, busy_seconds: float, *, streams: bool) -> None:
        """Wait for further changes until the window is over or none came for a while."""
        self._widening = min(2.0 * self._widening, WIDEST) if streams else 1.0
        # Long sessions widen the window: watches and bindings need the processor, too.
        left_seconds = max(self._widening * self.window_seconds, min(busy_seconds / 4, self._period_seconds))
        if streams:
            left_seconds = max(left_seconds, min(STREAM_WORTH * busy_seconds, STREAM_SECONDS))
        # The costlier a session, the longer it waits for company; less so where little happens, so little may come.
        look_seconds = (
            max(self.window_seconds, WORTH * busy_seconds)
            if streams
            else max(self.window_seconds / LOOKS, CALM_WORTH * busy_seconds)
        )
        while left_seconds > 0:
            pulls = self._pulls
            await asyncio.sleep(min(look_seconds, left_seconds))
            left_seconds -= look_seconds
            if self._pulls == pulls:
                return

    def _count(self) -> float:
        """How many pulls there were lately."""
        now = _now()
        self._level *= exp((self._counted_at - now) / LATELY_SECONDS)
        self._level += self._pulls - self._counted
        self._counted, self._counted_at = self._pulls, now
        return self._level


def _now() -> float:
    return asyncio.get_running_loop().time()

"""Bounds on what leaves for the API server: a token bucket, and attempts.

Knows nothing of Kubernetes and starts no tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from vsched.clock import monotonic
from vsched.kube.backoff import BackOff, BackOffSettings


class TokenBucket:
    """At most ``burst`` at once and ``per_second`` on average; waiters are served in order.

    aiolimiter has no counterpart of ``try_take``: it always waits, and only by the clock of a running event loop.
    """

    __slots__ = ("_clock", "_tokens", "_updated", "burst", "per_second")

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        self.per_second = per_second
        self.burst = burst
        self._clock = clock
        self._tokens = burst
        self._updated = clock()

    def _refill(self) -> float:
        now = self._clock()
        self._tokens = min(self.burst, self._tokens + (now - self._updated) * self.per_second)
        self._updated = now
        return self._tokens

    def try_take(self) -> bool:
        """Take a token if there is one; never waits."""
        if self._refill() < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def claim(self) -> float:
        """Take a token; returns the seconds to wait for it, mostly 0. The count goes below zero: waiters keep their
        order."""
        tokens = self._tokens = self._refill() - 1.0
        return -tokens / self.per_second if tokens < 0.0 else 0.0

    async def take(self) -> None:
        """Take a token, waiting for it where there is none."""
        wait_seconds = self.claim()
        if wait_seconds:
            await asyncio.sleep(wait_seconds)


class Attempts(msgspec.Struct, frozen=True):
    """How often a write is tried, and the waits in between."""

    count: int = 4
    """Attempts in all, the first included."""
    limit_seconds: float = 5.0
    """No attempt begins later than this after the first: whoever waits is told by then what stands in the way."""
    first_seconds: float = 0.1
    ceiling_seconds: float = 2.0

    def back_off(self) -> BackOff:
        """The waits of one write. A server's ``Retry-After`` counts up to five times the ceiling."""
        return BackOff(BackOffSettings(self.first_seconds, self.ceiling_seconds, 5.0 * self.ceiling_seconds))

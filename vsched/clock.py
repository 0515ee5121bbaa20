"""What time it is, as a value that can be handed around: the wall clock and the steady clock.

Waiting is not here: that is the event loop's business. The deciding core gets plain numbers and never a clock.
"""

from __future__ import annotations

import time
from typing import Protocol

from vsched import words


class Clock(Protocol):
    """A source of time."""

    def now(self) -> float:
        """Seconds since the epoch: for what is shown, stored and compared with other machines."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, never going back: for durations."""
        ...


class SystemClock:
    """The clock of this machine."""

    __slots__ = ()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class FakeClock:
    """A clock that moves only when it is told to."""

    __slots__ = ("_monotonic", "_now")

    def __init__(self, now: float = 1_700_000_000.0, monotonic: float = 0.0) -> None:
        self._now = now
        self._monotonic = monotonic

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        if seconds < 0:
            raise ValueError(words.goes_back(seconds))
        self._now += seconds
        self._monotonic += seconds

    def set(self, now: float) -> None:
        """Correct the wall clock, as a time server would; the steady clock does not notice."""
        self._now = now

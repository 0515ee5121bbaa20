"""What time it is: the wall clock and the steady clock. Nothing else asks the machine.

Waiting is not here: that is the event loop's business. The deciding core gets plain numbers and never a clock.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from datetime import UTC, datetime
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


class ClockOfItsOwn(Clock, Protocol):
    """A clock on which a step takes no time."""

    def thread_time(self) -> float:
        """Seconds that the asking thread has worked. Each question counts as a little work, so that whoever works until
        a time is over comes to an end."""
        ...


CLOCK: ContextVar[ClockOfItsOwn | None] = ContextVar("clock", default=None)
"""The clock of this context, in place of that of the machine."""


def now() -> float:
    """Seconds since the epoch."""
    found = CLOCK.get()
    return time.time() if found is None else found.now()


def utc_now() -> datetime:
    """The same as a date."""
    return datetime.fromtimestamp(now(), UTC)


def monotonic() -> float:
    """Seconds since some moment, never going back."""
    found = CLOCK.get()
    return time.monotonic() if found is None else found.monotonic()


def perf_counter() -> float:
    """The same, as exactly as the machine can tell; for what is measured."""
    found = CLOCK.get()
    return time.perf_counter() if found is None else found.monotonic()


def thread_time() -> float:
    """Seconds that this thread has worked."""
    found = CLOCK.get()
    return time.thread_time() if found is None else found.thread_time()


def wakeful() -> float:
    """Seconds since some moment, never going back; time in suspend counts, if the system supports that."""
    found = CLOCK.get()
    if found is not None:
        return found.monotonic()
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SystemClock:
    """The clock of this machine, or of this context."""

    __slots__ = ()

    def now(self) -> float:
        return now()

    def monotonic(self) -> float:
        return monotonic()


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

"""The bounds of a reflector, and the turns it gives to everything else on the event loop."""

from __future__ import annotations

import asyncio
import time

import msgspec

from vsched.kube.backoff import BackOffSettings


class ReflectorSettings(msgspec.Struct, frozen=True):
    """Bounds of a reflector."""

    page_size: int = 500
    list_timeout_seconds: float = 60.0
    """For one page."""
    watch_seconds: tuple[float, float] = (300.0, 480.0)
    """How long a watch is asked to last, drawn anew each time so that watches do not end together."""
    silence_seconds: float = 150.0
    """A watch that brings nothing for so long is taken for dead: bookmarks come about every minute."""
    steady_seconds: float = 1.0
    """A watch that lasts so long was a success, even if it brought nothing."""
    fruitless_watches: int = 3
    """After so many watches in a row that brought nothing but trouble, the kind is listed again."""
    line_bytes: int = 16 << 20
    slice_seconds: float = 0.0015
    """The longest stretch of work between two turns of the event loop."""
    missing_seconds: float = 5.0
    """A kind the server does not know is asked for at least this often."""
    back_off: BackOffSettings = BackOffSettings(ceiling_seconds=10.0)
    look_seconds: tuple[float, float] = (10.0, 20.0)
    """How often the server is asked for its version while a watch lasts, drawn anew each time: one that was restored
    from a backup goes back, and a watch from a version that is still to come says nothing for as long."""
    garbled: BackOffSettings = BackOffSettings(first_seconds=1.0, ceiling_seconds=60.0)
    """After a watch that told something nobody can read: the kind is listed again, which costs more than a watch."""
    calm_seconds: float = 120.0
    """So long after the last of them the next one counts as the first."""


class Turns:
    """Cuts work into slices: whoever works asks ``over`` after each piece, and if so awaits ``turn``."""

    __slots__ = ("_deadline", "_seconds")

    def __init__(self, slice_seconds: float) -> None:
        self._seconds = slice_seconds
        self._deadline = time.perf_counter() + slice_seconds

    @property
    def over(self) -> bool:
        """Whether the slice is over."""
        return time.perf_counter() > self._deadline

    async def turn(self) -> None:
        """Let everything else have its turn, and begin the next slice."""
        await asyncio.sleep(0)
        self._deadline = time.perf_counter() + self._seconds

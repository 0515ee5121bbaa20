"""The settings of a reflector (timeouts, sizes), and ``LoopTurns``, which cuts work into slices for the event loop."""

from __future__ import annotations

import asyncio

import msgspec

from vsched.clock import perf_counter
from vsched.kube.backoff import BackOffSettings


class ReflectorSettings(msgspec.Struct, frozen=True):
    """Settings of a reflector."""

    page_size: int = 500
    list_timeout_seconds: float = 60.0
    """For one page."""
    streamed_seconds: float = 10.0
    """If nothing comes for so long of a list that is to come with its watch, the kind is listed in pages."""
    streamed_most_seconds: float = 120.0
    """If such a list is not complete after so long, although objects keep coming, the kind is listed in pages."""
    watch_seconds: tuple[float, float] = (300.0, 480.0)
    """The range of ``timeoutSeconds`` of a watch, drawn anew each time so that watches do not end together."""
    silence_seconds: float = 150.0
    """A watch without any line for so long counts as dead: bookmarks come about every minute."""
    steady_seconds: float = 1.0
    """A watch that lasts this long was a success, even without events."""
    fruitless_watches: int = 3
    """After this number of failed watches in a row without an event, the kind is listed again."""
    line_bytes: int = 16 << 20
    slice_seconds: float = 0.0015
    """The longest work between two turns of the event loop."""
    missing_seconds: float = 5.0
    """A kind that the server does not know is requested at least this often."""
    seldom_served: bool = False
    """Whether many servers do not know the kind: then the first waits are as long as all others. Kinds that should be
    there are requested again sooner, because somebody may just be installing them."""
    settles_on_errors: bool = False
    """Whether any answer to the first attempt settles the kind, also a failure of the server that may pass."""
    back_off: BackOffSettings = BackOffSettings(ceiling_seconds=10.0)
    look_seconds: tuple[float, float] = (10.0, 20.0)
    """How often the server is asked for its version while a watch lasts, drawn anew each time. A server restored from a
    backup goes back to an earlier version, and then a watch from a later version is silent until that version comes."""
    outage_seconds: float = 10.0
    """After an outage of this length the kind is listed again: a server may have been restored from a backup
    meanwhile, and may overtake our version before it is asked for its own."""
    again_seconds: tuple[float, float] = (7200.0, 10800.0)
    """How often a kind is listed again though its watch goes on, drawn anew each time. A server restored from a backup
    may have overtaken our version before it is asked: then nothing but a list shows what it does not have any more."""
    garbled: BackOffSettings = BackOffSettings(first_seconds=1.0, ceiling_seconds=60.0)
    """Backoff after a watch with an unreadable event: the kind is listed again, which costs more than a watch."""
    calm_seconds: float = 120.0
    """This long after the last unreadable event, the backoff starts again at its first step."""


class LoopTurns:
    """Cuts work into slices: the worker checks ``over`` after each piece of work, and if it is set awaits ``turn``."""

    __slots__ = ("_deadline", "_seconds")

    def __init__(self, slice_seconds: float) -> None:
        self._seconds = slice_seconds
        self._deadline = perf_counter() + slice_seconds

    @property
    def over(self) -> bool:
        """Whether the slice is over."""
        return perf_counter() > self._deadline

    async def turn(self) -> None:
        """Let other tasks run, then begin the next slice."""
        await asyncio.sleep(0)
        self._deadline = perf_counter() + self._seconds

"""How a daemon ends: the session under way first, then what was decided, then what is to be told about it.

Where another daemon stands by there is little time, and no need for more: what was not sent it decides anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from vsched.together import together
from vsched.writes.bindings import Dispatcher
from vsched.writes.evictions import Evictor

Drain = Callable[[float], Awaitable[int]]
"""Writes what waits within so many seconds; returns how much is left."""

TELLING_SECONDS = 0.1
"""At least so long may be told what was done, however long that took."""


class Left(NamedTuple):
    """What could not be ended in time."""

    writes: int
    """Not sent, or without an answer."""
    bindings: int
    """Of these, placements that are on the wire: they may still be carried out."""


async def wind_down(
    sessions: asyncio.Task[Any],
    dispatcher: Dispatcher,
    evictor: Evictor,
    telling: Sequence[Drain],
    seconds: float,
    longest_seconds: float,
) -> Left:
    """Carry out and tell what was decided within ``seconds``; bindings on the wire then have ``longest_seconds``."""
    began = time.monotonic()

    def left_of(whole_seconds: float) -> float:
        return max(0.0, began + whole_seconds - time.monotonic())

    await asyncio.wait((sessions,), timeout=seconds)
    left_seconds = left_of(seconds)
    left = sum(await together(evictor.drain(left_seconds), dispatcher.drain(left_seconds)))
    if dispatcher.in_flight:
        await dispatcher.drain(left_of(longest_seconds))
    for drain in telling:
        left += await drain(max(left_of(seconds), min(seconds, TELLING_SECONDS)))
    return Left(left, dispatcher.in_flight)

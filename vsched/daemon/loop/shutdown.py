"""The end of a daemon: it finishes the session, carries out its decisions, and then writes statuses and Events.

Where another daemon stands by, the time is short: the other daemon decides again what was not sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from vsched.clock import monotonic
from vsched.together import together
from vsched.writes.bindings import Dispatcher
from vsched.writes.evictions import Evictor

Drain = Callable[[float], Awaitable[int]]
"""Writes what waits, within so many seconds; returns how many writes are left."""

TELLING_SECONDS = 0.1
"""The least time for statuses and Events, however long the rest took."""


class Unfinished(NamedTuple):
    """What was not finished in time."""

    writes: int
    """Not sent, or without an answer."""
    bindings: int
    """Of these, bindings without an answer; the server may still carry them out."""


async def wind_down(
    sessions: asyncio.Task[Any],
    dispatcher: Dispatcher,
    evictor: Evictor,
    telling: Sequence[Drain],
    seconds: float,
    longest_seconds: float,
    claims: Drain | None = None,
) -> Unfinished:
    """Finish within ``seconds``; bindings that are on the wire by then have ``longest_seconds``."""
    began = monotonic()

    def left_of(whole_seconds: float) -> float:
        return max(0.0, began + whole_seconds - monotonic())

    await asyncio.wait((sessions,), timeout=seconds)
    left = 0
    if claims is not None:  # it still hands placements to the dispatcher
        left += await claims(left_of(seconds))
    left_seconds = left_of(seconds)
    left += sum(await together(evictor.drain(left_seconds), dispatcher.drain(left_seconds)))
    if dispatcher.in_flight:
        await dispatcher.drain(left_of(longest_seconds))
    for drain in telling:
        left += await drain(max(left_of(seconds), min(seconds, TELLING_SECONDS)))
    return Unfinished(left, dispatcher.in_flight)

"""Waiting for something to be true, with patience enough for a machine that has much else to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 120.0
"""What takes a tenth of a second takes several on a machine that has much else to do."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.002, 0.02


def _pauses() -> Iterator[float]:
    """Between two looks: short at first, as most things come at once."""
    pause = _FIRST_PAUSE_SECONDS
    while True:
        yield pause
        pause = min(_LONGEST_PAUSE_SECONDS, 1.5 * pause)


async def until(condition: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
    """Wait for something to be true, and return it."""
    async with asyncio.timeout(seconds):
        for pause in _pauses():
            if found := condition():
                return found
            await asyncio.sleep(pause)
    raise AssertionError("pauses never end")


async def until_answered(question: Callable[[], Awaitable[T]], seconds: float = PATIENCE_SECONDS) -> T:
    """Ask until the answer is true, and return it."""
    async with asyncio.timeout(seconds):
        for pause in _pauses():
            if found := await question():
                return found
            await asyncio.sleep(pause)
    raise AssertionError("pauses never end")


def until_now(condition: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
    """The same as ``until`` where nothing else has to go on in this thread."""
    end = time.monotonic() + seconds
    for pause in _pauses():
        if found := condition():
            return found
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(pause)
    raise AssertionError("pauses never end")

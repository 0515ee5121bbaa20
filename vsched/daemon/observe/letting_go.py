"""Frees what is large piece by piece: to free a hundred thousand objects at once would hold the event loop."""

from __future__ import annotations

import asyncio
import weakref
from contextlib import suppress


def let_go_slowly(whole: object, pieces: list[object]) -> None:
    """Hold the pieces of something until it is gone, then let go of one in each turn of the event loop, the last first.

    Call it in the thread of the event loop; the last one who has the whole may be in any thread.
    """
    loop = asyncio.get_running_loop()
    weakref.finalize(whole, _begin, loop, pieces).atexit = False


def _begin(loop: asyncio.AbstractEventLoop, pieces: list[object]) -> None:
    with suppress(RuntimeError):  # the loop is closed, and nobody waits for it any more
        loop.call_soon_threadsafe(_go_on, loop, pieces)


def _go_on(loop: asyncio.AbstractEventLoop, pieces: list[object]) -> None:
    del pieces[-1:]
    if pieces:
        loop.call_soon(_go_on, loop, pieces)

"""Writes in a thread, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class DiskThread:
    """Does one piece of work at a time, in a thread."""

    def __init__(self) -> None:
        self._under_way: asyncio.Future[None] | None = None

    async def do(self, work: Callable[[], None]) -> None:
        """Do it after what is under way: whoever waits may be cancelled, and the thread goes on."""
        if self._under_way is not None:
            await asyncio.wait((self._under_way,))
        self._under_way = asyncio.ensure_future(asyncio.to_thread(work))
        await asyncio.shield(self._under_way)

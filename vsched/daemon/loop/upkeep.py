"""Looks after the process while it runs: a little and often where things change, thoroughly where nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

BUSY_SECONDS, IDLE_SECONDS = 0.04, 0.15
"""Between two looks while things change, and while nothing does: answers to writes leave things to look at even then,
tens of thousands in half a second."""
CALM_LOOKS = 33
"""It is calm where nothing has changed for so many looks."""


class Upkeep:
    """Calls what is to be done often, and what is to be done in calm moments."""

    def __init__(self, changes: Callable[[], int], often: Callable[[], None], calm: Callable[[], None]) -> None:
        """``changes`` counts what matters to sessions."""
        self._changes = changes
        self._often = often
        self._calm = calm

    async def run(self) -> None:
        """Look until cancelled."""
        seen, still = self._changes(), 0
        while True:
            await asyncio.sleep(IDLE_SECONDS if still else BUSY_SECONDS)
            before, seen = seen, self._changes()
            still = still + 1 if seen == before else 0
            self._often()
            if still >= CALM_LOOKS:
                still = 1
                self._calm()

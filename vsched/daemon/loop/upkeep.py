"""Looks after the process where nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LOOK_SECONDS = 5.0
DUE_LOOKS = 6 * 3600 / LOOK_SECONDS
"""After so many looks it is time, once nothing has changed since the look before; after twice as many in any case."""


class Upkeep:
    """Calls what is to be done every few hours, if possible in calm moments."""

    def __init__(self, changes: Callable[[], int], calm: Callable[[], None]) -> None:
        """``changes`` counts what matters to sessions."""
        self._changes = changes
        self._calm = calm

    async def run(self) -> None:
        """Look until cancelled."""
        seen, looks = self._changes(), 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            before, seen, looks = seen, self._changes(), looks + 1
            if looks >= DUE_LOOKS if seen == before else looks >= 2 * DUE_LOOKS:
                looks = 0
                self._calm()

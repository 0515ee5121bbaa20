"""The configuration of DeviceClasses, which is copied to what is allocated: read once for all gangs that come soon.

Most clusters have a handful of classes, and each pod with a device names one.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from cachetools import LRUCache

from vsched.clock import Clock
from vsched.mirror.mirror import Mirror
from vsched.writes.claims.objects import DeviceClassRead, kind_of
from vsched.writes.claims.settling import Settling
from vsched.writes.claims.steps import Failed

CLASS_SECONDS = 30.0
"""How long a class counts as known while the mirror shows the version that was read."""
MOST_CLASSES = 1_000
"""So many classes are remembered."""

Answer = DeviceClassRead | Failed | None


class _Known(NamedTuple):
    found: Answer
    at: float
    """When it was read; steady clock."""


class ClassReader:
    """Reads DeviceClasses, one at a time."""

    def __init__(self, settling: Settling, mirror: Mirror, clock: Clock) -> None:
        self._settling = settling
        self._mirror = mirror
        self._clock = clock
        self._known: LRUCache[str, _Known] = LRUCache(MOST_CLASSES)
        self._lock = asyncio.Lock()

    async def fetch(self, name: str) -> Answer:
        """A class, None where there is none, Failed where it cannot be read. Raises Deposed as ``Settling`` does."""
        asked = self._clock.monotonic()
        known = self._known.get(name)
        if known is not None and self._counts(name, known, asked):
            return known.found
        async with self._lock:
            known = self._known.get(name)
            # Whoever waited for the same read has its answer, whatever that is.
            if known is None or known.at < asked:
                found = await self._settling.fetch(DeviceClassRead, name)
                known = self._known[name] = _Known(found, self._clock.monotonic())
            return known.found

    def _counts(self, name: str, known: _Known, now: float) -> bool:
        found = known.found
        if not isinstance(found, DeviceClassRead) or now - known.at > CLASS_SECONDS:
            return False
        return self._mirror.intake.shows(kind_of(DeviceClassRead)[0], name, found.metadata.resource_version)

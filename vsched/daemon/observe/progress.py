"""Logs every few seconds how far long lists have come: in a large cluster the first lists take a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from vsched.kube.watch.deltas import Statistics

TELL_SECONDS = 2.0


class Progress:
    """Logs lists that take long, and lists that were repeated."""

    def __init__(
        self, watches: Mapping[str, Statistics], tell: Callable[..., None], period_seconds: float = TELL_SECONDS
    ) -> None:
        self._watches = watches
        self._tell = tell
        self.period_seconds = period_seconds
        self._relists: dict[str, int] = {}

    async def run(self) -> None:
        """Look every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(self.period_seconds)
            self.look()

    def look(self) -> None:
        """Log what is new."""
        under_way = {kind: _so_far(found) for kind, found in self._watches.items() if found.listing and found.listed}
        if under_way:
            complete = sum(found.synced for found in self._watches.values())
            self._tell("listing", **under_way, kinds=f"{complete} of {len(self._watches)} complete")
        for kind, found in self._watches.items():
            if found.relists > self._relists.get(kind, 0):
                self._relists[kind] = found.relists
                self._tell("relisted", kind=kind, objects=found.objects, seconds=round(found.list_seconds, 1))


def _so_far(found: Statistics) -> str:
    return f"{found.listed:,} of {found.expected:,}" if found.expected > found.listed else f"{found.listed:,}"

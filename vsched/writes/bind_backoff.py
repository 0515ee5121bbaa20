"""Placements that could not be carried out, on their way back to the mirror: at once the first time, later ever after.

A forgotten pod is decided again within milliseconds. One that is refused again and again would otherwise cost a
binding in every session.
"""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from vsched.kube.backoff import doubled
from vsched.writes.workqueue import Workqueue, WorkqueueSettings

FIRST_SECONDS, CEILING_SECONDS = 0.25, 30.0
"""The wait after the second failure in a row, doubling up to the ceiling."""


class BindBackoff:
    """Counts failures by pod and forgets placements when their time has come."""

    def __init__(self, forget: Callable[[str], object], remembered: int = 50_000) -> None:
        self._forget = forget
        self._failures: LRUCache[str, int] = LRUCache(remembered)
        self.lane: Workqueue[str, None] = Workqueue(
            WorkqueueSettings(workers=1, per_second=10_000.0, burst=10_000.0), self._write
        )

    def clear(self, uid: str) -> None:
        """The pod was bound, or is gone: earlier failures no longer count."""
        self._failures.pop(uid, None)

    def failed(self, uid: str) -> None:
        """A placement failed; the pod is free to be decided again now, or after a wait."""
        failures = self._failures.get(uid, 0) + 1
        self._failures[uid] = failures
        if failures == 1 or not self.lane.put(uid, None, wait_seconds(failures)):
            self._forget(uid)

    async def run(self) -> None:
        """Forget what is due, until cancelled."""
        await self.lane.run()

    async def _write(self, uid: str, _: None) -> None:
        self._forget(uid)


def wait_seconds(failures: int) -> float:
    """How long a pod with so many failures in a row, two or more, stays put."""
    return doubled(FIRST_SECONDS, CEILING_SECONDS, failures - 1)

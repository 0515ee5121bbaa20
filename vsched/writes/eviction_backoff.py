"""Backoff of evictions, and how long a granted eviction is believed.

A pod whose eviction was refused is no victim until its wait is over. The wait doubles with every refusal, so that
decisions turn to other pods. A granted eviction that the watch does not show in time is forgotten.
"""

from __future__ import annotations

from enum import Enum

import msgspec
from cachetools import LRUCache

from vsched.kube.backoff import doubled
from vsched.mirror.assumptions import Assumptions
from vsched.writes.workqueue import Workqueue, WorkqueueSettings


class EvictionBackoffSettings(msgspec.Struct, frozen=True):
    """Waits after refusals, and how long evictions are believed."""

    first_seconds: float = 5.0
    """The wait after the first refusal; it doubles up to the ceiling."""
    ceiling_seconds: float = 300.0
    """Also the longest wait the API server may ask for."""
    unconfirmed_seconds: float = 30.0
    """How long an evicted pod counts as leaving before the watch shows its deletion."""
    doubt_seconds: float = 5.0
    """The same for an eviction whose answer never came."""
    remembered: int = 50_000
    """How many pods' refusals are counted."""


class WaitsFor(Enum):
    """What a pod waits for."""

    END_OF_WAIT = 1
    CONFIRMATION = 2
    CERTAINTY = 3


class EvictionBackoff:
    """Counts refusals by pod, and updates the mirror when waits are over."""

    def __init__(self, assumptions: Assumptions, settings: EvictionBackoffSettings) -> None:
        self._assumptions = assumptions
        self._settings = settings
        self._refusals: LRUCache[str, int] = LRUCache(settings.remembered)
        bounds = WorkqueueSettings(workers=1, per_second=10_000.0, burst=10_000.0)
        self._workqueue: Workqueue[str, WaitsFor] = Workqueue(bounds, self._write)

    def granted(self, uid: str) -> None:
        """The pod was evicted or is gone; the watch is expected to show it."""
        self._refusals.pop(uid, None)
        self._wait(uid, WaitsFor.CONFIRMATION, self._settings.unconfirmed_seconds)

    def doubted(self, uid: str) -> None:
        """Nobody knows whether the pod was evicted. If the watch does not show it soon, it counts as refused."""
        self._wait(uid, WaitsFor.CERTAINTY, self._settings.doubt_seconds)

    def refused(self, uid: str, asked_seconds: float) -> None:
        """The pod stays, and is no victim for its wait or for ``asked_seconds``, whichever is longer."""
        refusals = self._refusals.get(uid, 0) + 1
        self._refusals[uid] = refusals
        if self._wait(uid, WaitsFor.END_OF_WAIT, spared_seconds(self._settings, refusals, asked_seconds)):
            self._assumptions.spare(uid)
        self._assumptions.forget(uid)

    def _wait(self, uid: str, due: WaitsFor, wait_seconds: float) -> bool:
        self._workqueue.discard(uid)
        return self._workqueue.put(uid, due, wait_seconds)

    async def run(self) -> None:
        """Update the mirror when waits are over, until cancelled."""
        await self._workqueue.run()

    async def _write(self, uid: str, due: WaitsFor) -> None:
        match due:
            case WaitsFor.END_OF_WAIT:
                self._assumptions.unspare(uid)
            case WaitsFor.CONFIRMATION:
                self._assumptions.forget(uid)
            case WaitsFor.CERTAINTY:
                if self._assumptions.forget(uid):
                    self.refused(uid, 0.0)


def spared_seconds(settings: EvictionBackoffSettings, refusals: int, asked_seconds: float) -> float:
    """The wait after so many refusals (one or more)."""
    grown_seconds = doubled(settings.first_seconds, settings.ceiling_seconds, refusals)
    return max(grown_seconds, min(settings.ceiling_seconds, asked_seconds))

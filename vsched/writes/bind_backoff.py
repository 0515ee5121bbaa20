"""Backoff of bindings that failed: the mirror forgets the placement at once the first time, and after a wait later.

A pod whose placement is forgotten is scheduled again within milliseconds. Without a wait, a pod whose binding always
fails would cost a binding in every session.
"""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from vsched.kube.backoff import doubled
from vsched.writes.workqueue import Workqueue, WorkqueueSettings

FIRST_SECONDS, CEILING_SECONDS = 0.25, 30.0
"""The wait after the second failure in a row; it doubles up to the ceiling."""
REMEMBERED = 50_000
"""Pods whose failures are counted."""
TRIES_ELSEWHERE = 4
"""So many nodes are tried one after the other without a wait, where admission refuses them."""


class BindBackoff:
    """Counts failures by pod, and has the mirror forget placements when their wait is over."""

    def __init__(self, forget: Callable[[str], object]) -> None:
        self._forget = forget
        self._failures: LRUCache[str, int] = LRUCache(REMEMBERED)
        self.workqueue: Workqueue[str, str] = Workqueue(
            WorkqueueSettings(workers=1, per_second=10_000.0, burst=10_000.0), self._write
        )

    def clear(self, uid: str) -> None:
        """Reset the count: the pod was bound."""
        self._failures.pop(uid, None)

    def failed(self, uid: str, *, elsewhere: bool = False) -> None:
        """A binding failed: forget the placement now, or after a wait. ``elsewhere``: the next is to another node."""
        failures = self._failures.get(uid, 0) + 1
        self._failures[uid] = failures
        at_once = TRIES_ELSEWHERE if elsewhere else 1
        if failures <= at_once or not self.workqueue.put(uid, uid, wait_seconds(failures - at_once + 1)):
            self._forget(uid)

    def release(self) -> None:
        """What kept placements from being carried out is over: forget all of them now, and count anew."""
        self._failures.clear()
        for uid in self.workqueue.take_all():
            self._forget(uid)

    async def run(self) -> None:
        """Forget what is due, until cancelled."""
        await self.workqueue.run()

    async def _write(self, uid: str, _: str) -> None:
        self._forget(uid)


def wait_seconds(failures: int) -> float:
    """The wait after so many failures in a row (two or more)."""
    return doubled(FIRST_SECONDS, CEILING_SECONDS, failures - 1)

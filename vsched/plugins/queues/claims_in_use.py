"""Which claims for devices the pods of each queue use when a session begins, and what they count there.

This is worked out from what the session before began with: the cost follows the claims that changed, as long as the
catalogues of one mirror come one after the other. Besides, each job is asked for its queue, which people can change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from threading import Lock
from typing import NamedTuple

from vsched.model.claims.catalogue import ClaimChanges, DeviceCatalogue
from vsched.model.claims.quota import DeviceAmount, demand_of
from vsched.model.groups import NameGroups
from vsched.model.jobs.job import Job
from vsched.model.pods.status import HOLDS

Demand = tuple[tuple[DeviceAmount, int], ...]
Paths = Mapping[str, tuple[str, ...]]
"""By queue: itself and the queues above it, as far as they have quotas."""


class QueueUse(NamedTuple):
    """What the pods of one queue, and of all queues below it, use."""

    users: dict[str, int]
    """By claim: how many pods use it."""
    held: Counter[DeviceAmount]
    """What these claims count together; each counts once."""


class _Seen(NamedTuple):
    """A claim as it was counted."""

    demand: Demand
    jobs: tuple[str, ...]
    """The job of each pod that uses it."""


class ClaimsInUse:
    """The claims in use by queue. The next session takes this over and brings it up to date."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._followed: ClaimChanges | None = None
        """The record of the catalogue that was followed last."""
        self._by_queue = {queue: QueueUse({}, Counter()) for path in paths.values() for queue in path}
        self._seen: dict[str, _Seen] = {}
        self._claims: NameGroups[str] = NameGroups()
        """By job."""
        self._queues: dict[str, str] = {}
        """By job: the queue in which it was counted."""

    def changed(self, catalogue: DeviceCatalogue) -> Collection[str] | None:
        """The claims that changed since the catalogue that was followed last; None where this is not known."""
        return None if catalogue.changes is None else catalogue.changes.since(self._followed)

    def copied(self) -> dict[str, QueueUse]:
        """What each queue with quotas uses, to be changed."""
        return {queue: QueueUse(use.users.copy(), use.held.copy()) for queue, use in self._by_queue.items()}

    def follow(self, catalogue: DeviceCatalogue, jobs: Mapping[str, Job]) -> None:
        """Take over what changed."""
        changed = self.changed(catalogue)
        if changed is None:
            changed = self._seen.keys() | catalogue.users.keys()
        moved = [job for job, queue in self._queues.items() if _queue_of(job, jobs) != queue]
        again = {claim for job in moved for claim in self._claims.of(job)}.union(changed)
        for claim in again:
            self._drop(claim)
        for claim in again:
            self._put(claim, catalogue, jobs)
        self._followed = catalogue.changes

    def _put(self, claim: str, catalogue: DeviceCatalogue, jobs: Mapping[str, Job]) -> None:
        users = catalogue.users.get(claim, {}).values()
        found = catalogue.claims.get(claim)
        seen = _Seen(
            () if found is None else demand_of(found.spec),
            tuple([task.job for task in users if HOLDS[task.status].allocated]),
        )
        if not seen.jobs:
            return
        self._seen[claim] = seen
        for job in seen.jobs:
            self._claims.add(job, claim)
            self._queues[job] = _queue_of(job, jobs)
        self._count(claim, seen, 1)

    def _drop(self, claim: str) -> None:
        seen = self._seen.pop(claim, None)
        if seen is None:
            return
        self._count(claim, seen, -1)
        for job in dict.fromkeys(seen.jobs):
            self._claims.discard(job, claim)
            if not self._claims.of(job):
                del self._queues[job]

    def _count(self, claim: str, seen: _Seen, sign: int) -> None:
        for job in seen.jobs:
            for queue in self.paths.get(self._queues[job], ()):
                users, held = self._by_queue[queue]
                before = users.get(claim, 0)
                after = before + sign
                if after:
                    users[claim] = after
                else:
                    del users[claim]
                if not before or not after:
                    for amount, value in seen.demand:
                        held[amount] += sign * value


_KNOWN: list[ClaimsInUse] = []
"""What sessions of the last few mirrors began with: of the cluster, and of what-ifs."""
_MOST_KNOWN = 2
_LOCK = Lock()
"""Sessions of several threads begin one after the other."""


def claims_in_use(catalogue: DeviceCatalogue, jobs: Mapping[str, Job], paths: Paths) -> dict[str, QueueUse]:
    """By queue with quotas: what pods with a node use. The caller may change it."""
    with _LOCK:
        known = next((one for one in _KNOWN if one.paths == paths and one.changed(catalogue) is not None), None)
        if known is not None:
            known.follow(catalogue, jobs)
            return known.copied()
    made = ClaimsInUse(paths)
    made.follow(catalogue, jobs)
    if catalogue.changes is not None:
        with _LOCK:
            _KNOWN.insert(0, made)
            del _KNOWN[_MOST_KNOWN:]
            return made.copied()
    return made.copied()


def _queue_of(key: str, jobs: Mapping[str, Job]) -> str:
    job = jobs.get(key)
    return "" if job is None else job.spec.queue

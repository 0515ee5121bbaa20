"""Usage by queue, and by namespace within a queue: sums over the jobs, updated by adding and subtracting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from vsched.model.amounts.resources import Vector, add, subtract
from vsched.model.history.records import Holder
from vsched.model.jobs.job import Job, JobUsage, claim_of
from vsched.model.snapshot import QueueUsage

Share = tuple[str, str]
"""A queue and a namespace."""


class QueueSums:
    """The live sums, and the copies that snapshots show."""

    def __init__(self) -> None:
        self.usage: dict[str, QueueUsage] = {}
        """By queue, as of the last ``publish``."""
        self.shares: dict[Share, Vector] = {}
        """By queue and namespace, as of the last ``publish``."""
        self._claims: dict[str, JobUsage] = {}
        self._live: dict[str, QueueUsage] = {}
        self._allocated: dict[Share, Vector] = {}
        self._jobs: dict[Share, int] = {}
        self._dirty: dict[Share, None] = {}
        self._held: dict[Holder, Vector] = {}
        self._moved: dict[Holder, None] = {}
        """Holders that hold something else than at the last ``take_moved``."""
        self._adopted: dict[str, Job] = {}
        """Jobs that the sums were adopted with, and that have not changed since."""

    def adopt(
        self,
        usage: Mapping[str, QueueUsage],
        shares: Mapping[Share, Vector],
        held: Mapping[Holder, Vector],
        jobs: Mapping[str, Job],
    ) -> None:
        """Take over sums that another mirror has published of these jobs."""
        self.usage, self.shares, self._adopted = dict(usage), dict(shares), dict(jobs)
        self._live = {queue: sums.copy() for queue, sums in usage.items()}
        self._allocated = {share: allocated.copy() for share, allocated in shares.items()}
        self._held = {holder: amounts.copy() for holder, amounts in held.items()}
        self._jobs = Counter((job.spec.queue, job.spec.namespace) for job in jobs.values())

    def put(self, key: str, claim: JobUsage | None) -> None:
        """Set the usage of a job, None where it is gone."""
        adopted = self._adopted.pop(key, None)
        if adopted is not None:
            self._claims[key] = claim_of(adopted)
        old = self._claims.get(key)
        if old == claim:
            return
        if old is not None:
            self._shift(old, -1)
        if claim is not None:
            self._claims[key] = claim
            self._shift(claim, 1)
        else:
            del self._claims[key]

    def publish(self) -> None:
        """Update ``usage`` and ``shares``; the cost follows what changed."""
        for share in self._dirty:
            queue = share[0]
            live = self._live.get(queue)
            if live is None:
                self.usage.pop(queue, None)
            else:
                self.usage[queue] = _without_zeros(live)
            if share in self._jobs:
                self.shares[share] = _nonzero(self._allocated[share])
            else:
                self.shares.pop(share, None)
        self._dirty.clear()

    def take_moved(self) -> dict[Holder, Vector | None]:
        """What those hold who hold something else than at the last call; None for nothing. For a single caller."""
        found: dict[Holder, Vector | None] = {}
        for holder in self._moved:
            amounts = _nonzero(self._held.get(holder, {}))
            found[holder] = amounts or None
            if not amounts:
                self._held.pop(holder, None)
        self._moved.clear()
        return found

    def _shift(self, claim: JobUsage, sign: int) -> None:
        share = (claim.queue, claim.namespace)
        usage = self._live.get(claim.queue)
        if usage is None:
            usage = self._live[claim.queue] = QueueUsage()
        allocated = self._allocated.setdefault(share, {})
        shift = add if sign > 0 else subtract
        if claim.pending:
            shift(usage.pending, claim.pending)
        if claim.elastic:
            shift(usage.elastic, claim.elastic)
        if claim.inqueue:
            shift(usage.inqueue, claim.inqueue)
        if claim.promised:
            shift(usage.promised, claim.promised)
        if claim.allocated:
            shift(usage.allocated, claim.allocated)
            shift(allocated, claim.allocated)
            holder = Holder(claim.queue, claim.namespace, claim.user)
            shift(self._held.setdefault(holder, {}), claim.allocated)
            self._moved[holder] = None
        usage.jobs += sign
        if not usage.jobs:
            del self._live[claim.queue]
        jobs = self._jobs.get(share, 0) + sign
        if jobs:
            self._jobs[share] = jobs
        else:
            del self._jobs[share], self._allocated[share]
        self._dirty[share] = None


def _nonzero(vector: Vector) -> Vector:
    return {column: value for column, value in sorted(vector.items()) if value} if vector else {}


def _without_zeros(usage: QueueUsage) -> QueueUsage:
    return QueueUsage(
        usage.jobs,
        _nonzero(usage.allocated),
        _nonzero(usage.pending),
        _nonzero(usage.elastic),
        _nonzero(usage.inqueue),
        _nonzero(usage.promised),
    )

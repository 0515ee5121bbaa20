"""One round of arbitration after the division: objects to write, overused namespaces, pods to evict.

The round is level-triggered: its effects follow from the objects as they are now. Since when a namespace is overused is
read back from the conditions of its Allocation, so a new process continues where the last one stopped. Only promises
are passed from round to round in memory. After a restart, freed room may therefore be lent once more before the pod
that it was promised to takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import floor
from zlib import crc32

from vsched.arbitrator import conditions
from vsched.arbitrator.conditions import FALSE, OVERUSED, RESERVED, TRUE, Conditions
from vsched.arbitrator.effects import (
    DropAllocation,
    Effect,
    MakeConsumer,
    Overuse,
    Promise,
    Remark,
    RoundResult,
    WriteAllocation,
    WriteStatus,
)
from vsched.arbitrator.overuse import NO_AWARD, excesses, kept_in_buckets, overuses, record_of, shortages
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.placing import Placing
from vsched.arbitrator.taking.taking_back import take
from vsched.arbitrator.tree import parent_of, path
from vsched.arbitrator.wants import PodDemands
from vsched.model.amounts.counted import Counted, render_counted, summed
from vsched.model.arbitration.records import (
    Arbitration,
    ArbitrationCondition,
    Bucket,
    Claim,
    Division,
    NamespaceAccount,
)
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot

NO_PROMISES: Mapping[str, Promise] = {}
PHASES = 1000
"""Number of moments in a period over which writes are spread."""


def reconcile(
    snapshot: Snapshot,
    division: Division,
    rules: ArbitrationRules,
    placing: Placing,
    before: float = 0.0,
    promised: Mapping[str, Promise] = NO_PROMISES,
) -> RoundResult:
    """What follows from a division; an empty result when the snapshot has no arbitration.

    ``before`` is the time of the previous round, in seconds since the epoch. It decides when frequent changes (amounts,
    wording) are written: once per ``allocated_seconds``. With 0, as before the first round, every difference is
    written. ``promised`` holds the promises of the previous round.
    """
    arbitration = snapshot.arbitration
    if arbitration is None:
        return RoundResult()
    asking = PodDemands(snapshot)
    exceeding = excesses(arbitration, division)
    short = shortages(snapshot, division, asking) if exceeding else ()
    in_buckets = kept_in_buckets(arbitration, division)
    overused = overuses(arbitration, division, exceeding, in_buckets, short, snapshot.now)
    writing = _Writing(arbitration, division, in_buckets, overused, rules.allocated_seconds, before, snapshot.now)
    effects = tuple(writing.effects())
    promises = _still_open(promised, arbitration, snapshot.now)
    taken = take(snapshot, division, overused, short, promises, rules, placing, asking)
    for victim, pod in reversed(taken):  # of a pod's victims, the first is the one on the node where the pod will go
        promises[pod.uid] = Promise(pod.namespace, victim.node, snapshot.now + rules.promise_seconds)
    evictions = tuple(one.eviction for one in taken)
    return RoundResult(effects, evictions, overused, writing.conditions, writing.of_buckets, promises)


def _still_open(promised: Mapping[str, Promise], arbitration: Arbitration, now: float) -> dict[str, Promise]:
    """The promises to pods that are still pending, without those that have expired."""
    found: dict[str, Promise] = {}
    for uid, promise in promised.items():
        account = arbitration.parties.get(promise.namespace)
        task = account.tasks.get(uid) if account is not None else None
        if now < promise.until and task is not None and task.status is Status.PENDING:
            found[uid] = promise
    return found


class _Writing:
    """Works out the writes of one round."""

    def __init__(
        self,
        arbitration: Arbitration,
        division: Division,
        in_buckets: Mapping[str, Counted],
        overused: Mapping[str, Overuse],
        period: float,
        before: float,
        now: float,
    ) -> None:
        self._arbitration = arbitration
        self._division = division
        self._in_buckets = in_buckets
        """The sum of what the namespaces in each bucket keep, by bucket."""
        self._overused = overused
        self._period = period
        self._before = before
        self._now = now
        self.conditions: dict[str, Conditions] = {}
        """Conditions by namespace: of its Consumer and of its Allocation."""
        self.of_buckets: dict[str, Conditions] = {}
        """Conditions by bucket."""

    def effects(self) -> Iterator[Effect]:
        """All effects: those of namespaces by name, then those of buckets by name."""
        for namespace, account in sorted(self._arbitration.parties.items()):
            if account.terminating:
                continue
            yield from self._consumers(account)
            yield from self._allocation(account, self.conditions.pop(namespace, ()))
            yield from self._strays(account)
        kept, held = self._in_buckets, self._held_in_buckets()
        for name, bucket in sorted(self._arbitration.buckets.items()):
            yield from self._bucket(bucket, kept.get(name, {}), held.get(name, ()))

    # -- namespaces -------------------------------------------------------------------------------------------------

    def _consumers(self, account: NamespaceAccount) -> Iterator[Effect]:
        if account.claim is None:
            if not account.unreadable:
                yield MakeConsumer(account.namespace)
            return
        for claim in (account.claim, *account.idle_claims):
            has_parent = not claim.parent or claim.parent in self._arbitration.buckets
            said = conditions.of_consumer(account, claim, has_parent, self._now)
            if claim is account.claim:
                self.conditions[account.namespace] = said
            yield from self._consumer(claim, said)

    def _consumer(self, claim: Claim, said: Conditions) -> Iterator[Effect]:
        seen = claim.observed == claim.generation
        if not seen or self._differ(claim.key, claim.conditions, said):
            status = {"observedGeneration": claim.generation, "conditions": said}
            yield WriteStatus("Consumer", claim.namespace, claim.name, claim.uid, claim.version, status)
        for condition in said:
            if condition.status == FALSE and conditions.begins(claim.conditions, condition):
                yield _remark("Consumer", claim.namespace, claim.name, claim.uid, condition)

    def _allocation(self, account: NamespaceAccount, of_consumer: Conditions) -> Iterator[Effect]:
        """Write the Allocation where it differs. It is created only once the namespace has a Consumer to own it."""
        record, claim, namespace = record_of(account), account.claim, account.namespace
        award = self._division.namespaces.get(namespace, NO_AWARD)
        known = record.conditions if record is not None else ()
        said = conditions.of_allocation(account, award, self._overused.get(namespace), known, self._now)
        self.conditions[namespace] = (*of_consumer, *said)
        if record is None and claim is None:
            return
        spec = {
            "deserved": render_counted(award.deserved),
            "hard": claim.stated_hard if claim is not None else {},
            "reserved": claim.stated_reserved if claim is not None else {},
        }
        allocated = render_counted({**dict.fromkeys(award.deserved, 0), **account.held})
        status = {"allocated": allocated, "conditions": said}
        if record is None:
            assert claim is not None, "without either there is nothing to be made"
            yield WriteAllocation(namespace, claim.name, "", "", spec, status, (claim.name, claim.uid))
            return
        is_stated = spec == {"deserved": record.deserved, "hard": record.hard, "reserved": record.reserved}
        due = self._differ(namespace, known, said, allocated != record.allocated)
        if not is_stated or due:
            owner = (claim.name, claim.uid) if claim is not None else ("", "")
            yield WriteAllocation(
                namespace,
                record.name,
                record.uid,
                record.version,
                None if is_stated else spec,
                status if due else None,
                owner,
            )
        yield from _allocation_remarks("Allocation", namespace, record.name, record.uid, known, said)

    def _strays(self, account: NamespaceAccount) -> Iterator[Effect]:
        """Delete Allocations that belong to no Consumer in force."""
        counts = record_of(account)
        for record in () if account.unreadable else account.allocations:
            if record is not counts:
                yield DropAllocation(account.namespace, record.name, record.uid)

    # -- buckets ----------------------------------------------------------------------------------------------------

    def _held_in_buckets(self) -> dict[str, list[Counted]]:
        """What the namespaces in each bucket hold, those in inner buckets included."""
        found: dict[str, list[Counted]] = {}
        for account in self._arbitration.parties.values():
            for bucket in path(parent_of(account), self._division.parents):
                found.setdefault(bucket, []).append(account.held)
        return found

    def _bucket(self, bucket: Bucket, kept: Counted, held: Iterable[Counted]) -> Iterator[Effect]:
        award = self._division.buckets.get(bucket.name, NO_AWARD)
        said = conditions.of_bucket(bucket, self._arbitration.buckets, award, kept, self._now)
        self.of_buckets[bucket.name] = said
        deserved = render_counted(award.deserved)
        allocated = render_counted({**dict.fromkeys(award.deserved, 0), **summed(held)})
        seen = bucket.observed == bucket.generation and deserved == bucket.deserved
        if not seen or self._differ(bucket.name, bucket.conditions, said, allocated != bucket.allocated):
            status = {
                "observedGeneration": bucket.generation,
                "deserved": deserved,
                "allocated": allocated,
                "conditions": said,
            }
            yield WriteStatus("Bucket", "", bucket.name, bucket.uid, bucket.version, status)
        yield from _allocation_remarks("Bucket", "", bucket.name, bucket.uid, bucket.conditions, said)

    # -- what is worth a write --------------------------------------------------------------------------------------

    def _differ(self, name: str, before: Conditions, after: Conditions, amounts_differ: bool = False) -> bool:
        """Whether to write a status now. Wording and amounts change all the time, so they wait for their moment."""
        if conditions.is_news(before, after):
            return True
        return (amounts_differ or before != after) and self._is_turn(name)

    def _is_turn(self, name: str) -> bool:
        """Whether the moment of this object has come since the previous round: once a period, shifted by its name."""
        period = self._period
        if self._before <= 0 or period <= 0:
            return True
        shift = crc32(name.encode()) % PHASES / PHASES
        return floor(self._now / period + shift) > floor(self._before / period + shift)


def _allocation_remarks(
    kind: str, namespace: str, name: str, uid: str, before: Conditions, said: Conditions
) -> Iterator[Remark]:
    """Events for conditions that have just begun and that people should know about."""
    worrying = {OVERUSED: TRUE, RESERVED: FALSE, conditions.ACCEPTED: FALSE, conditions.PARENT_FOUND: FALSE}
    for condition in said:
        if worrying[condition.kind] == condition.status and conditions.begins(before, condition):
            yield _remark(kind, namespace, name, uid, condition)


def _remark(kind: str, namespace: str, name: str, uid: str, condition: ArbitrationCondition) -> Remark:
    reason = {OVERUSED: OVERUSED, RESERVED: "ReservationCut"}.get(condition.kind, condition.reason)
    return Remark(kind, namespace, name, uid, True, reason, condition.message)

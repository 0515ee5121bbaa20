"""One round of arbitration after the division: what objects are to say, who is overused, which pods go (seed 001).

Level-triggered and without memory: what is to be done follows from the objects as they stand. What has begun, and
since when, is read back from the conditions, so that a restart goes on where the last process stopped. Promises alone
are handed on from round to round; after a restart the room that was made may be lent once more before it is taken.
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
from vsched.arbitrator.wants import Asking
from vsched.model.amounts.counted import Counted, render_counted, summed
from vsched.model.arbitration.records import Arbitration, Bucket, Claim, Division, NamespaceAccount, Told
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot

NO_PROMISES: Mapping[str, Promise] = {}
PHASES = 1000
"""Into so many moments of a period writes are spread."""


def reconcile(
    snapshot: Snapshot,
    division: Division,
    rules: ArbitrationRules,
    placing: Placing,
    before: float = 0.0,
    promised: Mapping[str, Promise] = NO_PROMISES,
) -> RoundResult:
    """What follows from a division. Nothing where nobody arbitrates.

    ``before`` is when the round before this one was, in seconds since the epoch: what changes all the time is written
    once in ``allocated_seconds``. With 0, as before the first round, everything that differs is written. ``promised``
    is what the round before this one promised.
    """
    arbitration = snapshot.arbitration
    if arbitration is None:
        return RoundResult()
    asking = Asking(snapshot)
    exceeding = excesses(arbitration, division)
    short = shortages(snapshot, division, asking) if exceeding else ()
    in_buckets = kept_in_buckets(arbitration, division)
    overused = overuses(arbitration, division, exceeding, in_buckets, short, snapshot.now)
    writing = _Writing(arbitration, division, in_buckets, overused, rules.allocated_seconds, before, snapshot.now)
    effects = tuple(writing.effects())
    promises = _still_open(promised, arbitration, snapshot.now)
    taken = take(snapshot, division, overused, short, promises, rules, placing, asking)
    for victim, pod in reversed(taken):  # who leaves the pod's own place goes first of those that leave for it
        promises[pod.uid] = Promise(pod.namespace, victim.node, snapshot.now + rules.promise_seconds)
    evictions = tuple(one.eviction for one in taken)
    return RoundResult(effects, evictions, overused, writing.conditions, writing.of_buckets, promises)


def _still_open(promised: Mapping[str, Promise], arbitration: Arbitration, now: float) -> dict[str, Promise]:
    """Promises to pods that still wait and have not been waited for too long."""
    found: dict[str, Promise] = {}
    for uid, promise in promised.items():
        party = arbitration.parties.get(promise.namespace)
        task = party.tasks.get(uid) if party is not None else None
        if now < promise.until and task is not None and task.status is Status.PENDING:
            found[uid] = promise
    return found


class _Writing:
    """What is to be written in one round."""

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
        """What the namespaces in each bucket keep together."""
        self._overused = overused
        self._period = period
        self._before = before
        self._now = now
        self.conditions: dict[str, Conditions] = {}
        """What is said of each namespace."""
        self.of_buckets: dict[str, Conditions] = {}
        """What is said of each bucket."""

    def effects(self) -> Iterator[Effect]:
        """In the order of names: namespaces, then buckets."""
        for namespace, party in sorted(self._arbitration.parties.items()):
            if party.terminating:
                continue
            yield from self._consumers(party)
            yield from self._allocation(party, self.conditions.pop(namespace, ()))
            yield from self._strays(party)
        kept, held = self._in_buckets, self._held_in_buckets()
        for name, bucket in sorted(self._arbitration.buckets.items()):
            yield from self._bucket(bucket, kept.get(name, {}), held.get(name, ()))

    # -- namespaces -------------------------------------------------------------------------------------------------

    def _consumers(self, party: NamespaceAccount) -> Iterator[Effect]:
        if party.claim is None:
            if not party.unreadable:
                yield MakeConsumer(party.namespace)
            return
        for claim in (party.claim, *party.idle_claims):
            has_parent = not claim.parent or claim.parent in self._arbitration.buckets
            said = conditions.of_consumer(party, claim, has_parent, self._now)
            if claim is party.claim:
                self.conditions[party.namespace] = said
            yield from self._consumer(claim, said)

    def _consumer(self, claim: Claim, said: Conditions) -> Iterator[Effect]:
        seen = claim.observed == claim.generation
        if not seen or self._differ(claim.key, claim.conditions, said):
            status = {"observedGeneration": claim.generation, "conditions": said}
            yield WriteStatus("Consumer", claim.namespace, claim.name, claim.uid, claim.version, status)
        for told in said:
            if told.status == FALSE and conditions.begins(claim.conditions, told):
                yield _remark("Consumer", claim.namespace, claim.name, claim.uid, told)

    def _allocation(self, party: NamespaceAccount, of_consumer: Conditions) -> Iterator[Effect]:
        """Have the Allocation say what it should; made once there is a Consumer that it can go with."""
        record, claim, namespace = record_of(party), party.claim, party.namespace
        award = self._division.namespaces.get(namespace, NO_AWARD)
        known = record.conditions if record is not None else ()
        said = conditions.of_allocation(party, award, self._overused.get(namespace), known, self._now)
        self.conditions[namespace] = (*of_consumer, *said)
        if record is None and claim is None:
            return
        spec = {
            "deserved": render_counted(award.deserved),
            "hard": claim.stated_hard if claim is not None else {},
            "reserved": claim.stated_reserved if claim is not None else {},
        }
        allocated = render_counted({**dict.fromkeys(award.deserved, 0), **party.held})
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

    def _strays(self, party: NamespaceAccount) -> Iterator[Effect]:
        """Allocations whose Consumer is no more, or never counted."""
        counts = record_of(party)
        for record in () if party.unreadable else party.allocations:
            if record is not counts:
                yield DropAllocation(party.namespace, record.name, record.uid)

    # -- buckets ----------------------------------------------------------------------------------------------------

    def _held_in_buckets(self) -> dict[str, list[Counted]]:
        """What the namespaces of each bucket hold, at whatever level they are in it."""
        found: dict[str, list[Counted]] = {}
        for party in self._arbitration.parties.values():
            for bucket in path(parent_of(party), self._division.parents):
                found.setdefault(bucket, []).append(party.held)
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
        """Whether a status is to be written now: wordings and what is held change all the time, and wait their turn."""
        if conditions.is_news(before, after):
            return True
        return (amounts_differ or before != after) and self._is_turn(name)

    def _is_turn(self, name: str) -> bool:
        """Whether a moment of this name has come since the round before: once a period, at its own time each."""
        period = self._period
        if self._before <= 0 or period <= 0:
            return True
        shift = crc32(name.encode()) % PHASES / PHASES
        return floor(self._now / period + shift) > floor(self._before / period + shift)


def _allocation_remarks(
    kind: str, namespace: str, name: str, uid: str, before: Conditions, said: Conditions
) -> Iterator[Remark]:
    """What people are told of when it begins."""
    worrying = {OVERUSED: TRUE, RESERVED: FALSE, conditions.ACCEPTED: FALSE, conditions.PARENT_FOUND: FALSE}
    for told in said:
        if worrying[told.kind] == told.status and conditions.begins(before, told):
            yield _remark(kind, namespace, name, uid, told)


def _remark(kind: str, namespace: str, name: str, uid: str, told: Told) -> Remark:
    reason = {OVERUSED: OVERUSED, RESERVED: "ReservationCut"}.get(told.kind, told.reason)
    return Remark(kind, namespace, name, uid, True, reason, told.message)

"""The conditions in the status of Consumers, Allocations and Buckets.

| condition | of | True | reasons where False |
|---|---|---|---|
| ``Accepted`` | Consumer, Bucket | it keeps the rules | ``Invalid``; ``NotCounted``: the namespace has an older one |
| ``ParentFound`` | Consumer, Bucket | never written | ``BucketNotFound`` |
| ``Overused`` | Allocation | holds more than it deserves while others are short, or than it may | ``NotOverused`` |
| ``Overused`` | Bucket | its namespaces hold more than they may | never written |
| ``Reserved`` | Allocation, Bucket | it is in force | ``LimitBelowReservation``, ``ReservationsExceedCluster`` |

A condition keeps its ``lastTransitionTime`` until its status changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.arbitrator import words
from vsched.arbitrator.admission import bucket_problems, consumer_problems
from vsched.arbitrator.effects import Overuse
from vsched.model.amounts.counted import Counted, beyond_limit, format_counted
from vsched.model.arbitration.records import ArbitrationCondition, Award, Bucket, Claim, NamespaceAccount

ACCEPTED, PARENT_FOUND, OVERUSED, RESERVED = "Accepted", "ParentFound", "Overused", "Reserved"
TRUE, FALSE = "True", "False"

Conditions = tuple[ArbitrationCondition, ...]


def of_consumer(account: NamespaceAccount, claim: Claim, has_parent: bool, now: float) -> Conditions:
    """The conditions of a Consumer of the namespace, whether it is the one in force or not."""
    before = claim.conditions
    if account.claim is not None and account.claim is not claim:
        message = words.older_counts(account.claim.name)
        return (_condition(before, now, ACCEPTED, FALSE, "NotCounted", message),)
    found = _accepted(consumer_problems(claim, account.quota), before, now)
    if has_parent:
        return (found,)
    return found, _no_parent(claim.parent, before, now)


def of_bucket(bucket: Bucket, others: Mapping[str, Bucket], award: Award, kept: Counted, now: float) -> Conditions:
    """The conditions of a bucket, checked against all other buckets."""
    before = bucket.conditions
    found = [_accepted(bucket_problems(bucket, others), before, now)]
    if bucket.parent and bucket.parent not in others:
        found.append(_no_parent(bucket.parent, before, now))
    return *found, *_overfull(award, kept, before, now), *_reserved(bucket.reserved, award, before, now)


def of_allocation(
    account: NamespaceAccount, award: Award, overuse: Overuse | None, before: Conditions, now: float
) -> Conditions:
    """The conditions of the Allocation of a namespace."""
    if overuse is None:
        found = _condition(before, now, OVERUSED, FALSE, "NotOverused", words.WITHIN)
    else:
        reason = "HoldsMoreThanHard" if overuse.beyond or overuse.buckets else "HoldsMoreThanDeserved"
        found = ArbitrationCondition(OVERUSED, TRUE, reason, overuse_message(overuse), overuse.since)
    stated = account.claim.reserved if account.claim is not None else {}
    return found, *_reserved(stated, award, before, now)


def overuse_message(overuse: Overuse) -> str:
    """The message that says by how much a namespace is overused, and which namespaces are short."""
    parts = []
    if overuse.beyond:
        parts.append(words.beyond_own_limit(_amounts(overuse.beyond)))
    if overuse.buckets or overuse.claimants:
        bucket = overuse.buckets[0] if overuse.buckets else ""
        parts.append(words.beyond_deserved(_amounts(overuse.excess), bucket, overuse.claimants))
    return "; ".join(parts)


def is_news(before: Conditions, after: Conditions) -> bool:
    """Whether more than messages and times has changed."""
    return {(condition.kind, condition.status, condition.reason) for condition in before} != {
        (condition.kind, condition.status, condition.reason) for condition in after
    }


def begins(before: Conditions, condition: ArbitrationCondition) -> bool:
    """Whether the condition is new or had another status before."""
    return all(old.kind != condition.kind or old.status != condition.status for old in before)


def _accepted(problems: Sequence[str], before: Conditions, now: float) -> ArbitrationCondition:
    if problems:
        return _condition(before, now, ACCEPTED, FALSE, "Invalid", "; ".join(problems))
    return _condition(before, now, ACCEPTED, TRUE, "Valid", "")


def _no_parent(parent: str, before: Conditions, now: float) -> ArbitrationCondition:
    return _condition(before, now, PARENT_FOUND, FALSE, "BucketNotFound", words.no_bucket(parent))


def _overfull(award: Award, kept: Counted, before: Conditions, now: float) -> Conditions:
    """An ``Overused`` condition if the namespaces of a bucket together keep more than its limit; else nothing."""
    beyond = beyond_limit(kept, award.hard)
    if not beyond:
        return ()
    message = words.bucket_beyond_limit(_amounts(beyond))
    return (_condition(before, now, OVERUSED, TRUE, "HoldsMoreThanHard", message),)


def _reserved(stated: Counted, award: Award, before: Conditions, now: float) -> Conditions:
    """A ``Reserved`` condition that says whether the reservation is in force; nothing if there is no reservation."""
    if not any(stated.values()):
        return ()
    cut = {name: value for name, value in award.cut.items() if value}
    if not cut:
        return (_condition(before, now, RESERVED, TRUE, "InForce", ""),)
    limited = any(stated.get(name, 0) > award.hard.get(name, stated.get(name, 0)) for name in cut)
    reason = "LimitBelowReservation" if limited else "ReservationsExceedCluster"
    parts = (
        f"{format_counted(name, award.reserved.get(name, 0))} of {format_counted(name, stated.get(name, 0))} {name}"
        for name in sorted(cut)
    )
    message = words.reservation_cut(", ".join(parts), limited=limited)
    return (_condition(before, now, RESERVED, FALSE, reason, message),)


def _condition(
    before: Conditions, now: float, kind: str, status: str, reason: str, message: str
) -> ArbitrationCondition:
    since = next((old.since for old in before if old.kind == kind and old.status == status), now)
    return ArbitrationCondition(kind, status, reason, message, since)


def _amounts(amounts: Counted) -> str:
    return ", ".join(f"{format_counted(name, value)} {name}" for name, value in sorted(amounts.items()))

"""What is said of Consumers, Allocations and buckets, as conditions (seed 001).

| condition | of | True | reasons where False |
|---|---|---|---|
| ``Accepted`` | Consumer, Bucket | it keeps the rules | ``Invalid``; ``NotCounted``: the namespace has an older one |
| ``ParentFound`` | Consumer, Bucket | never said | ``BucketNotFound`` |
| ``Overused`` | Allocation | holds more than it deserves while others are short, or than it may | ``NotOverused`` |
| ``Overused`` | Bucket | its namespaces hold more than they may | never said |
| ``Reserved`` | Allocation, Bucket | it is in force | ``LimitBelowReservation``, ``ReservationsExceedCluster`` |

A condition keeps its time as long as its status stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.arbitrator.admission import bucket_problems, consumer_problems
from vsched.arbitrator.effects import Overuse
from vsched.model.amounts.counted import Counted, beyond_limit, format_counted
from vsched.model.arbitration.records import Award, Bucket, Claim, NamespaceAccount, Told

ACCEPTED, PARENT_FOUND, OVERUSED, RESERVED = "Accepted", "ParentFound", "Overused", "Reserved"
TRUE, FALSE = "True", "False"
NAMED_MAX = 3
"""Namespaces that a message names; of the others it gives the number."""

Conditions = tuple[Told, ...]


def of_consumer(party: NamespaceAccount, claim: Claim, has_parent: bool, now: float) -> Conditions:
    """What is said of the Consumer of a namespace, whether it counts or not."""
    before = claim.conditions
    if party.claim is not None and party.claim is not claim:
        message = f"Consumer {party.claim.name} of this namespace is older, and counts"
        return (_told(before, now, ACCEPTED, FALSE, "NotCounted", message),)
    found = _accepted(consumer_problems(claim, party.quota), before, now)
    if has_parent:
        return (found,)
    return found, _no_parent(claim.parent, before, now)


def of_bucket(bucket: Bucket, others: Mapping[str, Bucket], award: Award, kept: Counted, now: float) -> Conditions:
    """What is said of a bucket beside the others."""
    before = bucket.conditions
    found = [_accepted(bucket_problems(bucket, others), before, now)]
    if bucket.parent and bucket.parent not in others:
        found.append(_no_parent(bucket.parent, before, now))
    return *found, *_overfull(award, kept, before, now), *_reserved(bucket.reserved, award, before, now)


def of_allocation(
    party: NamespaceAccount, award: Award, overuse: Overuse | None, before: Conditions, now: float
) -> Conditions:
    """What is said of the Allocation of a namespace."""
    if overuse is None:
        message = "holds no more than it may, and no more than it deserves or nobody is short of what it deserves"
        found = _told(before, now, OVERUSED, FALSE, "NotOverused", message)
    else:
        reason = "HoldsMoreThanHard" if overuse.beyond or overuse.buckets else "HoldsMoreThanDeserved"
        found = Told(OVERUSED, TRUE, reason, overuse_message(overuse), overuse.since)
    stated = party.claim.reserved if party.claim is not None else {}
    return found, *_reserved(stated, award, before, now)


def overuse_message(overuse: Overuse) -> str:
    """By how much a namespace is overused, and who is short meanwhile."""
    told = []
    if overuse.beyond:
        told.append(f"holds {_amounts(overuse.beyond)} more than it may at most")
    while_ = [f"{_listed(overuse.claimants)} short"] if overuse.claimants else []
    if overuse.buckets:
        while_.insert(0, f"bucket {overuse.buckets[0]} holds more than it may at most")
    if while_:
        told.append(f"holds {_amounts(overuse.excess)} more than it deserves while {' and '.join(while_)}")
    return "; ".join(told)


def is_news(before: Conditions, after: Conditions) -> bool:
    """Whether more has changed than a wording."""
    return {(told.kind, told.status, told.reason) for told in before} != {
        (told.kind, told.status, told.reason) for told in after
    }


def begins(before: Conditions, told: Told) -> bool:
    """Whether the condition did not have this status before."""
    return all(old.kind != told.kind or old.status != told.status for old in before)


def _accepted(problems: Sequence[str], before: Conditions, now: float) -> Told:
    if problems:
        return _told(before, now, ACCEPTED, FALSE, "Invalid", "; ".join(problems))
    return _told(before, now, ACCEPTED, TRUE, "Valid", "")


def _no_parent(parent: str, before: Conditions, now: float) -> Told:
    message = f"there is no Bucket {parent}: it stands for one without limits and reservation, of weight 1"
    return _told(before, now, PARENT_FOUND, FALSE, "BucketNotFound", message)


def _overfull(award: Award, kept: Counted, before: Conditions, now: float) -> Conditions:
    """Whether the namespaces of a bucket keep more than they may together; nothing where they do not."""
    beyond = beyond_limit(kept, award.hard)
    if not beyond:
        return ()
    message = f"its namespaces hold {_amounts(beyond)} more than they may at most"
    return (_told(before, now, OVERUSED, TRUE, "HoldsMoreThanHard", message),)


def _reserved(stated: Counted, award: Award, before: Conditions, now: float) -> Conditions:
    """Whether a reservation is in force; nothing where none is stated."""
    if not any(stated.values()):
        return ()
    cut = {name: value for name, value in award.cut.items() if value}
    if not cut:
        return (_told(before, now, RESERVED, TRUE, "InForce", ""),)
    limited = any(stated.get(name, 0) > award.hard.get(name, stated.get(name, 0)) for name in cut)
    reason = "LimitBelowReservation" if limited else "ReservationsExceedCluster"
    parts = (
        f"{format_counted(name, award.reserved.get(name, 0))} of {format_counted(name, stated.get(name, 0))} {name}"
        for name in sorted(cut)
    )
    why = "limits are below it" if limited else "all reservations together exceed what there is"
    return (_told(before, now, RESERVED, FALSE, reason, f"{why}: in force is {', '.join(parts)}"),)


def _told(before: Conditions, now: float, kind: str, status: str, reason: str, message: str) -> Told:
    since = next((old.since for old in before if old.kind == kind and old.status == status), now)
    return Told(kind, status, reason, message, since)


def _amounts(amounts: Counted) -> str:
    return ", ".join(f"{format_counted(name, value)} {name}" for name, value in sorted(amounts.items()))


def _listed(names: Sequence[str]) -> str:
    shown, others = ", ".join(names[:NAMED_MAX]), len(names) - NAMED_MAX
    return f"{shown} and {others} more are" if others > 0 else f"{shown} {'is' if len(names) == 1 else 'are'}"

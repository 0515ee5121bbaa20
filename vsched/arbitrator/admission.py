"""What Consumers and buckets must keep to, beyond what makes them readable (seed 001, "Admission Controller").

One set of rules for two: the webhook refuses what breaks them, and the arbitrator, where objects come past the webhook
or the rules are broken later (a quota is tightened, a node goes), says so and cuts what cannot hold. Every problem is
one line: field, value, what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.model.arbitration import SYSTEM_NAMESPACE, Arbitration, Bucket, Claim
from vsched.model.counted import LIMITS, Counted, format_counted, is_storage, summed


def problems(found: Claim | Bucket, arbitration: Arbitration, total: Counted) -> tuple[str, ...]:
    """What is wrong with a Consumer or a bucket that is to stand beside all others; total as in a ``Division``."""
    claims = [party.claim for party in arbitration.parties.values() if party.claim is not None]
    if isinstance(found, Bucket):
        return bucket_problems(found) + bucket_reservation_problems(found, claims, arbitration.buckets, total)
    party = arbitration.parties.get(found.namespace)
    quota = party.quota if party is not None else {}
    return consumer_problems(found, quota) + reservation_problems(found, claims, arbitration.buckets, total)


def consumer_problems(claim: Claim, quota: Counted) -> tuple[str, ...]:
    """What is wrong with a Consumer by itself and beside the quotas of its namespace."""
    where = "the ResourceQuota of the namespace"
    return (
        *_within("spec.reserved", claim.reserved, claim.hard, "spec.hard"),
        *_within("spec.hard", claim.hard, quota, where),
        *_within("spec.reserved", _lacking(claim.reserved, claim.hard), quota, where),
    )


def bucket_problems(bucket: Bucket) -> tuple[str, ...]:
    """What is wrong with a bucket by itself."""
    return tuple(_within("spec.reserved", bucket.reserved, bucket.hard, "spec.hard"))


def reservation_problems(
    claim: Claim, others: Iterable[Claim], buckets: Mapping[str, Bucket], total: Counted
) -> tuple[str, ...]:
    """What a Consumer reserves that its bucket or the cluster cannot keep for it.

    ``others`` are the Consumers that count, its own former self among them if there is one: what was too much before
    is no reason to refuse one that asks for no more.
    """
    if claim.namespace == SYSTEM_NAMESPACE:
        return ()
    before = [other for other in others if other.namespace != SYSTEM_NAMESPACE]
    rest = [other for other in before if other.namespace != claim.namespace]
    bucket = buckets.get(claim.parent)
    found: list[str] = []
    if bucket is not None:
        kept, was = (_of_children(claims, claim.parent) for claims in ([*rest, claim], before))
        found.extend(_beyond(claim.reserved, kept, was, bucket.hard, f"bucket {bucket.name}'s hard limit of"))
    kept, was = (reserved_in_all(claims, buckets) for claims in ([*rest, claim], before))
    found.extend(_beyond(claim.reserved, kept, was, _known(total, kept), "the cluster's"))
    return tuple(found)


def bucket_reservation_problems(
    bucket: Bucket, claims: Iterable[Claim], buckets: Mapping[str, Bucket], total: Counted
) -> tuple[str, ...]:
    """What a bucket reserves that the cluster cannot keep for it, judged as Consumers are."""
    counted = list(claims)
    kept, was = (reserved_in_all(counted, each) for each in ({**buckets, bucket.name: bucket}, buckets))
    return tuple(_beyond(bucket.reserved, kept, was, _known(total, kept), "the cluster's"))


def reserved_in_all(claims: Iterable[Claim], buckets: Mapping[str, Bucket]) -> dict[str, int]:
    """What is reserved of the cluster: for a bucket its own or its Consumers' together, whichever is larger."""
    alone: list[Counted] = []
    grouped: dict[str, list[Counted]] = {name: [] for name in buckets}
    for claim in claims:
        # kube-system is served before anything is reserved.
        if claim.namespace != SYSTEM_NAMESPACE:
            (grouped.setdefault(claim.parent, []) if claim.parent else alone).append(claim.reserved)
    for name, reserved in grouped.items():
        own = buckets[name].reserved if name in buckets else {}
        children = summed(reserved)
        alone.append({each: max(own.get(each, 0), children.get(each, 0)) for each in {**own, **children}})
    return summed(alone)


def _of_children(claims: Iterable[Claim], parent: str) -> dict[str, int]:
    return summed(claim.reserved for claim in claims if claim.parent == parent)


def _within(field: str, amounts: Counted, bounds: Counted, whose: str) -> Iterable[str]:
    for name, value in sorted(amounts.items()):
        bound = bounds.get(name)
        if bound is not None and value > bound:
            yield f"{_stated(field, name, value)} (expected at most {format_counted(name, bound)}, {whose})"


def _beyond(own: Counted, kept: Counted, was: Counted, bounds: Counted, whose: str) -> Iterable[str]:
    """Where more is reserved than there is, and more than before, by somebody who reserves this."""
    for name, value in sorted(own.items()):
        bound, all_kept = bounds.get(name), kept.get(name, 0)
        if bound is not None and value and bound < all_kept > was.get(name, 0):
            others, most = all_kept - value, format_counted(name, bound)
            taken = f", of which others reserve {format_counted(name, others)}" if others > 0 else ""
            yield f"{_stated('spec.reserved', name, value)} (expected to be within {whose} {most}{taken})"


def _stated(field: str, name: str, value: int) -> str:
    return f"{field}.{name}: {format_counted(name, value)}"


def _lacking(amounts: Counted, bounds: Counted) -> Counted:
    return {name: value for name, value in amounts.items() if name not in bounds}


def _known(total: Counted, reserved: Counted) -> Counted:
    """The totals, with a zero for what nodes could have and none has: only limits and storage have no known end."""
    return {name: 0 for name in reserved if name not in LIMITS and not is_storage(name)} | dict(total)

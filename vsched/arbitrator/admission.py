"""The rules for valid Consumers and Buckets, beyond their syntax.

Two parts of vsched use them. The webhook refuses objects that break them. The arbitrator handles objects that got past
the webhook, or that became invalid later (a quota is tightened, a node is removed): it reports the problem in a
condition and cuts what cannot hold. Every problem is one line: field, value, what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.arbitrator import words
from vsched.arbitrator.tree import LEVELS_MAX, all_buckets, parents_of, path, stated_above
from vsched.model.amounts.counted import LIMITS, Counted, format_counted, is_storage, summed
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Arbitration, Bucket, Claim


def problems(found: Claim | Bucket, arbitration: Arbitration, total: Counted) -> tuple[str, ...]:
    """What is wrong with a Consumer or a bucket among all others; ``total`` is that of a ``Division``."""
    claims = [account.claim for account in arbitration.parties.values() if account.claim is not None]
    buckets = arbitration.buckets
    if isinstance(found, Bucket):
        return bucket_problems(found, buckets) + bucket_reservation_problems(found, claims, buckets, total)
    account = arbitration.parties.get(found.namespace)
    quota = account.quota if account is not None else {}
    return consumer_problems(found, quota) + reservation_problems(found, claims, buckets, total)


def consumer_problems(claim: Claim, quota: Counted) -> tuple[str, ...]:
    """What is wrong with a Consumer by itself and with the ResourceQuotas of its namespace."""
    return (
        *_within("spec.reserved", claim.reserved, claim.hard, "spec.hard"),
        *_within("spec.hard", claim.hard, quota, words.THE_QUOTA),
        *_within("spec.reserved", _lacking(claim.reserved, claim.hard), quota, words.THE_QUOTA),
    )


def bucket_problems(bucket: Bucket, others: Mapping[str, Bucket]) -> tuple[str, ...]:
    """What is wrong with a bucket by itself and with its place below other buckets."""
    return (*_within("spec.reserved", bucket.reserved, bucket.hard, "spec.hard"), *_endless(bucket, others))


def reservation_problems(
    claim: Claim, others: Iterable[Claim], buckets: Mapping[str, Bucket], total: Counted
) -> tuple[str, ...]:
    """What a Consumer reserves that its buckets or the cluster cannot keep for it.

    ``others`` are the Consumers in force, with the old version of this one if there is any. A sum that was too large
    before is no reason to refuse a Consumer that does not make it larger.
    """
    if claim.namespace == SYSTEM_NAMESPACE:
        return ()
    before = list(others)
    rest = [other for other in before if other.namespace != claim.namespace]
    now, was = ReservedByLevel([*rest, claim], buckets), ReservedByLevel(before, buckets)
    return tuple(_too_much(claim.reserved, claim.parent, now, was, total))


def bucket_reservation_problems(
    bucket: Bucket, claims: Iterable[Claim], buckets: Mapping[str, Bucket], total: Counted
) -> tuple[str, ...]:
    """What a bucket reserves that the buckets above it or the cluster cannot keep; the same rule as for Consumers."""
    counted = list(claims)
    now, was = (ReservedByLevel(counted, each) for each in ({**buckets, bucket.name: bucket}, buckets))
    return tuple(_too_much(bucket.reserved, now.parents[bucket.name], now, was, total))


class ReservedByLevel:
    """What is reserved, level by level. A bucket counts as the larger of its own reservation and the sum inside it."""

    def __init__(self, claims: Iterable[Claim], stated: Mapping[str, Bucket]) -> None:
        # kube-system is served before anything is reserved.
        counted = [claim for claim in claims if claim.namespace != SYSTEM_NAMESPACE]
        self.buckets = all_buckets(stated)
        self.buckets.update((claim.parent, Bucket(claim.parent)) for claim in counted if not self._knows(claim.parent))
        self.parents = parents_of(self.buckets)
        within: dict[str, list[Counted]] = {"": []}
        for claim in counted:
            within.setdefault(claim.parent, []).append(claim.reserved)
        self.within: dict[str, dict[str, int]] = {}
        """The sum reserved inside each bucket, by name; the empty name stands for the cluster."""
        for name in sorted(self.buckets, key=lambda name: -len(path(name, self.parents))):
            own, inner = self.buckets[name].reserved, summed(within.get(name, ()))
            self.within[name] = inner
            larger = {each: max(own.get(each, 0), inner.get(each, 0)) for each in {**own, **inner}}
            within.setdefault(self.parents[name], []).append(larger)
        self.within[""] = summed(within[""])

    def _knows(self, name: str) -> bool:
        return not name or name in self.buckets


def _too_much(
    reserved: Counted, parent: str, now: ReservedByLevel, was: ReservedByLevel, total: Counted
) -> Iterable[str]:
    """One line for each resource of which more is reserved than the buckets above, or the cluster, can keep."""
    for name in path(parent, now.parents):
        kept, before = now.within[name], was.within.get(name, {})
        yield from _beyond(reserved, kept, before, now.buckets[name].hard, words.limit_of_bucket(name))
    kept = now.within[""]
    yield from _beyond(reserved, kept, was.within[""], _known(total, kept), words.THE_CLUSTER)


def _endless(bucket: Bucket, others: Mapping[str, Bucket]) -> Iterable[str]:
    above = stated_above(bucket.name, {**others, bucket.name: bucket})
    if len(above) <= LEVELS_MAX:
        return
    if bucket.name in above:
        yield words.circle(bucket.parent, bucket.name, above[: above.index(bucket.name) + 1])
    else:
        yield words.too_deep(bucket.parent, LEVELS_MAX)


def _within(field: str, amounts: Counted, bounds: Counted, whose: str) -> Iterable[str]:
    for name, value in sorted(amounts.items()):
        bound = bounds.get(name)
        if bound is not None and value > bound:
            yield words.above_bound(_stated(field, name, value), format_counted(name, bound), whose)


def _beyond(own: Counted, kept: Counted, was: Counted, bounds: Counted, whose: str) -> Iterable[str]:
    """Where the sum exceeds its bound and has grown, in a resource that this object reserves."""
    for name, value in sorted(own.items()):
        bound, all_kept = bounds.get(name), kept.get(name, 0)
        if bound is not None and value and bound < all_kept > was.get(name, 0):
            others, most = all_kept - value, format_counted(name, bound)
            taken = format_counted(name, others) if others > 0 else ""
            yield words.reserves_too_much(_stated("spec.reserved", name, value), most, whose, taken)


def _stated(field: str, name: str, value: int) -> str:
    return f"{field}.{name}: {format_counted(name, value)}"


def _lacking(amounts: Counted, bounds: Counted) -> Counted:
    return {name: value for name, value in amounts.items() if name not in bounds}


def _known(total: Counted, reserved: Counted) -> Counted:
    """The totals, with 0 for a resource that no node has. Only limits and storage may have an unknown total."""
    return {name: 0 for name in reserved if name not in LIMITS and not is_storage(name)} | dict(total)

"""Who deserves and uses what of the cluster, as Consumers, Allocations and Buckets state it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

import msgspec
from msgspec.structs import replace

from vsched.arbitrator.conditions import OVERUSED
from vsched.arbitrator.tree import all_buckets, parents_of, path
from vsched.cli import words as shared
from vsched.cli.allocations import words
from vsched.errors import BadInput, BadQuantity
from vsched.model.amounts.counted import NOTHING, Counted, counted_name, parse_counted, render_counted, summed
from vsched.model.arbitration.records import DEFAULT_CONSUMER, AllocationRecord, ArbitrationCondition, Bucket, Claim


class AllocationShare(msgspec.Struct, frozen=True):
    """What a namespace or a bucket deserves and uses of the cluster."""

    name: str
    is_bucket: bool = False
    parent: str = ""
    """The bucket that it is in; empty for none."""
    weight: int | None = None
    """None where no Consumer states one."""
    deserved: Counted = NOTHING
    allocated: Counted = NOTHING
    hard: Counted = NOTHING
    """The limit in force where a daemon was asked, else the stated one."""
    reserved: Counted = NOTHING
    stated_hard: Mapping[str, str] = {}
    stated_reserved: Mapping[str, str] = {}
    ceiling: Counted = NOTHING
    """What it may use for now; empty where no daemon was asked."""
    waiting: Counted = NOTHING
    conditions: tuple[ArbitrationCondition, ...] = ()
    """Of the Consumer and the Allocation, or of the Bucket."""
    divided: bool = True
    """Whether the arbitrator has written what it deserves."""

    @property
    def overused(self) -> ArbitrationCondition | None:
        """The condition that it uses more than it deserves while others need it; None where it does not."""
        return next(
            (condition for condition in self.conditions if condition.kind == OVERUSED and condition.status == "True"),
            None,
        )

    @property
    def is_idle(self) -> bool:
        """Whether tables leave it out: a namespace without bucket, amounts, limits and problems."""
        amounts = (self.deserved, self.allocated, self.waiting)
        used = any(value for one in amounts for value in one.values())
        return self.divided and not (
            used or self.is_bucket or self.parent or self.hard or self.reserved or self.problems
        )

    @property
    def problems(self) -> tuple[ArbitrationCondition, ...]:
        """The conditions that say what is wrong."""
        return tuple(
            condition for condition in self.conditions if condition.kind != OVERUSED and condition.status == "False"
        )


class AllocationShares(msgspec.Struct, frozen=True):
    """All namespaces and buckets, and the whole cluster."""

    namespaces: Mapping[str, AllocationShare] = {}
    buckets: Mapping[str, AllocationShare] = {}
    total: Counted = NOTHING
    """The sum over all nodes; empty where we may not read them."""

    @property
    def all(self) -> list[AllocationShare]:
        """The namespaces, then the buckets."""
        return [*self.namespaces.values(), *self.buckets.values()]

    def named(self, names: Iterable[str]) -> list[AllocationShare]:
        """The namespaces and buckets of these names; raises BadInput for a name that neither has."""
        found: list[AllocationShare] = []
        for name in names:
            shares = [kind[name] for kind in (self.namespaces, self.buckets) if name in kind]
            if not shares:
                close = get_close_matches(name, [*self.namespaces, *self.buckets], 1)
                meant = shared.did_you_mean(close[0]) if close else ""
                raise BadInput(words.no_share(name, meant))
            found += shares
        return found

    def below(self, bucket: str) -> list[AllocationShare]:
        """The namespaces in a bucket, by name; with an empty name, those in none."""
        return [share for _, share in sorted(self.namespaces.items()) if share.parent == bucket]

    def inner(self, bucket: str) -> list[AllocationShare]:
        """The buckets right below a bucket, by name; with an empty name, those at the top."""
        return [share for _, share in sorted(self.buckets.items()) if share.parent == bucket]


def shares_of(
    claims: Iterable[Claim], records: Iterable[AllocationRecord], buckets: Iterable[Bucket], total: Counted = NOTHING
) -> AllocationShares:
    """The shares that these objects state.

    Of several Consumers in a namespace the oldest counts, and the Allocation of the same name.
    """
    counting: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda claim: (claim.created, claim.name)):
        counting.setdefault(claim.namespace, claim)
    allocations: dict[str, AllocationRecord] = {}
    for record in records:
        known = counting.get(record.namespace)
        if record.name == (DEFAULT_CONSUMER if known is None else known.name):
            allocations[record.namespace] = record
    namespaces = {
        name: _namespace(name, counting.get(name), allocations.get(name)) for name in sorted({*counting, *allocations})
    }
    stated = {bucket.name: bucket for bucket in buckets}
    named = {share.parent: Bucket(share.parent) for share in namespaces.values() if share.parent}
    everyone = all_buckets({**named, **stated})
    parents = parents_of(everyone)
    known_buckets = {
        name: replace(_bucket(stated[name]), parent=parents[name])
        if name in stated
        else _implied(name, [one for one in namespaces.values() if name in path(one.parent, parents)])
        for name in everyone
    }
    return AllocationShares(namespaces, dict(sorted(known_buckets.items())), total)


def readable(quantities: Mapping[str, object] | None) -> dict[str, int]:
    """A ResourceList by counted name, without unreadable quantities and resources that are not divided."""
    found: dict[str, int] = {}
    for name, quantity in (quantities or {}).items():
        counted = counted_name(name)
        if counted:
            try:
                found[counted] = parse_counted(counted, quantity)
            except BadQuantity:
                continue
    return found


def _namespace(name: str, claim: Claim | None, record: AllocationRecord | None) -> AllocationShare:
    conditions = (*(claim.conditions if claim else ()), *(record.conditions if record else ()))
    hard, reserved = (record.hard, record.reserved) if record else ({}, {})
    if claim is not None:
        hard, reserved = claim.stated_hard, claim.stated_reserved
    return AllocationShare(
        name,
        parent=claim.parent if claim else "",
        weight=(claim.weight or None) if claim else None,
        deserved=readable(record.deserved) if record else NOTHING,
        allocated=readable(record.allocated) if record else NOTHING,
        hard=readable(hard),
        reserved=readable(reserved),
        stated_hard=hard,
        stated_reserved=reserved,
        conditions=conditions,
        divided=record is not None,
    )


def _implied(name: str, below: Sequence[AllocationShare]) -> AllocationShare:
    """A bucket that Consumers name but that does not exist: the sum of its namespaces."""
    deserved, allocated = (summed(getattr(share, kind) for share in below) for kind in ("deserved", "allocated"))
    divided = any(share.divided for share in below)
    return AllocationShare(name, is_bucket=True, weight=1, deserved=deserved, allocated=allocated, divided=divided)


def _bucket(bucket: Bucket) -> AllocationShare:
    return AllocationShare(
        bucket.name,
        is_bucket=True,
        weight=bucket.weight,
        deserved=readable(bucket.deserved),
        allocated=readable(bucket.allocated),
        hard=bucket.hard,
        reserved=bucket.reserved,
        stated_hard=render_counted(bucket.hard),
        stated_reserved=render_counted(bucket.reserved),
        conditions=bucket.conditions,
        divided=bool(bucket.deserved),
    )

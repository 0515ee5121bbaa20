"""What ``vsched allocations`` knows of namespaces and buckets: read from the API server, and from a running daemon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

import msgspec
import orjson
from msgspec.structs import asdict, replace

from vsched.arbitrator.conditions import OVERUSED
from vsched.arbitrator.tree import all_buckets, parents_of, path
from vsched.cli.ask.cluster import allocatable_of_nodes, objects_of
from vsched.cli.ask.daemon import Target, asked, page_of
from vsched.errors import BadInput, BadObject, BadQuantity
from vsched.kube.client import ApiClient
from vsched.mirror import wire
from vsched.mirror.ingest.arbitration import allocation_of, bucket_of, claim_of
from vsched.mirror.resources import ALLOCATIONS, BUCKETS, CONSUMERS
from vsched.model.arbitration import DEFAULT_CONSUMER, AllocationRecord, Bucket, Claim, Told
from vsched.model.counted import NOTHING, Counted, counted_name, parse_counted, render_counted, summed

ABSENT = (
    "{resource} are not served by {server} (expected the definitions of the arbitrator to be installed, and"
    " `vsched run --arbitrate`)"
)


class Share(msgspec.Struct, frozen=True):
    """What a namespace or a bucket has of the cluster, as it is shown."""

    name: str
    is_bucket: bool = False
    parent: str = ""
    """The bucket that it is in, empty for none."""
    weight: int | None = None
    """None where it has none of its own."""
    deserved: Counted = NOTHING
    allocated: Counted = NOTHING
    hard: Counted = NOTHING
    """The limit in force where that is known, else the stated one."""
    reserved: Counted = NOTHING
    stated_hard: Mapping[str, str] = {}
    stated_reserved: Mapping[str, str] = {}
    ceiling: Counted = NOTHING
    """What it may hold for now; empty where nobody tells."""
    waiting: Counted = NOTHING
    conditions: tuple[Told, ...] = ()
    """Of the Consumer and the Allocation, or of the Bucket."""
    divided: bool = True
    """Whether anybody has said yet what it deserves."""

    @property
    def overused(self) -> Told | None:
        """The condition that says it holds more than it deserves while others are short; None where it does not."""
        return next((told for told in self.conditions if told.kind == OVERUSED and told.status == "True"), None)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say of it: a namespace of no bucket that has, wants and states nothing."""
        amounts = (self.deserved, self.allocated, self.waiting)
        held = any(value for one in amounts for value in one.values())
        return self.divided and not (
            held or self.is_bucket or self.parent or self.hard or self.reserved or self.problems
        )

    @property
    def problems(self) -> tuple[Told, ...]:
        """What is wrong with it."""
        return tuple(told for told in self.conditions if told.kind != OVERUSED and told.status == "False")


class DividedShare(msgspec.Struct, frozen=True):
    """The fields read of a namespace or bucket of ``/allocations``."""

    hard: Mapping[str, object] | None = None
    reserved: Mapping[str, object] | None = None
    ceiling: Mapping[str, object] | None = None
    waiting: Mapping[str, object] | None = None


class Division(msgspec.Struct, frozen=True):
    """The fields read of ``/allocations``."""

    namespaces: Mapping[str, DividedShare] = {}
    buckets: Mapping[str, DividedShare] = {}


class Shares(msgspec.Struct, frozen=True):
    """All namespaces and buckets, and what there is to share."""

    namespaces: Mapping[str, Share] = {}
    buckets: Mapping[str, Share] = {}
    total: Counted = NOTHING
    """Of all nodes; empty where we may not read them."""

    @property
    def all(self) -> list[Share]:
        """The namespaces, then the buckets."""
        return [*self.namespaces.values(), *self.buckets.values()]

    def named(self, names: Iterable[str]) -> list[Share]:
        """The namespaces and buckets of these names; raises BadInput where there is neither of a name."""
        found: list[Share] = []
        for name in names:
            shares = [kind[name] for kind in (self.namespaces, self.buckets) if name in kind]
            if not shares:
                close = get_close_matches(name, [*self.namespaces, *self.buckets], 1)
                meant = f"; did you mean {close[0]!r}?" if close else ""
                raise BadInput(f"no namespace and no bucket {name!r} has a share of the cluster{meant}")
            found += shares
        return found

    def below(self, bucket: str) -> list[Share]:
        """The namespaces of a bucket, by name; those without one for an empty name."""
        return [share for _, share in sorted(self.namespaces.items()) if share.parent == bucket]

    def inner(self, bucket: str) -> list[Share]:
        """The buckets in a bucket, by name; those that stand in none for an empty name."""
        return [share for _, share in sorted(self.buckets.items()) if share.parent == bucket]


def shares_of(
    claims: Iterable[Claim], records: Iterable[AllocationRecord], buckets: Iterable[Bucket], total: Counted = NOTHING
) -> Shares:
    """What the objects say. Of several Consumers in a namespace the oldest counts, and its namesake tells."""
    counting: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda claim: (claim.created, claim.name)):
        counting.setdefault(claim.namespace, claim)
    told: dict[str, AllocationRecord] = {}
    for record in records:
        known = counting.get(record.namespace)
        if record.name == (DEFAULT_CONSUMER if known is None else known.name):
            told[record.namespace] = record
    namespaces = {name: _namespace(name, counting.get(name), told.get(name)) for name in sorted({*counting, *told})}
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
    return Shares(namespaces, dict(sorted(known_buckets.items())), total)


async def read_shares(client: ApiClient, target: Target | None = None) -> Shares:
    """Every namespace and bucket; ``target`` is a daemon that is asked what may be held for now.

    Raises what the client and ``asked`` raise, and BadInput where the kinds are not served.
    """
    claims, records, buckets = [], [], []
    for kind, resource in (("Consumer", CONSUMERS), ("Allocation", ALLOCATIONS), ("Bucket", BUCKETS)):
        for obj in await objects_of(client, resource, ABSENT):
            found = wire.decode(kind, orjson.dumps(obj))
            match found:
                case wire.Consumer():
                    claims.append(_claim(found))
                case wire.Allocation():
                    records.append(allocation_of(found))
                case wire.Bucket():
                    buckets.append(_readable_bucket(found))
    shares = shares_of(claims, records, buckets, await _total(client))
    if target is None:
        return shares
    return _with_division(shares, await asked(target, division_of))


async def division_of(daemon: ApiClient) -> Division:
    """The last round of arbitration; empty where the leader makes none."""
    found: Division = await page_of(daemon, "/allocations", Division)
    return found


def readable(quantities: Mapping[str, object] | None) -> dict[str, int]:
    """A ResourceList by counted name, without what is no quantity or cannot be divided."""
    found: dict[str, int] = {}
    for name, quantity in (quantities or {}).items():
        counted = counted_name(name)
        if counted:
            try:
                found[counted] = parse_counted(counted, quantity)
            except BadQuantity:
                continue
    return found


def _namespace(name: str, claim: Claim | None, record: AllocationRecord | None) -> Share:
    conditions = (*(claim.conditions if claim else ()), *(record.conditions if record else ()))
    hard, reserved = (record.hard, record.reserved) if record else ({}, {})
    if claim is not None:
        hard, reserved = claim.stated_hard, claim.stated_reserved
    return Share(
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


def _implied(name: str, below: Sequence[Share]) -> Share:
    """A bucket that is only named, by what is known of the namespaces in it."""
    deserved, allocated = (summed(getattr(share, kind) for share in below) for kind in ("deserved", "allocated"))
    divided = any(share.divided for share in below)
    return Share(name, is_bucket=True, weight=1, deserved=deserved, allocated=allocated, divided=divided)


def _bucket(bucket: Bucket) -> Share:
    return Share(
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


def _claim(found: wire.Consumer) -> Claim:
    """A Consumer; one that cannot be read stands for one that states nothing, with what is wrong with it."""
    try:
        return claim_of(found)
    except BadObject as error:
        metadata = found.metadata
        problem = Told("Accepted", "False", "Invalid", str(error))
        return Claim(metadata.namespace or "default", metadata.name, conditions=(problem,))


def _readable_bucket(found: wire.Bucket) -> Bucket:
    try:
        return bucket_of(found)
    except BadObject as error:
        return Bucket(found.metadata.name, conditions=(Told("Accepted", "False", "Invalid", str(error)),))


async def _total(client: ApiClient) -> Counted:
    """What all nodes have together; nothing where we may not read them."""
    return summed(map(readable, await allocatable_of_nodes(client)))


def _with_division(shares: Shares, division: Division) -> Shares:
    """The shares with the limits in force, the ceilings and the waiting amounts that a daemon knows."""

    def updated(known: Mapping[str, Share], pages: Mapping[str, DividedShare]) -> dict[str, Share]:
        return {name: replace(share, **_amounts_of(pages.get(name))) for name, share in known.items()}

    return replace(
        shares,
        namespaces=updated(shares.namespaces, division.namespaces),
        buckets=updated(shares.buckets, division.buckets),
    )


def _amounts_of(page: DividedShare | None) -> dict[str, Counted]:
    return {} if page is None else {name: readable(quantities) for name, quantities in asdict(page).items()}

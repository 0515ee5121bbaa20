"""The data of ``vsched allocations``: objects read from the API server and, where asked, a page of a daemon."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import orjson
from msgspec.structs import asdict, replace

from vsched import api
from vsched.api.resources import ALLOCATIONS, BUCKETS, CONSUMERS
from vsched.cli.allocations import words
from vsched.cli.allocations.shares import AllocationShare, AllocationShares, readable, shares_of
from vsched.cli.ask.cluster import allocatable_of_nodes, objects_of
from vsched.cli.ask.daemon import answer_if_any
from vsched.client.daemon import DaemonClient, decoded
from vsched.client.target import DaemonTarget
from vsched.errors import BadObject
from vsched.kube.client import ApiClient
from vsched.mirror.ingest.arbitration import allocation_of, bucket_of, claim_of
from vsched.model.amounts.counted import Counted, summed
from vsched.model.arbitration.records import ArbitrationCondition, Bucket, Claim


class DividedShare(msgspec.Struct, frozen=True):
    """The fields read of a namespace or bucket of ``/allocations``."""

    hard: Mapping[str, object] | None = None
    reserved: Mapping[str, object] | None = None
    ceiling: Mapping[str, object] | None = None
    waiting: Mapping[str, object] | None = None


class AllocationsPage(msgspec.Struct, frozen=True):
    """The fields read of ``/allocations``."""

    namespaces: Mapping[str, DividedShare] = {}
    buckets: Mapping[str, DividedShare] = {}


async def read_shares(client: ApiClient, target: DaemonTarget | None = None) -> AllocationShares:
    """Every namespace and bucket; a daemon as ``target`` adds the limits in force and what may be used for now.

    Raises as the client and ``answer_if_any`` do, and BadInput where the server does not know the resources.
    """
    claims, records, buckets = [], [], []
    for kind, resource in (("Consumer", CONSUMERS), ("Allocation", ALLOCATIONS), ("Bucket", BUCKETS)):
        for obj in await objects_of(client, resource, words.are_not_served):
            found = api.decode(kind, orjson.dumps(obj))
            match found:
                case api.Consumer():
                    claims.append(_claim(found))
                case api.Allocation():
                    records.append(allocation_of(found))
                case api.Bucket():
                    buckets.append(_readable_bucket(found))
    shares = shares_of(claims, records, buckets, await _total(client))
    division = await answer_if_any(target, division_of)
    return shares if division is None else _with_division(shares, division)


async def division_of(daemon: DaemonClient) -> AllocationsPage:
    """The last round of arbitration of a daemon; empty where the leader does not arbitrate."""
    found: AllocationsPage = decoded(daemon.server, await daemon.allocations(), AllocationsPage)
    return found


def _claim(found: api.Consumer) -> Claim:
    """A Consumer; an unreadable one becomes a claim that states nothing and has a condition with the problem."""
    try:
        return claim_of(found)
    except BadObject as error:
        metadata = found.metadata
        problem = ArbitrationCondition("Accepted", "False", "Invalid", str(error))
        return Claim(metadata.namespace or "default", metadata.name, conditions=(problem,))


def _readable_bucket(found: api.Bucket) -> Bucket:
    try:
        return bucket_of(found)
    except BadObject as error:
        return Bucket(
            found.metadata.name, conditions=(ArbitrationCondition("Accepted", "False", "Invalid", str(error)),)
        )


async def _total(client: ApiClient) -> Counted:
    """The sum over all nodes; empty where we may not read them."""
    return summed(map(readable, await allocatable_of_nodes(client)))


def _with_division(shares: AllocationShares, division: AllocationsPage) -> AllocationShares:
    """The shares with the limits in force, the ceilings and the waiting amounts that a daemon knows."""

    def updated(known: Mapping[str, AllocationShare], pages: Mapping[str, DividedShare]) -> dict[str, AllocationShare]:
        return {name: replace(share, **_amounts_of(pages.get(name))) for name, share in known.items()}

    return replace(
        shares,
        namespaces=updated(shares.namespaces, division.namespaces),
        buckets=updated(shares.buckets, division.buckets),
    )


def _amounts_of(page: DividedShare | None) -> dict[str, Counted]:
    return {} if page is None else {name: readable(quantities) for name, quantities in asdict(page).items()}

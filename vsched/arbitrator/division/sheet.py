"""What all namespaces and buckets hold, want and may have, as arrays: a row a namespace, a column a resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from vsched.arbitrator.tree import all_buckets, parent_of, parents_of, path
from vsched.kernels.dominant import LARGEST
from vsched.model.amounts.counted import LIMITS, NOTHING, Counted, is_storage, lesser
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Arbitration, Bucket, NamespaceAccount
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.snapshot import Snapshot


class Group(NamedTuple):
    """A bucket and what is in it; amounts are ``int64[resource]``."""

    bucket: Bucket
    limit: Counted
    """Its own and those of the buckets above it, whichever is tightest; as numbers in ``hard``."""
    rows: Ints
    """The namespaces that name it."""
    groups: list[int]
    """The buckets that name it, by their numbers, which are larger than its own."""
    below: Ints
    """All namespaces in it, at whatever level."""
    path: list[int]
    """It and the buckets above it."""
    hard: Ints
    """``LARGEST`` where there is no limit."""
    reserved: Ints


class Sheet(NamedTuple):
    """Tables are ``int64[namespace, resource]``; no amount is larger than ``LARGEST``."""

    columns: dict[str, int]
    """By counted name, in order."""
    known: Mask
    """bool[resource]: of which there is a total."""
    total: Ints
    """int64[resource]; 0 where it is not known."""
    parties: list[NamespaceAccount]
    """One a row, by name."""
    system: Ints
    """The row of ``kube-system``, or no row."""
    alone: Ints
    """Rows of the others that are in no bucket."""
    groups: list[Group]
    """A bucket stands after the one that it is in. Buckets that are only named are among them."""
    outer: list[int]
    """Numbers of those that are in no other."""
    parents: dict[str, str]
    """The bucket that each is in, empty for none."""
    limits: list[Counted]
    """The limits in force, by row; as numbers in ``limit``."""
    reservations: list[Counted]
    """As stated, by row; as numbers in ``reserved``."""
    weights: Floats
    kept: Ints
    requested: Ints
    limit: Ints
    """``LARGEST`` where there is none."""
    reserved: Ints


def known_totals(snapshot: Snapshot, arbitration: Arbitration) -> dict[str, int]:
    """How much there is, of what that is known: resources of nodes, and storage."""
    # The axis may have grown since the snapshot was taken.
    return dict(zip(snapshot.axis.names, snapshot.total, strict=False)) | dict(arbitration.storage)


def lay_out(snapshot: Snapshot, arbitration: Arbitration) -> Sheet:
    """Everything that is divided and everybody who takes part."""
    parties = [arbitration.parties[name] for name in sorted(arbitration.parties)]
    buckets = all_buckets(arbitration.buckets, parties)
    parents = parents_of(buckets)
    in_force = {name: _in_force(name, buckets, parents) for name in buckets}
    limits = [_limit(party, in_force) for party in parties]
    reserved = [_reserved(party) for party in parties]
    held, waiting = [party.held for party in parties], [party.waiting for party in parties]
    of_buckets = [amounts for bucket in buckets.values() for amounts in (bucket.hard, bucket.reserved)]
    known = known_totals(snapshot, arbitration)
    unknown = set().union(*held, *waiting, *limits, *reserved, *of_buckets) - known.keys()
    # What no node has, but nodes could have, is divided as well: there is none of it.
    known |= dict.fromkeys(sorted(name for name in unknown if name not in LIMITS and not is_storage(name)), 0)
    columns = {name: column for column, name in enumerate([*known, *sorted(unknown - known.keys())])}
    members: dict[str, list[int]] = {"": []}
    system: list[int] = []
    for row, party in enumerate(parties):
        (system if party.namespace == SYSTEM_NAMESPACE else members.setdefault(parent_of(party), [])).append(row)
    groups = _groups(buckets, parents, in_force, members, columns)
    kept = _table(held, columns) - _table([party.leaving for party in parties], columns)
    return Sheet(
        columns=columns,
        known=np.arange(len(columns)) < len(known),
        total=_table([known], columns)[0],
        parties=parties,
        system=_rows(system),
        alone=_rows(members[""]),
        groups=groups,
        outer=[number for number, group in enumerate(groups) if len(group.path) == 1],
        parents=parents,
        limits=limits,
        reservations=reserved,
        weights=np.array([party.own_weight for party in parties], dtype=np.float64),
        kept=kept,
        requested=np.minimum(kept + _table(waiting, columns), LARGEST),
        limit=_table(limits, columns, LARGEST),
        reserved=_table(reserved, columns),
    )


def _in_force(name: str, buckets: Mapping[str, Bucket], parents: Mapping[str, str]) -> Counted:
    """The tightest of a bucket's limit and those of the buckets above it."""
    return reduce(lesser, (buckets[each].hard for each in path(name, parents)), NOTHING)


def _limit(party: NamespaceAccount, of_buckets: Mapping[str, Counted]) -> Counted:
    """The tightest of its own limit, that of its quotas and that of its bucket."""
    if party.namespace == SYSTEM_NAMESPACE:
        return NOTHING
    limit = lesser(party.claim.hard, party.quota) if party.claim is not None else party.quota
    return lesser(limit, of_buckets.get(parent_of(party), NOTHING))


def _reserved(party: NamespaceAccount) -> Counted:
    return NOTHING if party.claim is None or party.namespace == SYSTEM_NAMESPACE else party.claim.reserved


def _groups(
    buckets: Mapping[str, Bucket],
    parents: Mapping[str, str],
    in_force: Mapping[str, Counted],
    members: Mapping[str, list[int]],
    columns: Mapping[str, int],
) -> list[Group]:
    paths = {name: path(name, parents) for name in buckets}
    order = sorted(buckets, key=lambda name: (len(paths[name]), name))
    numbers = {name: number for number, name in enumerate(order)}
    below: dict[str, list[int]] = {name: [] for name in order}
    inner: dict[str, list[int]] = {name: [] for name in order}
    for name in order:
        for each in paths[name]:
            below[each] += members.get(name, ())
        if parents[name]:
            inner[parents[name]].append(numbers[name])
    hard = _table([in_force[name] for name in order], columns, LARGEST)
    reserved = _table([buckets[name].reserved for name in order], columns)
    return [
        Group(
            buckets[name],
            in_force[name],
            _rows(members.get(name, [])),
            inner[name],
            _rows(sorted(below[name])),
            [numbers[each] for each in paths[name]],
            hard[number],
            reserved[number],
        )
        for number, name in enumerate(order)
    ]


def _rows(rows: list[int]) -> Ints:
    return np.array(rows, dtype=np.int64)


def _table(amounts: Sequence[Counted], columns: Mapping[str, int], default: int = 0) -> Ints:
    nothing = [default] * len(columns)
    rows = [[each.get(name, default) for name in columns] if each else nothing for each in amounts]
    try:
        table = np.array(rows, dtype=np.int64)
    except OverflowError:
        table = np.array([[min(amount, LARGEST) for amount in row] for row in rows], dtype=np.int64)
    return np.minimum(table, LARGEST).reshape(len(amounts), len(columns))

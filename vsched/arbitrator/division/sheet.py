"""The input of the division as arrays: what namespaces and buckets keep, request, reserve and are limited to.

Each namespace is a row, each resource a column.
"""

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


class BucketRows(NamedTuple):
    """A bucket with its namespaces and inner buckets; amounts are ``int64[resource]``."""

    bucket: Bucket
    limit: Counted
    """The tightest of its own limit and those of the buckets above it; ``hard`` has the same as numbers."""
    rows: Ints
    """Rows of the namespaces whose parent it is."""
    groups: list[int]
    """Numbers of the buckets whose parent it is; they are larger than its own number."""
    below: Ints
    """Rows of all namespaces in it, those in inner buckets included."""
    path: list[int]
    """Its own number and those of the buckets above it."""
    hard: Ints
    """``limit`` as numbers; ``LARGEST`` where there is no limit."""
    reserved: Ints


class Sheet(NamedTuple):
    """All inputs. Tables are ``int64[namespace, resource]``; no amount is larger than ``LARGEST``."""

    columns: dict[str, int]
    """Column number by counted name, in order."""
    known: Mask
    """bool[resource]: whether the total of the resource is known."""
    total: Ints
    """int64[resource]; 0 where the total is not known."""
    accounts: list[NamespaceAccount]
    """One account a row, sorted by name."""
    system: Ints
    """The row of ``kube-system``, or no row."""
    alone: Ints
    """Rows of the other namespaces that are in no bucket."""
    groups: list[BucketRows]
    """All buckets, each after its parent. Buckets that exist only as a name in other objects are included."""
    outer: list[int]
    """Numbers of the buckets without a parent."""
    parents: dict[str, str]
    """The parent of each bucket by name, empty for none."""
    limits: list[Counted]
    """The limits in force, by row; ``limit`` has the same as numbers."""
    reservations: list[Counted]
    """The stated reservations, by row; ``reserved`` has the same as numbers."""
    weights: Floats
    used: Ints
    requested: Ints
    limit: Ints
    """``LARGEST`` where there is none."""
    reserved: Ints


def known_totals(snapshot: Snapshot, arbitration: Arbitration) -> dict[str, int]:
    """The totals that are known: resources of nodes, and storage."""
    # The axis may have grown since the snapshot was taken.
    return dict(zip(snapshot.axis.names, snapshot.total, strict=False)) | dict(arbitration.storage)


def lay_out(snapshot: Snapshot, arbitration: Arbitration) -> Sheet:
    """Build the sheet: everything that is divided, and every namespace and bucket that gets a part."""
    accounts = [arbitration.parties[name] for name in sorted(arbitration.parties)]
    buckets = all_buckets(arbitration.buckets, accounts)
    parents = parents_of(buckets)
    in_force = {name: _in_force(name, buckets, parents) for name in buckets}
    limits = [_limit(account, in_force) for account in accounts]
    reserved = [_reserved(account) for account in accounts]
    held, waiting = [account.held for account in accounts], [account.waiting for account in accounts]
    of_buckets = [amounts for bucket in buckets.values() for amounts in (bucket.hard, bucket.reserved)]
    known = known_totals(snapshot, arbitration)
    unknown = set().union(*held, *waiting, *limits, *reserved, *of_buckets) - known.keys()
    # A resource that nodes could have but none has is divided as well, with a total of 0.
    known |= dict.fromkeys(sorted(name for name in unknown if name not in LIMITS and not is_storage(name)), 0)
    columns = {name: column for column, name in enumerate([*known, *sorted(unknown - known.keys())])}
    members: dict[str, list[int]] = {"": []}
    system: list[int] = []
    for row, account in enumerate(accounts):
        (system if account.namespace == SYSTEM_NAMESPACE else members.setdefault(parent_of(account), [])).append(row)
    groups = _groups(buckets, parents, in_force, members, columns)
    kept = _table(held, columns) - _table([account.leaving for account in accounts], columns)
    return Sheet(
        columns=columns,
        known=np.arange(len(columns)) < len(known),
        total=_table([known], columns)[0],
        accounts=accounts,
        system=_rows(system),
        alone=_rows(members[""]),
        groups=groups,
        outer=[number for number, group in enumerate(groups) if len(group.path) == 1],
        parents=parents,
        limits=limits,
        reservations=reserved,
        weights=np.array([account.own_weight for account in accounts], dtype=np.float64),
        used=kept,
        requested=np.minimum(kept + _table(waiting, columns), LARGEST),
        limit=_table(limits, columns, LARGEST),
        reserved=_table(reserved, columns),
    )


def _in_force(name: str, buckets: Mapping[str, Bucket], parents: Mapping[str, str]) -> Counted:
    """The tightest of a bucket's limit and those of the buckets above it."""
    return reduce(lesser, (buckets[each].hard for each in path(name, parents)), NOTHING)


def _limit(account: NamespaceAccount, of_buckets: Mapping[str, Counted]) -> Counted:
    """The tightest of the limits of a namespace: its Consumer's, its ResourceQuotas' and its bucket's."""
    if account.namespace == SYSTEM_NAMESPACE:
        return NOTHING
    limit = lesser(account.claim.hard, account.quota) if account.claim is not None else account.quota
    return lesser(limit, of_buckets.get(parent_of(account), NOTHING))


def _reserved(account: NamespaceAccount) -> Counted:
    return NOTHING if account.claim is None or account.namespace == SYSTEM_NAMESPACE else account.claim.reserved


def _groups(
    buckets: Mapping[str, Bucket],
    parents: Mapping[str, str],
    in_force: Mapping[str, Counted],
    members: Mapping[str, list[int]],
    columns: Mapping[str, int],
) -> list[BucketRows]:
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
        BucketRows(
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

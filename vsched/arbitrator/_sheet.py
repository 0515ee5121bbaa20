"""What all namespaces and buckets hold, want and may have, as arrays: a row a namespace, a column a resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.dominant import LARGEST
from vsched.model.arbitration import SYSTEM_NAMESPACE, Arbitration, Bucket, Party
from vsched.model.counted import LIMITS, NOTHING, Counted, is_storage, lesser
from vsched.model.nodes import Floats, Ints, Mask
from vsched.model.snapshot import Snapshot


class Group(NamedTuple):
    """A bucket and the namespaces in it; amounts are ``int64[resource]``."""

    bucket: Bucket
    rows: Ints
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
    parties: list[Party]
    """One a row, by name."""
    system: Ints
    """The row of ``kube-system``, or no row."""
    alone: Ints
    """Rows of the others that are in no bucket."""
    groups: list[Group]
    """By name; buckets that only Consumers name are among them."""
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
    buckets = _buckets(parties, arbitration.buckets)
    limits = [_limit(party, buckets) for party in parties]
    reserved = [_reserved(party) for party in parties]
    held, waiting = [party.held for party in parties], [party.waiting for party in parties]
    of_buckets = [amounts for bucket in buckets.values() for amounts in (bucket.hard, bucket.reserved)]
    known = known_totals(snapshot, arbitration)
    unknown = set().union(*held, *waiting, *limits, *reserved, *of_buckets) - known.keys()
    # What no node has, but nodes could have, is divided as well: there is none of it.
    known |= dict.fromkeys(sorted(name for name in unknown if name not in LIMITS and not is_storage(name)), 0)
    columns = {name: column for column, name in enumerate([*known, *sorted(unknown - known.keys())])}
    members: dict[str, list[int]] = {"": [], **{name: [] for name in sorted(buckets)}}
    system: list[int] = []
    for row, party in enumerate(parties):
        (system if party.namespace == SYSTEM_NAMESPACE else members[_parent(party)]).append(row)
    kept = _table(held, columns) - _table([party.leaving for party in parties], columns)
    return Sheet(
        columns=columns,
        known=np.arange(len(columns)) < len(known),
        total=_table([known], columns)[0],
        parties=parties,
        system=_rows(system),
        alone=_rows(members.pop("")),
        groups=[_group(buckets[name], rows, columns) for name, rows in members.items()],
        limits=limits,
        reservations=reserved,
        weights=np.array([party.own_weight for party in parties], dtype=np.float64),
        kept=kept,
        requested=np.minimum(kept + _table(waiting, columns), LARGEST),
        limit=_table(limits, columns, LARGEST),
        reserved=_table(reserved, columns),
    )


def _parent(party: Party) -> str:
    """The bucket it is in, empty for none."""
    return party.claim.parent if party.claim is not None and party.namespace != SYSTEM_NAMESPACE else ""


def _buckets(parties: Iterable[Party], stated: Mapping[str, Bucket]) -> dict[str, Bucket]:
    """Buckets by name; one that is named but not there has no limits, no reservation, and weight 1."""
    named = {parent for party in parties if (parent := _parent(party))}
    return {name: Bucket(name) for name in named} | dict(stated)


def _limit(party: Party, buckets: Mapping[str, Bucket]) -> Counted:
    """The tightest of its own limit, that of its quotas and that of its bucket."""
    if party.namespace == SYSTEM_NAMESPACE:
        return NOTHING
    limit = lesser(party.claim.hard, party.quota) if party.claim is not None else party.quota
    parent = _parent(party)
    return lesser(limit, buckets[parent].hard) if parent else limit


def _reserved(party: Party) -> Counted:
    return NOTHING if party.claim is None or party.namespace == SYSTEM_NAMESPACE else party.claim.reserved


def _group(bucket: Bucket, rows: list[int], columns: Mapping[str, int]) -> Group:
    hard, reserved = _table([bucket.hard], columns, LARGEST)[0], _table([bucket.reserved], columns)[0]
    return Group(bucket, _rows(rows), hard, reserved)


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

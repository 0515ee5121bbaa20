"""What each namespace and bucket deserves of the cluster, and how much more it may hold for now.

The cluster is divided level by level. First it is divided among the outer buckets and the namespaces in no bucket. Then
the part of each bucket is divided among its namespaces and inner buckets. ``kube-system`` comes first and deserves what
it requests. Reservations are floors of what is deserved, limits are ceilings. In between, weighted dominant shares are
made as equal as the requests allow (``vsched.kernels.dominant``).
"""

from __future__ import annotations

from itertools import compress
from typing import NamedTuple

import numpy as np

from vsched.arbitrator.division.lending import DivisionCeilings, most_for_now
from vsched.arbitrator.division.sheet import Sheet, known_totals, lay_out
from vsched.arbitrator.tree import parent_of
from vsched.kernels.dominant import LARGEST, DemandTable, column_sums, cut_to_fit, progressive_fill
from vsched.model.amounts.counted import NOTHING, Counted
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Award, Division
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.snapshot import Snapshot


class DivisionShares(NamedTuple):
    """What one division gives: tables ``int64[namespace or bucket, resource]``."""

    deserved: Ints
    floors: Ints
    """Reservations in force."""


def divide(snapshot: Snapshot) -> Division:
    """What every namespace and bucket deserves and may hold; no entries when the snapshot has no arbitration.

    Amounts are whole base units. Their sums exceed neither the cluster's total nor, inside a bucket, the bucket's part.
    No namespace deserves less than its floor in force, more than its limit, or more than its request (or its floor, if
    that is larger).
    """
    arbitration = snapshot.arbitration
    if arbitration is None:
        return Division({}, {}, dict(zip(snapshot.axis.names, snapshot.total, strict=False)))
    sheet = lay_out(snapshot, arbitration)
    namespaces, buckets = _share_out(sheet)
    most = most_for_now(sheet, snapshot, namespaces.deserved, buckets.deserved)
    return Division(
        _namespace_awards(sheet, namespaces, most),
        _bucket_awards(sheet, buckets, most),
        known_totals(snapshot, arbitration),
        _amounts(sheet, most.spare, sheet.known),
        sheet.parents,
    )


def _share_out(sheet: Sheet) -> tuple[DivisionShares, DivisionShares]:
    """The shares of namespaces, and the shares of buckets."""
    demand, floors = np.minimum(sheet.requested, sheet.limit), np.minimum(sheet.reserved, sheet.limit)
    deserved = np.maximum(demand, floors)  # final for a resource that has neither a total nor a bucket
    clipped = np.where(sheet.known, np.minimum(deserved, sheet.total), deserved)
    deserved[sheet.system] = clipped[sheet.system]
    left = sheet.total - column_sums(deserved[sheet.system])
    wants, stated = _buckets(sheet, deserved, floors)
    parts = DivisionShares(np.zeros_like(wants), np.zeros_like(stated))

    def deal(rows: Ints, groups: list[int], bounded: Mask, capacity: Ints, total: Ints) -> None:
        weights = [float(max(1, sheet.groups[number].bucket.weight)) for number in groups]
        dealt = _deal(
            bounded,
            capacity,
            total,
            np.concatenate([sheet.weights[rows], weights]),
            np.concatenate([demand[rows], wants[groups]]),
            np.concatenate([floors[rows], stated[groups]]),
        )
        size = len(rows)
        deserved[rows], floors[rows] = dealt.deserved[:size], dealt.floors[:size]
        parts.deserved[groups], parts.floors[groups] = dealt.deserved[size:], dealt.floors[size:]

    deal(sheet.alone, sheet.outer, sheet.known, left, sheet.total)
    for number, group in enumerate(sheet.groups):
        # A resource without a known total is divided inside a bucket that limits it.
        total = np.where(sheet.known, sheet.total, group.hard)
        deal(group.rows, group.groups, sheet.known | (group.hard < LARGEST), parts.deserved[number], total)
    return DivisionShares(deserved, floors), parts


def _buckets(sheet: Sheet, aims: Ints, floors: Ints) -> tuple[Ints, Ints]:
    """The demand of buckets (what their members could get) and their floors: ``int64[bucket, resource]`` each."""
    shape = (len(sheet.groups), len(sheet.total))
    demand, stated = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for number, group in reversed(list(enumerate(sheet.groups))):
        inner = np.maximum(demand[group.groups], stated[group.groups])
        wanted = np.concatenate([aims[group.rows], inner])
        kept = np.concatenate([floors[group.rows], stated[group.groups]])
        demand[number] = np.minimum(column_sums(wanted), group.hard)
        stated[number] = np.minimum(np.maximum(group.reserved, column_sums(kept)), group.hard)
    return demand, stated


def _deal(bounded: Mask, capacity: Ints, total: Ints, weights: Floats, demand: Ints, floors: Ints) -> DivisionShares:
    """Divide one level. Only ``bounded`` resources are divided; of the others each member gets what it requests."""
    deserved, fitting = np.maximum(demand, floors), floors.copy()
    fitting[:, bounded] = cut_to_fit(floors[:, bounded], capacity[bounded])
    wants = DemandTable(weights, demand[:, bounded], fitting[:, bounded])
    deserved[:, bounded] = progressive_fill(capacity[bounded], total[bounded], wants)
    return DivisionShares(deserved, fitting)


def _namespace_awards(sheet: Sheet, shares: DivisionShares, most: DivisionCeilings) -> dict[str, Award]:
    concerned = sheet.known | (np.maximum(sheet.requested, shares.deserved) > 0) | (sheet.limit < LARGEST)
    deserved = _named(sheet, shares.deserved, concerned)
    ceilings = _named(sheet, most.namespaces, most.namespaces < LARGEST)
    own = _named(sheet, most.own, most.own > 0)
    shared = {
        row: {name: value for name, value in group.limit.items() if not sheet.known[sheet.columns[name]]}
        for group in sheet.groups
        for row in group.rows.tolist()
    }
    awards = {}
    for row, account in enumerate(sheet.accounts):
        ceiling = NOTHING if account.namespace == SYSTEM_NAMESPACE else ceilings[row]
        reserved, cut = _floors(sheet, sheet.reservations[row], shares.floors[row])
        awards[account.namespace] = Award(
            deserved[row],
            ceiling,
            sheet.limits[row],
            reserved,
            cut,
            own[row],
            parent=parent_of(account),
            shared=shared.get(row, NOTHING),
        )
    return awards


def _bucket_awards(sheet: Sheet, shares: DivisionShares, most: DivisionCeilings) -> dict[str, Award]:
    hard = np.array([group.hard for group in sheet.groups], dtype=np.int64).reshape(shares.deserved.shape)
    deserved = _named(sheet, shares.deserved, sheet.known | (shares.deserved > 0) | (hard < LARGEST))
    ceilings = _named(sheet, most.buckets, most.buckets < LARGEST)
    spare = _named(sheet, most.of_buckets, hard < LARGEST)
    awards = {}
    for number, group in enumerate(sheet.groups):
        reserved, cut = _floors(sheet, group.bucket.reserved, shares.floors[number])
        awards[group.bucket.name] = Award(
            deserved[number], ceilings[number], group.limit, reserved, cut, spare=spare[number]
        )
    return dict(sorted(awards.items()))


def _amounts(sheet: Sheet, row: Ints, concerned: Mask) -> dict[str, int]:
    return _named(sheet, row[None], concerned[None])[0]


def _named(sheet: Sheet, table: Ints, concerned: Mask) -> list[dict[str, int]]:
    """Each row as amounts by counted name, without the resources that do not concern it."""
    names = list(sheet.columns)
    if concerned.all():
        return [dict(zip(names, row, strict=True)) for row in table.tolist()]
    rows = zip(table.tolist(), concerned.tolist(), strict=True)
    return [dict(compress(zip(names, row, strict=True), chosen)) for row, chosen in rows]


def _floors(sheet: Sheet, stated: Counted, floors: Ints) -> tuple[Counted, Counted]:
    """The floors in force for a stated reservation, and by how much they were cut."""
    if not stated:
        return NOTHING, NOTHING
    reserved = {name: int(floors[sheet.columns[name]]) for name in stated}
    return reserved, {name: amount - reserved[name] for name, amount in stated.items() if amount > reserved[name]}

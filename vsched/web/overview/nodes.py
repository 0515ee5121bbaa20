"""Nodes in an overview: their allocation, measured usage, and whether new pods may go there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from vsched.kernels.topology.tiers import tiers_of
from vsched.model.amounts.resources import PODS
from vsched.model.nodes.groups import group_of, rack_of
from vsched.model.nodes.table import NO_DOMAIN, Floats, Ints, NodeAttributes, NodeTable
from vsched.model.nodes.usage import DEFAULT_PERIOD, STALE_SECONDS, UsageColumn
from vsched.model.plan import Bind
from vsched.model.snapshot import Snapshot
from vsched.model.topology.tiers import LabelTier
from vsched.web.overview.document import NodeRow

UNFIT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints of nodes that cannot run anything."""
KEEPS_OUT = ("NoSchedule", "NoExecute")
MOST_NODES = 10_000

Rows = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


class NodeAllocation(NamedTuple):
    """What is allocated once the bindings of a session are carried out."""

    by_node: Ints
    """int64[resource, node]."""
    total: list[int]
    """By column."""


def held_after(snapshot: Snapshot, binds: Iterable[Bind]) -> NodeAllocation:
    """The allocation of nodes, with the pods that the session has just placed."""
    table = snapshot.nodes
    held: Ints = table.allocatable - table.idle
    for bind in binds:
        job = snapshot.jobs.get(bind.job)
        task = job.tasks.get(bind.uid) if job is not None else None
        row = table.statics.row.get(bind.node)
        if task is not None and row is not None:
            for column, value in task.shape.request:
                held[column, row] += value
    return NodeAllocation(held, [int(value) for value in held.sum(axis=1)])


def node_rows(
    snapshot: Snapshot,
    held: NodeAllocation,
    columns: Sequence[int],
    label_tiers: Sequence[LabelTier],
    most: int,
) -> dict[str, NodeRow]:
    """Nodes by name: all of them, or ``most`` that stand for all."""
    table = snapshot.nodes
    statics = table.statics
    shown: Rows = statics.remember(("web", "shown", most), lambda: shown_rows(statics.attributes, most))
    standings: list[tuple[str, str]] = statics.remember(
        ("web", "standings", most), lambda: [standing(statics.attributes[row]) for row in shown.tolist()]
    )
    parts = zip(
        *(per_cent(held.by_node[column][shown], table.allocatable[column][shown]) for column in columns), strict=True
    )
    cpu, memory = used(table, snapshot.now, shown)
    pods: list[int] = held.by_node[PODS][shown].tolist()
    names = [statics.names[row] for row in shown.tolist()]
    described = zip(names, parts, cpu, memory, pods, standings, _racks(snapshot, label_tiers, shown), strict=True)
    return {
        name: NodeRow(name, allocated, cpu_usage, memory_usage, count, state, group, rack)
        for name, allocated, cpu_usage, memory_usage, count, (state, group), rack in described
    }


def _racks(snapshot: Snapshot, label_tiers: Sequence[LabelTier], rows: Rows) -> list[str]:
    """The closest domains of these rows; where nothing says what is close, what their labels call racks."""
    statics = snapshot.nodes.statics
    tiers = tiers_of(snapshot.topology, label_tiers, statics)
    if tiers.is_flat:
        return statics.remember(
            ("web", "racks", len(rows)), lambda: [rack_of(statics.attributes[row].labels) for row in rows.tolist()]
        )
    closest = tiers.tiers[0]
    return ["" if at == NO_DOMAIN else closest.domains[at] for at in closest.ids[rows].tolist()]


def shown_rows(attributes: Sequence[NodeAttributes], most: int) -> Rows:
    """``intp[shown]``: the rows of nodes that are shown, in order.

    Of more than ``most`` these are nodes that are out of order, and a sample of the others by a hash of their names: it
    has nodes of all kinds, and stays nearly the same while nodes come and go.
    """
    if len(attributes) <= most:
        return np.arange(len(attributes))
    rank = [
        (not (node.unschedulable or any(taint.key in UNFIT for taint in node.taints)), crc32(node.name.encode()), row)
        for row, node in enumerate(attributes)
    ]
    return np.array(sorted(row for _, _, row in sorted(rank)[:most]), dtype=np.intp)


def per_cent(held: Ints, total: Ints) -> list[int | None]:
    """Whole per cents, at least 1 for anything above zero, and 100 only for all; None where the total is zero."""
    parts = held * 100 // np.maximum(total, 1)
    parts = np.where((parts == 0) & (held > 0), 1, parts)
    return [part if has else None for part, has in zip(parts.tolist(), (total > 0).tolist(), strict=True)]


def used(table: NodeTable, now: float, rows: Rows) -> tuple[list[int | None], list[int | None]]:
    """Measured cpu and memory of these rows in per cent; None where unknown or too old."""
    unknown: list[int | None] = [None] * len(rows)
    if table.usage is None:
        return unknown, unknown
    fresh = now - table.usage.measured <= STALE_SECONDS
    cpu, memory = (_averages(by_period, fresh, rows) for by_period in (table.usage.cpu, table.usage.memory))
    return cpu or unknown, memory or unknown


def _averages(
    by_period: dict[str, UsageColumn], fresh: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], rows: Rows
) -> list[int | None]:
    """Averages over the default period, else over the first one; empty without any."""
    if not by_period:
        return []
    column = by_period.get(DEFAULT_PERIOD) or by_period[min(by_period)]
    figures: Floats = np.where(fresh, column.average, np.nan)[rows]
    return [None if figure != figure else round(figure) for figure in figures.tolist()]


def standing(node: NodeAttributes) -> tuple[str, str]:
    """State and group of a node, as overviews show them."""
    group = group_of(node.labels)
    if any(taint.key in UNFIT for taint in node.taints):
        return "notready", group
    if node.unschedulable:
        return "cordoned", group
    return "tainted" if any(taint.effect in KEEPS_OUT for taint in node.taints) else "", group

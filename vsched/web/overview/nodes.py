"""Nodes in an overview: their allocation, measured usage, and whether new pods may go there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.amounts.resources import PODS
from vsched.model.nodes.groups import group_of
from vsched.model.nodes.table import Floats, Ints, NodeAttributes, NodeTable
from vsched.model.nodes.usage import DEFAULT_PERIOD, STALE_SECONDS, UsageColumn
from vsched.model.plan import Bind
from vsched.model.snapshot import Snapshot
from vsched.web.overview.document import NodeRow

UNFIT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints of nodes that cannot run anything."""
KEEPS_OUT = ("NoSchedule", "NoExecute")


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


def node_rows(snapshot: Snapshot, held: NodeAllocation, columns: Sequence[int]) -> dict[str, NodeRow]:
    """Every node by name."""
    table = snapshot.nodes
    parts = zip(*(per_cent(held.by_node[column], table.allocatable[column]) for column in columns), strict=True)
    standings = table.statics.remember(
        ("web", "standings"), lambda: [standing(node) for node in table.statics.attributes]
    )
    cpu, memory = used(table, snapshot.now)
    pods: list[int] = held.by_node[PODS].tolist()
    described = zip(table.statics.names, parts, cpu, memory, pods, standings, strict=True)
    return {
        name: NodeRow(name, allocated, cpu_usage, memory_usage, count, *standing)
        for name, allocated, cpu_usage, memory_usage, count, standing in described
    }


def per_cent(held: Ints, total: Ints) -> list[int | None]:
    """Whole per cents, at least 1 for anything above zero, and 100 only for all; None where the total is zero."""
    parts = held * 100 // np.maximum(total, 1)
    parts = np.where((parts == 0) & (held > 0), 1, parts)
    return [part if has else None for part, has in zip(parts.tolist(), (total > 0).tolist(), strict=True)]


def used(table: NodeTable, now: float) -> tuple[list[int | None], list[int | None]]:
    """Measured cpu and memory in per cent; None where unknown or too old."""
    unknown: list[int | None] = [None] * len(table)
    if table.usage is None:
        return unknown, unknown
    fresh = now - table.usage.measured <= STALE_SECONDS
    cpu, memory = (_averages(by_period, fresh) for by_period in (table.usage.cpu, table.usage.memory))
    return cpu or unknown, memory or unknown


def _averages(
    by_period: dict[str, UsageColumn], fresh: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> list[int | None]:
    """Averages over the default period, else over the first one; empty without any."""
    if not by_period:
        return []
    column = by_period.get(DEFAULT_PERIOD) or by_period[min(by_period)]
    figures: Floats = np.where(fresh, column.average, np.nan)
    return [None if figure != figure else round(figure) for figure in figures.tolist()]


def standing(node: NodeAttributes) -> tuple[str, str]:
    """State and group of a node, as overviews show them."""
    group = group_of(node.labels)
    if any(taint.key in UNFIT for taint in node.taints):
        return "notready", group
    if node.unschedulable:
        return "cordoned", group
    return "tainted" if any(taint.effect in KEEPS_OUT for taint in node.taints) else "", group

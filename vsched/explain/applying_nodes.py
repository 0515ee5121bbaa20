"""A snapshot with nodes edited: attributes, amounts, or more of them, and the sums over all nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

import msgspec
import numpy as np

from vsched.errors import BadInput
from vsched.explain.edits import AddNodes, LabelNodes, NodeEdit, RemoveTaint, SetNodeAmount, Uncordon
from vsched.kernels.domains import HOSTNAME
from vsched.kernels.taints import passes
from vsched.model.nodes import Ints, NodeAttributes, NodeStatics, NodeTable
from vsched.model.snapshot import Snapshot
from vsched.model.usage import Column, UsageTable

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""The taint that a cordon puts on a node, and that goes with it."""


def edit_nodes(snapshot: Snapshot, edit: NodeEdit) -> Snapshot:
    """The snapshot with nodes edited; raises BadInput where there is no such node."""
    match edit:
        case AddNodes():
            return _enlarged(snapshot, edit)
        case SetNodeAmount():
            return _enriched(snapshot, edit)
        case Uncordon():
            return _described(snapshot, edit.nodes, _uncordoned)
        case RemoveTaint():
            return _described(snapshot, edit.nodes, lambda node: _untainted(node, edit))
        case LabelNodes():
            return _described(
                snapshot, edit.nodes, lambda node: msgspec.structs.replace(node, labels={**node.labels, **edit.labels})
            )


def row_of(snapshot: Snapshot, name: str) -> int:
    """The row of a node; raises BadInput where there is none."""
    row = snapshot.nodes.statics.row.get(name)
    if row is None:
        raise BadInput(f"node {name}: there is none of this name")
    return row


# -- attributes -------------------------------------------------------------------------------------------------------


def _described(snapshot: Snapshot, names: Sequence[str], edit: Callable[[NodeAttributes], NodeAttributes]) -> Snapshot:
    """The snapshot with the attributes of these nodes edited."""
    table = snapshot.nodes
    attributes = list(table.statics.attributes)
    for name in names:
        row = row_of(snapshot, name)
        attributes[row] = edit(attributes[row])
    return replace(snapshot, nodes=_table(table, NodeStatics(attributes)))


def _uncordoned(node: NodeAttributes) -> NodeAttributes:
    taints = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE)
    return msgspec.structs.replace(node, unschedulable=False, taints=taints)


def _untainted(node: NodeAttributes, edit: RemoveTaint) -> NodeAttributes:
    gone = (edit.key, edit.value, edit.effect)
    taints = tuple(taint for taint in node.taints if (taint.key, taint.value, taint.effect) != gone)
    return msgspec.structs.replace(node, taints=taints)


# -- amounts ----------------------------------------------------------------------------------------------------------


def _enriched(snapshot: Snapshot, edit: SetNodeAmount) -> Snapshot:
    row, column = row_of(snapshot, edit.node), snapshot.axis.find(edit.resource)
    if column is None or column >= snapshot.nodes.width:
        return snapshot
    nodes = _table(snapshot.nodes, snapshot.nodes.statics)
    more = edit.amount - int(nodes.allocatable[column, row])
    nodes.allocatable = nodes.allocatable.copy()
    nodes.allocatable[column, row] += more
    nodes.idle[column, row] += more
    total = list(snapshot.total)
    total[column] += more
    return replace(snapshot, nodes=nodes, total=total)


def _enlarged(snapshot: Snapshot, edit: AddNodes) -> Snapshot:
    like, old = row_of(snapshot, edit.like), snapshot.nodes
    names = list(islice(_free_names(old.statics, edit.like), edit.count))
    fresh = [_new(old.statics.attributes[like], name) for name in names]
    attributes = sorted((*old.statics.attributes, *fresh), key=lambda node: node.name)
    source = np.array([old.statics.row.get(node.name, -1) for node in attributes], dtype=np.intp)
    empty = source < 0

    def carried(amounts: Ints) -> Ints:
        found = amounts[:, source]
        found[:, empty] = 0
        return np.ascontiguousarray(found)

    allocatable = carried(old.allocatable)
    allocatable[:, empty] = old.allocatable[:, like, np.newaxis]
    idle = carried(old.idle)
    idle[:, empty] = allocatable[:, empty]
    nodes = NodeTable(
        old.axis,
        NodeStatics(attributes),
        allocatable,
        idle,
        carried(old.releasing),
        carried(old.pipelined),
        carried(old.requested),
        carried(old.scoring),
        None if old.usage is None else _used(old.usage, source),
    )
    more = (old.allocatable[:, like] * edit.count).tolist()
    total = [value + added for value, added in zip(snapshot.total, more, strict=True)]
    return replace(snapshot, nodes=nodes, total=total)


def _free_names(statics: NodeStatics, like: str) -> Iterator[str]:
    return (name for number in count(1) if (name := f"{like}-new-{number}") not in statics.row)


def _new(like: NodeAttributes, name: str) -> NodeAttributes:
    """A node of the same kind, empty and well."""
    labels = {**like.labels, HOSTNAME: name} if HOSTNAME in like.labels else like.labels
    taints = tuple(taint for taint in like.taints if not passes(taint))
    return NodeAttributes(name, labels, taints, False, {}, like.annotations)


def _used(usage: UsageTable, source: np.ndarray[tuple[int], np.dtype[np.intp]]) -> UsageTable:
    """What nodes really use by the new rows; nothing is known of new nodes."""
    known = np.where(source < 0, np.nan, 0.0)

    def column(found: Column) -> Column:
        return Column(found.average[source] + known, found.spread[source] + known)

    moved = np.full(len(usage.measured), -1, dtype=np.intp)
    for row, before in enumerate(source.tolist()):
        if before >= 0:
            moved[before] = row
    return UsageTable(
        usage.measured[source] + known,
        {period: column(found) for period, found in usage.cpu.items()},
        {period: column(found) for period, found in usage.memory.items()},
        usage.young._replace(rows=moved[usage.young.rows]),
    )


def _table(table: NodeTable, statics: NodeStatics) -> NodeTable:
    """A copy with these attributes."""
    copy = table.copy()
    copy.statics = statics
    return copy

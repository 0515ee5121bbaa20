"""Why a pod would fit on no node even if all nodes were empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.empty_nodes import rooms_if_empty, rows_open
from vsched.framework.points.nodes import Check
from vsched.framework.session import Session
from vsched.framework.words import nodes as words
from vsched.kernels.registering import awaited
from vsched.model.amounts.resources import format_amount
from vsched.model.nodes.table import Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

OPEN_TO_NONE = {
    Code.NODE_GROUP: words.IN_GROUP,
    Code.SPREAD: words.HAS_TOPOLOGY,
    Code.VOLUMES: words.REACHES_VOLUMES,
}
"""What no node does, where one check closes all; of other checks it is the node selector or affinity."""


class Lasting(NamedTuple):
    """One reason for which a pod fits on no node, and which lasts."""

    code: Code
    message: str
    resource: str = ""


def never_on_nodes(session: Session, task: Task) -> Lasting | None:
    """Why a pod would not fit on any node if all were empty; None where it may fit, or where there are no nodes."""
    open_rows, closing = rows_open(session, task)
    if not len(open_rows):
        return None
    if not open_rows.any():
        return _closed(closing)
    if not (rooms_if_empty(session, task.shape, open_rows) > 0).any():
        who = words.NO_NODE if open_rows.all() else words.none_of(int(open_rows.sum()))
        message = _too_large(session.nodes, task.shape, open_rows, who)
        if message:
            return Lasting(Code.RESOURCES, message, _beyond(session, task.shape, open_rows))
        return Lasting(Code.RESOURCES, words.has_not_everything(who))
    return None


def not_registered(session: Session, task: Task) -> str:
    """``1 node has not registered nvidia.com/gpu yet``, for resources of which no open node has enough; else empty."""
    open_rows, nodes = rows_open(session, task)[0], session.nodes
    lacking = _lacking(nodes, task, open_rows)
    return ", ".join(message for column in lacking if (message := unregistered(nodes, column, open_rows)))


def lacking_on_all(session: Session, task: Task) -> frozenset[str]:
    """The resources of which no node that is open to a pod has as much as it asks for."""
    names = session.nodes.axis.names
    return frozenset(names[column] for column in _lacking(session.nodes, task, rows_open(session, task)[0]))


def _lacking(nodes: NodeTable, task: Task, open_rows: Mask) -> Iterator[int]:
    for column, amount in task.shape.request:
        if int(nodes.allocatable[column][open_rows].max(initial=0)) < amount:
            yield column


def unregistered(nodes: NodeTable, column: int, among: Mask | None = None) -> str:
    """``1 node has not registered nvidia.com/gpu yet``; empty where every node (``among`` these) has registered it."""
    waited = awaited(nodes, column)
    count = int(np.count_nonzero(waited if among is None else waited & among))
    return words.not_registered(count, nodes.axis.names[column]) if count else ""


def _closed(closing: Sequence[Check]) -> Lasting:
    """Why no node is open: the one check that closes all nodes if there is one, else all checks with their counts."""
    alone = [check for check in closing if not check.passes.any() and check.code is not Code.NO_DEVICES]
    if alone:
        code, reason = alone[0].code, alone[0].reason
        tainted = code is Code.TAINTS
        what = words.said_of_nodes(reason, 1) if tainted else OPEN_TO_NONE.get(code, words.IS_SELECTED)
        return Lasting(code, words.closed_by(what, every=tainted))
    counts = Counter[str]()
    codes: dict[str, Code] = {}
    for check in closing:
        counts[check.reason] += int(np.count_nonzero(~check.passes))
        codes[check.reason] = check.code
    first = max(counts, key=lambda reason: (counts[reason], reason))
    return Lasting(codes[first], words.none_usable(sorted(counts.items(), key=lambda one: -one[1])))


def _too_large(nodes: NodeTable, shape: Shape, open_rows: Mask, who: str) -> str:
    """``no node has 16 cpu (largest: 8)``: requests larger than any node (of ``open_rows``) has; else empty."""
    parts = []
    for column, amount in shape.request:
        has = nodes.allocatable[column][open_rows]
        most = int(has.max(initial=0))
        if most < amount:
            name = nodes.axis.names[column]
            largest = format_amount(name, most) if most else ""
            parts.append(words.has_no(who, name, format_amount(name, amount), largest))
    return "; ".join(parts)


def _beyond(session: Session, shape: Shape, open_rows: Mask) -> str:
    """The name of the first requested resource of which no open node has enough."""
    nodes = session.nodes
    columns = (c for c, amount in shape.request if int(nodes.allocatable[c][open_rows].max(initial=0)) < amount)
    return nodes.axis.names[next(columns)]

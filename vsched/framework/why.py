"""Why no node takes a task: counts of nodes by reason, in the words people know from ``kubectl describe``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.node_points import Check
from vsched.model.nodes import Ints, NodeTable
from vsched.model.resources import PODS, Amounts
from vsched.model.shape import Shape


class Explanation(NamedTuple):
    """Counts of nodes by reason, and the sentence made of them."""

    message: str
    reasons: Mapping[str, int]
    """A node that fails on several resources counts for each; otherwise a node counts once."""


def insufficient(nodes: NodeTable, column: int) -> str:
    """The reason for a node without enough of a resource."""
    return "Too many pods" if column == PODS else f"Insufficient {nodes.axis.names[column]}"


def explain(nodes: NodeTable, shape: Shape, static: Sequence[Check], dynamic: Sequence[Check]) -> Explanation:
    """Count every node under the first of its reasons: attributes, then amounts, then the pods around."""
    open_rows = np.ones(len(nodes), dtype=np.bool_)
    reasons: dict[str, int] = {}
    for check in static:
        _count(reasons, check.reason, open_rows & ~check.passes)
        open_rows &= check.passes
    short = np.zeros(len(nodes), dtype=np.bool_)
    for column, amount in shape.request:
        lacking = open_rows & (nodes.unreserved(column) < amount)
        _count(reasons, insufficient(nodes, column), lacking)
        short |= lacking
    open_rows &= ~short
    for check in dynamic:
        _count(reasons, check.reason, open_rows & ~check.passes)
        open_rows &= check.passes
    return Explanation(sentence(len(nodes), reasons), reasons)


def explain_filled(nodes: NodeTable, shape: Shape, static: Sequence[Check], room: Ints) -> Explanation:
    """Why no node takes one more task of a shape once ``room`` (int64[nodes]) of them are on each."""
    open_rows = np.ones(len(nodes), dtype=np.bool_)
    reasons: dict[str, int] = {}
    for check in static:
        _count(reasons, check.reason, open_rows & ~check.passes)
        open_rows &= check.passes
    for column, amount in shape.request:
        left = nodes.unreserved(column) - room * amount
        _count(reasons, insufficient(nodes, column), open_rows & (left < amount))
    return Explanation(sentence(len(nodes), reasons), reasons)


def sentence(nodes: int, reasons: Mapping[str, int]) -> str:
    """``0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.``"""
    if not nodes:
        return "no nodes are known"
    if not reasons:
        return f"0/{nodes} nodes are available"
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {told}."


def exceeding(
    names: Sequence[str], request: Amounts, limits: Mapping[int, float], held: Mapping[int, int]
) -> list[str]:
    """Names of requested resources that would pass a limit (reference 0.2: requested dimensions, strict, no pods)."""
    return [
        names[column]
        for column, amount in request
        if column != PODS and held.get(column, 0) + amount > limits.get(column, 0)
    ]


def _count(reasons: dict[str, int], reason: str, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
    count = int(np.count_nonzero(rows))
    if count:
        reasons[reason] = reasons.get(reason, 0) + count

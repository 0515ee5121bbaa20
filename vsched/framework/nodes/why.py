"""Why no node takes a task: counts of nodes by reason, in the words people know from ``kubectl describe``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.nodes.table import Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape

_UNLIMITED = float("inf")
NO_NODES_KNOWN = "no nodes are known"
Left = Callable[[int], Ints]
"""What a column has to give: int64[nodes]."""


class Explanation(NamedTuple):
    """Counts of nodes by reason, and the sentence made of them."""

    message: str
    reasons: Mapping[str, int]
    """A node that fails on several resources counts for each; otherwise a node counts once."""
    codes: Mapping[str, Code] = {}
    """The sort of constraint that each reason is."""
    fits: int | None = None
    """How many of the tasks that were wanted there is room for, where several were and that was counted."""
    also: Refusal | None = None
    """What would be in the way besides, had the nodes room."""


class Failing(NamedTuple):
    """The nodes that one reason keeps a task off."""

    reason: str
    code: Code
    rows: Mask


def insufficient(nodes: NodeTable, column: int) -> str:
    """The reason for a node without enough of a resource."""
    return "Too many pods" if column == PODS else f"Insufficient {nodes.axis.names[column]}"


def explain(nodes: NodeTable, shape: Shape, static: Sequence[Check], dynamic: Sequence[Check]) -> Explanation:
    """Count every node under the first of its reasons: attributes, then amounts, then the pods around."""
    return _counted(len(nodes), failing(nodes, shape, static, dynamic, nodes.unreserved))


def explain_filled(nodes: NodeTable, shape: Shape, static: Sequence[Check], room: Ints) -> Explanation:
    """Why no node takes one more task of a shape once ``room`` (int64[nodes]) of them are on each."""
    return _counted(len(nodes), failing(nodes, shape, static, (), once_filled(nodes, shape, room)))


def once_filled(nodes: NodeTable, shape: Shape, room: Ints) -> Left:
    """What is left of a resource once ``room`` (int64[nodes]) tasks of a shape are on each node."""
    request = dict(shape.request)

    def left(column: int) -> Ints:
        found: Ints = nodes.unreserved(column) - room * request[column]
        return found

    return left


def failing(
    nodes: NodeTable, shape: Shape, static: Sequence[Check], dynamic: Sequence[Check], left: Left
) -> Iterator[Failing]:
    """The nodes out of the question, by the first of their reasons; a node short of several resources once for each."""
    open_rows = np.ones(len(nodes), dtype=np.bool_)
    for check in static:
        yield Failing(check.reason, check.code, open_rows & ~check.passes)
        open_rows &= check.passes
    short = np.zeros(len(nodes), dtype=np.bool_)
    for column, amount in shape.request:
        lacking = open_rows & (left(column) < amount)
        yield Failing(insufficient(nodes, column), Code.RESOURCES, lacking)
        short |= lacking
    open_rows &= ~short
    for check in dynamic:
        yield Failing(check.reason, check.code, open_rows & ~check.passes)
        open_rows &= check.passes


def _counted(nodes: int, found: Iterator[Failing]) -> Explanation:
    reasons, codes = counted_by_reason(found)
    return Explanation(sentence(nodes, reasons), reasons, codes)


def counted_by_reason(found: Iterable[Failing]) -> tuple[dict[str, int], dict[str, Code]]:
    """Counts of nodes by reason, and the sort of each."""
    reasons: dict[str, int] = {}
    codes: dict[str, Code] = {}
    for reason, code, rows in found:
        count = int(np.count_nonzero(rows))
        if count:
            reasons[reason] = reasons.get(reason, 0) + count
            codes[reason] = code
    return reasons, codes


def sentence(nodes: int, reasons: Mapping[str, int]) -> str:
    """``0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.``"""
    if not nodes:
        return NO_NODES_KNOWN
    if not reasons:
        return f"0/{nodes} nodes are available"
    message = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {message}."


def exceeding(
    names: Sequence[str], request: Amounts, limits: Mapping[int, float], held: Mapping[int, int]
) -> list[str]:
    """Names of requested resources that would pass a limit (reference 0.2: requested dimensions, strict).

    Of a resource that the limits do not name nothing is allowed; of pods any number.
    """
    return [
        names[column]
        for column, amount in request
        if held.get(column, 0) + amount > limits.get(column, _UNLIMITED if column == PODS else 0)
    ]


def shortages(
    names: Sequence[str],
    request: Amounts,
    limits: Mapping[int, float],
    held: Mapping[int, int],
    promised: Mapping[int, int] | None = None,
) -> tuple[Shortage, ...]:
    """The same with amounts; of what is ``held``, the part that is ``promised`` is held by nobody yet."""
    short: list[Shortage] = []
    for column, amount in request:
        limit = limits.get(column, _UNLIMITED if column == PODS else 0)
        has = held.get(column, 0)
        if has + amount > limit:
            before = promised.get(column, 0) if promised else 0
            short.append(Shortage(names[column], has, amount, int(limit), before))
    return tuple(short)

"""Why no node fits a task: counts of nodes by reason, in the words that ``kubectl describe`` shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.claims import TaskClaims
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.nodes.table import Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape

_UNLIMITED = float("inf")
_NONE_HELD: Mapping[int, int] = {}
NO_NODES_KNOWN = "no nodes are known"
Left = Callable[[int], Ints]
"""Returns what is left of a resource (by column) on each node: int64[nodes]."""


class NodeReasons(NamedTuple):
    """Counts of nodes by reason, and the message made of them."""

    message: str
    reasons: Mapping[str, int]
    """A node that fails on several resources counts for each; otherwise a node counts once."""
    codes: Mapping[str, Code] = {}
    """The code of each reason."""
    fits: int | None = None
    """How many of the wanted tasks fit, where several tasks were wanted and room was counted; else None."""
    also: Refusal | None = None
    """A refusal that would stop the task even if a node had room."""
    cut: bool = False
    """Whether other ways to place its gang are left that were not tried."""


class Failing(NamedTuple):
    """The nodes that do not fit a task for one reason."""

    reason: str
    code: Code
    rows: Mask


def insufficient(nodes: NodeTable, column: int) -> str:
    """The reason for a node without enough of a resource."""
    return "Too many pods" if column == PODS else f"Insufficient {nodes.axis.names[column]}"


def once_filled(nodes: NodeTable, shape: Shape, room: Ints) -> Left:
    """A function that returns what is left of a resource once each node has ``room`` (int64[nodes]) such tasks."""
    request = dict(shape.request)

    def left(column: int) -> Ints:
        found: Ints = nodes.unreserved(column) - room * request[column]
        return found

    return left


def failing(
    nodes: NodeTable, shape: Shape, static: Sequence[Check], dynamic: Sequence[Check], left: Left
) -> Iterator[Failing]:
    """The nodes that do not fit, by their first reason; a node short of several resources counts for each of them."""
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
        for one in check.told():
            yield Failing(one.reason, one.code, open_rows & ~one.passes)
            open_rows &= one.passes


def of_claims(claims: TaskClaims, found: Iterator[Failing], nodes: int) -> Iterator[Failing]:
    """Nodes by their first reason, where claims come after all others."""
    open_rows = np.ones(nodes, dtype=np.bool_)
    for one in found:
        yield one
        open_rows &= ~one.rows
    for check in claims.checks:
        yield Failing(check.reason, check.code, open_rows & ~check.passes)
        open_rows &= check.passes
    for reason, code, rows in claims.refused(open_rows):
        yield Failing(reason, code, rows)


def of_limits(claims: TaskClaims, found: Iterator[Failing], room: Ints) -> Iterator[Failing]:
    """Nodes by their first reason once each has ``room`` such tasks, where claims come after all others."""
    open_rows = np.ones(len(room), dtype=np.bool_)
    for one in found:
        yield one
        open_rows &= ~one.rows
    for check, mask in zip(claims.checks, claims.masks(later=True), strict=True):
        yield Failing(check.reason, check.code, open_rows & ~mask)
        open_rows &= mask
    for limit in claims.limits():
        scarce = limit.together is not None and limit.together <= int(room.sum())
        full = open_rows if scarce else open_rows & (limit.most <= room)
        yield Failing(limit.reason, limit.code, full)
        open_rows &= ~full


def followed(found: Iterator[Failing], more: Iterable[Failing], nodes: int) -> Iterator[Failing]:
    """Nodes by their first reason, where some reasons come after all others."""
    open_rows = np.ones(nodes, dtype=np.bool_)
    for one in found:
        yield one
        open_rows &= ~one.rows
    for one in more:
        yield one._replace(rows=open_rows & one.rows)
        open_rows &= ~one.rows


def reasons_of(nodes: int, found: Iterator[Failing]) -> NodeReasons:
    """Every node counted under its first reason: static checks, then amounts, then dynamic checks, then claims."""
    reasons, codes = counted_by_reason(found)
    return NodeReasons(sentence(nodes, reasons), reasons, codes)


def counted_by_reason(found: Iterable[Failing]) -> tuple[dict[str, int], dict[str, Code]]:
    """Counts of nodes by reason, and the code of each reason."""
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
    """Names of requested resources that would exceed a limit (requested dimensions, strict).

    The limit of a resource that ``limits`` does not name is 0; the number of pods is then unlimited.
    """
    return [
        names[column]
        for column, amount in request
        if held.get(column, 0) + amount > limits.get(column, _UNLIMITED if column == PODS else 0)
    ]


def within(
    request: Amounts, limits: Mapping[int, float], held: Mapping[int, int], promised: Mapping[int, int] = _NONE_HELD
) -> bool:
    """Whether there are no ``shortages`` with what is held and promised; for callers that mostly hear that."""
    for column, amount in request:
        amount += held.get(column, 0)
        if promised:
            amount += promised.get(column, 0)
        limit = limits.get(column)
        if amount > limit if limit is not None else column != PODS and amount > 0:
            return False
    return True


def shortages(
    names: Sequence[str],
    request: Amounts,
    limits: Mapping[int, float],
    held: Mapping[int, int],
    promised: Mapping[int, int] | None = None,
) -> tuple[Shortage, ...]:
    """The resources that would exceed a limit, with amounts; ``promised`` is the part of ``held`` not yet in use."""
    short: list[Shortage] = []
    for column, amount in request:
        limit = limits.get(column, _UNLIMITED if column == PODS else 0)
        has = held.get(column, 0)
        if has + amount > limit:
            before = promised.get(column, 0) if promised else 0
            short.append(Shortage(names[column], has, amount, int(limit), before))
    return tuple(short)

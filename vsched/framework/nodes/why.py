"""Why no node fits a task: counts of nodes by reason, in the words that ``kubectl describe`` shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.task_claims import TaskClaims
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.words import nodes as words
from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.nodes.table import Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape

_UNLIMITED = float("inf")
_NONE_HELD: Mapping[int, int] = {}
Left = Callable[[int], Ints]
"""Returns what is left of a resource (by column) on each node: int64[nodes]."""


WAITED_FOR = frozenset(
    (
        Code.RESOURCES,
        Code.ORDER,
        Code.PORTS,
        Code.POD_AFFINITY,
        Code.SPREAD,
        Code.USAGE,
        Code.KEPT,
        Code.RESERVED,
    )
)
"""Codes of reasons that may pass by themselves on a node that is open to a pod. Other reasons last until an object
(node, pod, queue) is changed."""
NOT_FOR_IT = frozenset((Code.NO_DEVICES, Code.SELECTOR))
"""Codes of nodes that are not among those that a pod is for: others say more of why it waits."""


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
    return words.insufficient(nodes.axis.names[column])


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
        for one in check.by_reason():
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
    return NodeReasons(words.available(nodes, reasons), reasons, codes)


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


def binding(why: NodeReasons) -> Code:
    """The code of the most important reason: one that may pass comes first, then the one with the most nodes."""
    if not why.reasons:
        return Code.NO_NODES
    return why.codes.get(_ranked(why)[0], Code.OTHER)


def on_nodes(why: NodeReasons) -> str:
    """``3 nodes have too little cpu, 2 are cordoned``; empty where no node is counted."""
    return words.on_nodes((reason, why.reasons[reason]) for reason in _ranked(why))


def _ranked(why: NodeReasons) -> list[str]:
    """The reasons: those that may pass first, nodes that the pod is not for last, then by number of nodes, most first.

    Of equals, room that is reserved comes first: without the reservation, the pod would start.
    """
    reasons, codes = why.reasons, why.codes

    def rank(reason: str) -> tuple[bool, bool, int, bool, str]:
        code = codes.get(reason)
        return code in NOT_FOR_IT, code not in WAITED_FOR, -reasons[reason], code is not Code.RESERVED, reason

    return sorted(reasons, key=rank)


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
    """Whether there are no ``shortages`` with what is held and promised: quicker where that is the usual answer."""
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

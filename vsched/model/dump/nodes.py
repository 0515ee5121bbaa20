"""The node table to JSON parts and back: amounts by resource, and usage figures, which may be missing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from vsched.errors import BadInput
from vsched.model import words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.dump.tables import Numbered
from vsched.model.nodes.table import Floats, Ints, NodeAttributes, NodeStatics, NodeTable
from vsched.model.nodes.usage import UsageColumn, UsageTable, Young
from vsched.model.pods.shape import Shape

Rows = list[list[int]]
"""One list a resource, with one amount a node."""
Figures = list[float | None]
"""Numbers; None where unknown."""
AMOUNTS = ("allocatable", "idle", "releasing", "pipelined", "requested", "scoring")
"""The arrays of a node table."""


class YoungParts(msgspec.Struct, frozen=True):
    """Pods whose load the figures do not contain yet."""

    rows: list[int]
    shapes: list[int]
    started: Figures
    """None where a pod does not run yet."""
    kinds: list[int]
    """Positions in the table of shapes."""


class UsageParts(msgspec.Struct, frozen=True):
    """The measured usage of nodes."""

    measured: Figures
    cpu: dict[str, tuple[Figures, Figures]]
    """Average and spread, by period."""
    memory: dict[str, tuple[Figures, Figures]]
    young: YoungParts


class NodeParts(msgspec.Struct, frozen=True):
    """The amounts and the measured usage of all nodes."""

    amounts: dict[str, Rows]
    usage: UsageParts | None = None


class NodePositions(Numbered[str]):
    """Positions of node names: first the rows of the table, then names without a row."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self._rows = len(names)

    def others(self) -> list[str]:
        """The names without a row."""
        return list(self)[self._rows :]


def node_parts(nodes: NodeTable, shapes: Numbered[Shape]) -> NodeParts:
    """The parts of a table, without node attributes; gives positions to the shapes of young pods."""
    usage = None if nodes.usage is None else _usage_parts(nodes.usage, shapes)
    return NodeParts({name: getattr(nodes, name).tolist() for name in AMOUNTS}, usage)


def node_table(
    parts: NodeParts, axis: ResourceAxis, attributes: Sequence[NodeAttributes], shapes: Sequence[Shape]
) -> NodeTable:
    """The table of these parts; raises BadInput where they do not match."""
    amounts = {name: _ints(name, parts.amounts.get(name), len(attributes)) for name in AMOUNTS}
    widths = {len(amounts[name]) for name in AMOUNTS[:-1]}
    if len(widths) != 1 or len(amounts["scoring"]) != 2 or not 3 <= min(widths) <= len(axis):
        raise BadInput(words.amounts_of_other_resources(len(axis)))
    usage = None if parts.usage is None else _usage(parts.usage, len(attributes), shapes)
    return NodeTable(axis, NodeStatics(attributes), usage=usage, in_motion=None, **amounts)


def _ints(name: str, rows: Rows | None, nodes: int) -> Ints:
    if rows is None or any(len(row) != nodes for row in rows):
        raise BadInput(words.not_an_amount_each(name, nodes))
    return np.array(rows, dtype=np.int64).reshape(len(rows), nodes)


def _usage_parts(usage: UsageTable, shapes: Numbered[Shape]) -> UsageParts:
    young = usage.young
    kinds = [shapes.at(kind) for kind in young.kinds]
    return UsageParts(
        _figures(usage.measured),
        {period: (_figures(column.average), _figures(column.spread)) for period, column in usage.cpu.items()},
        {period: (_figures(column.average), _figures(column.spread)) for period, column in usage.memory.items()},
        YoungParts(young.rows.tolist(), young.shapes.tolist(), _figures(young.started), kinds),
    )


def _usage(parts: UsageParts, nodes: int, shapes: Sequence[Shape]) -> UsageTable:
    young = parts.young
    made = Young(
        np.array(young.rows, dtype=np.intp),
        np.array(young.shapes, dtype=np.intp),
        _floats(young.started, np.inf),
        tuple(shapes[at] for at in young.kinds),
    )
    if not len(young.rows) == len(young.shapes) == len(young.started):
        raise BadInput(words.YOUNG_PODS)
    if any(not 0 <= row < nodes for row in young.rows) or any(not 0 <= at < len(made.kinds) for at in young.shapes):
        raise BadInput(words.YOUNG_POD_OF_NO_SHAPE)
    columns = [*parts.cpu.values(), *parts.memory.values()]
    if any(len(figures) != nodes for figures in (parts.measured, *(one for pair in columns for one in pair))):
        raise BadInput(words.not_a_figure_each(nodes))
    return UsageTable(_floats(parts.measured, np.nan), _columns(parts.cpu), _columns(parts.memory), made)


def _columns(found: dict[str, tuple[Figures, Figures]]) -> dict[str, UsageColumn]:
    return {
        period: UsageColumn(_floats(average, np.nan), _floats(spread, np.nan))
        for period, (average, spread) in found.items()
    }


def _figures(values: Floats) -> Figures:
    return [
        value if known else None for value, known in zip(values.tolist(), np.isfinite(values).tolist(), strict=True)
    ]


def _floats(figures: Figures, unknown: float) -> Floats:
    return np.array([unknown if figure is None else figure for figure in figures], dtype=np.float64)

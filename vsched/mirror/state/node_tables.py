"""Arrays of nodes: sums as columns of the table, and tables with other rows or columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from vsched.model.amounts.quantity import MOST, UNLIMITED
from vsched.model.amounts.resources import ResourceAxis, Vector
from vsched.model.nodes.table import Ints, NodeStatics, NodeTable

_FULL = 2 * MOST
"""The largest sum that is written to the table: twice what any node has."""


def vectors(amounts: Ints) -> list[Vector]:
    """``int64[column, row]`` as a sum for each row, without zeros."""
    return [{column: value for column, value in enumerate(row) if value} for row in amounts.T.tolist()]


def dense_vector(vector: Vector, width: int) -> list[int]:
    """A sum as a list with an element for every column, the largest UNLIMITED: readers make it int64."""
    return [min(vector.get(column, 0), UNLIMITED) for column in range(width)]


def dense(vectors: Sequence[Mapping[int, int]], width: int) -> Ints:
    """Sums as ``int64[column, position]``. The cost follows the amounts that they have, not the number of columns."""
    found = np.zeros((width, len(vectors)), dtype=np.int64)
    for position, vector in enumerate(vectors):
        for column, value in vector.items():
            # Absurd requests add up beyond int64; a cycle adds and subtracts, which must not overflow.
            found[column, position] = value if value < _FULL else _FULL
    return found


def changed_table(
    old: NodeTable, change: Callable[[Ints], Ints], statics: NodeStatics | None = None, scoring: Ints | None = None
) -> NodeTable:
    """The table with every array changed."""
    return NodeTable(
        old.axis,
        old.statics if statics is None else statics,
        change(old.allocatable),
        change(old.idle),
        change(old.releasing),
        change(old.pipelined),
        change(old.requested),
        change(old.scoring) if scoring is None else scoring,
    )


def empty_table(axis: ResourceAxis) -> NodeTable:
    """A table without nodes."""

    def nothing(resources: int = len(axis)) -> Ints:
        return np.zeros((resources, 0), dtype=np.int64)

    return NodeTable(axis, NodeStatics(()), nothing(), nothing(), nothing(), nothing(), nothing(), nothing(2))

"""Arrays of nodes: sums as columns of the table, and tables with other rows or columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from vsched.model.amounts.quantity import MOST
from vsched.model.amounts.resources import ResourceAxis, Vector
from vsched.model.nodes.table import Ints, NodeStatics, NodeTable

_FULL = 2 * MOST
"""The largest sum that is written to the table: twice what any node has."""


def vectors(amounts: Ints) -> list[Vector]:
    """``int64[column, row]`` as a sum for each row, without zeros."""
    return [{column: value for column, value in enumerate(row) if value} for row in amounts.T.tolist()]


def dense_vector(vector: Vector, width: int) -> list[int]:
    """A sum as a list with an element for every column."""
    return [vector.get(column, 0) for column in range(width)]


def dense(vectors: list[Vector], width: int) -> Ints:
    """Sums as ``int64[column, position]``. The cost follows the amounts that they have, not the number of columns."""
    found = np.zeros((width, len(vectors)), dtype=np.int64)
    columns = [column for vector in vectors for column in vector]
    positions = [position for position, vector in enumerate(vectors) for _ in vector]
    found[columns, positions] = integers([value for vector in vectors for value in vector.values()])
    return found


def integers(values: list[int]) -> npt.NDArray[np.int64]:
    """Numbers as an array; what is beyond int64 is the largest sum."""
    try:
        found = np.array(values, dtype=np.int64)
    except OverflowError:
        # Absurd requests add up beyond int64.
        found = np.array([min(value, _FULL) for value in values], dtype=np.int64)
    # A cycle adds and subtracts, which must not overflow.
    return np.minimum(found, _FULL, out=found)


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

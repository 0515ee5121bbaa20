"""Whether a request fits amounts of nodes; exact integers, base units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.model.nodes import Ints, Mask
from vsched.model.resources import Amounts

ALL_ROWS = slice(None)


def fits(request: Amounts, amounts: Ints, rows: slice | Sequence[int] = ALL_ROWS) -> Mask:
    """bool[rows]: where ``amounts`` (int64[resource, node]) hold the whole request.

    A resource that the table has no row for is one that no node has.
    """
    enough: Mask | None = None
    width = amounts.shape[0]
    for column, amount in request:
        if column >= width:
            return np.zeros(amounts[0, rows].shape, dtype=np.bool_)
        holds = amounts[column, rows] >= amount
        enough = holds if enough is None else np.logical_and(enough, holds, out=enough)
    return np.ones(amounts[0, rows].shape, dtype=np.bool_) if enough is None else enough


def fits_row(request: Amounts, amounts: Ints, row: int) -> bool:
    """The same for one node, in plain numbers."""
    width = amounts.shape[0]
    return all(column < width and amounts.item(column, row) >= amount for column, amount in request)


def shortages(request: Amounts, amounts: Ints) -> list[tuple[int, Mask]]:
    """For each requested resource: its column and the nodes that have too little of it."""
    nothing = np.zeros(amounts.shape[1], dtype=np.int64)
    width = amounts.shape[0]
    return [(column, (amounts[column] if column < width else nothing) < amount) for column, amount in request]

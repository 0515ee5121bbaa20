"""Counts how many tasks of a shape each node could hold at once, without dynamic checks."""

from __future__ import annotations

import numpy as np

from vsched.framework.claims.claims import TaskClaims
from vsched.framework.nodes.shapes import ShapeNodes
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints, Mask, NodeTable


def rooms_of(nodes: NodeTable, fit: ShapeNodes, claims: TaskClaims | None, only: Mask | None, *, now: bool) -> Ints:
    """int64[nodes]: how many such tasks each node could hold; 0 outside of ``only``.

    ``now`` leaves out what pods have yet to leave.
    """
    rooms: Ints = np.full(len(nodes), UNLIMITED, dtype=np.int64)
    for column, amount in fit.shape.request:
        if nodes.in_motion:
            free = nodes.unreserved(column) if now else nodes.future_idle(column)
        else:
            free = nodes.idle[column]
        np.minimum(rooms, free // amount, out=rooms)
    np.maximum(rooms, 0, out=rooms)
    if fit.allowed is not None:
        rooms[~fit.allowed] = 0
    if claims is not None:
        for limit in claims.limits():
            np.minimum(rooms, limit.most, out=rooms)
        rooms[~claims.served(later=not now)] = 0
    if only is not None:
        rooms[~only] = 0
    return rooms

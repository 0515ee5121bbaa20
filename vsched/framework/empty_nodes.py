"""What pods could use of the nodes if all nodes were empty.

Only lasting reasons close nodes: node selectors, node groups, lasting taints, labels that spreading needs, the places
of volumes, and requests larger than any node. Reasons that may pass are left out: cordons, taints that come and go,
devices that are not registered yet, amounts that other pods hold.
"""

from __future__ import annotations

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.session import Session
from vsched.framework.words import nodes as words
from vsched.kernels.registering import awaited
from vsched.kernels.taints import passes_by_itself
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

LASTING = frozenset((Code.SELECTOR, Code.TAINTS, Code.NODE_GROUP, Code.SPREAD))
"""Codes of checks by attributes of nodes whose result stays the same until an object is changed."""


def rows_open(session: Session, task: Task, *, by_claims: bool = True) -> tuple[Mask, list[Check]]:
    """bool[nodes]: the nodes that no lasting check closes to the task; and the lasting checks."""
    closing = [check for check in session.node_selection.static_checks(task) if _lasts(check)]
    if by_claims and (claims := session.claims.of(task)) is not None:
        closing += [check for check in claims.checks if check.lasting]
    open_rows: Mask = np.ones(len(session.nodes), dtype=np.bool_)
    for check in closing:
        open_rows &= check.passes
    return open_rows, closing


def rooms_if_empty(session: Session, shape: Shape, open_rows: Mask) -> Ints:
    """int64[nodes]: how many pods of a shape each open node could hold if it were empty.

    A resource that a node has yet to register counts as unlimited, because its amount is not known.
    """
    nodes = session.nodes
    rows: Ints = np.where(open_rows, np.int64(UNLIMITED), np.int64(0))
    for column, amount in shape.request:
        has = nodes.allocatable[column] // amount
        if int(has.min(initial=0)) == 0:
            has = np.where(awaited(nodes, column), np.int64(UNLIMITED), has)
        np.minimum(rows, has, out=rows)
    return rows


def _lasts(check: Check) -> bool:
    if check.lasting:
        return True
    return check.code in LASTING and not (check.code is Code.TAINTS and passes_by_itself(words.taint_key(check.reason)))

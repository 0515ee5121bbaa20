"""What a task lacks on a node: of what it asks for, the resources that others have to give back to it there."""

from __future__ import annotations

from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.nodes.table import NodeTable

Columns = tuple[int, ...]


def asked_for(request: Amounts) -> Columns:
    """The resources of a request, the pod slot aside."""
    return tuple(column for column, _ in request if column != PODS)


class Lacking:
    """Looks at nodes as the cycle has them now."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes

    def of(self, request: Amounts, node: str) -> Columns:
        """The resources that the node has too little of, all that leaves it gone, the pod slot aside.

        All that is asked for where it has enough of each: then something else is in the way there, or the slot.
        """
        row = self._nodes.statics.row.get(node)
        if row is None:
            return asked_for(request)
        idle_at = self._nodes.future_idle_at
        short = tuple(column for column, amount in request if column != PODS and idle_at(column, row) < amount)
        return short or asked_for(request)

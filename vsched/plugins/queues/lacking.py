"""Which requested resources a node has too little of for a task: those that victims there have to free."""

from __future__ import annotations

from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.nodes.table import NodeTable

Columns = tuple[int, ...]


def asked_for(request: Amounts) -> Columns:
    """The resource columns of a request, ``pods`` excluded."""
    return tuple(column for column, _ in request if column != PODS)


class Lacking:
    """Compares requests with the nodes as they are at this point of the cycle."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes

    def of(self, request: Amounts, node: str) -> Columns:
        """The columns that the node has too little of even after all leaving pods are gone, ``pods`` excluded.

        Where the node has enough of each, the answer is all requested columns: something else blocks the task there,
        or the number of pods does.
        """
        row = self._nodes.statics.row.get(node)
        if row is None:
            return asked_for(request)
        idle_at = self._nodes.future_idle_at
        short = tuple(column for column, amount in request if column != PODS and idle_at(column, row) < amount)
        return short or asked_for(request)

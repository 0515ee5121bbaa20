"""Refusals of queues. All plugins that divide the cluster among queues use the same reasons and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vsched.framework.codes import Code
from vsched.framework.nodes.why import shortages
from vsched.framework.refusal import QueueBound, Refusal, Shortage
from vsched.framework.words.nodes import NO_NODES_KNOWN
from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.nodes.table import NodeTable
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above
from vsched.model.snapshot import Snapshot
from vsched.plugins.words import queues as words

QUEUE_NOT_OPEN = "QueueNotOpen"
NO_NODES = "NoNodes"
TOO_SMALL = "ClusterTooSmall"
QUEUE_FULL = "QueueQuotaInsufficient"


def not_open(queues: Mapping[str, Queue], queue: Queue) -> Refusal:
    """The refusal of a queue that is not open. It also names the nearest queue above that is not open."""
    shut = next((one for one in above(queue, queues.get) if not one.open), None)
    message = words.not_open(queue.name, queue.state, *(() if shut is None else (shut.name, shut.state)))
    return Refusal(QUEUE_NOT_OPEN, message, code=Code.QUEUE_CLOSED, subject=queue.name)


def beyond_cluster(snapshot: Snapshot, request: Amounts) -> Refusal | None:
    """The refusal of a job whose minimum exceeds even the empty cluster; None where it would fit the empty cluster."""
    names, total = snapshot.axis.names, snapshot.total
    limits = {column: total[column] for column, _ in request if column < len(total)}
    short = shortages(names, request, limits, {})
    if not short:
        return None
    if not len(snapshot.nodes):
        return Refusal(NO_NODES, NO_NODES_KNOWN, code=Code.NO_NODES, shortages=short)
    return Refusal(TOO_SMALL, words.beyond_cluster(short), code=Code.RESOURCES, shortages=short)


def quota_insufficient(
    queue: str, shown: str, short: tuple[Shortage, ...], beyond: Refusal | None, bounds: Iterable[QueueBound | None]
) -> Refusal:
    """The refusal of a job whose minimum exceeds what the queue may hold of the resources in ``short``.

    ``shown`` names the queue in the message, ``bounds`` has one entry a resource. If only the size of the cluster
    bounds the queue, the answer is ``beyond``.
    """
    if beyond is not None and all(one is not None and not one.holder and not one.guaranteed for one in bounds):
        return beyond
    message = words.quota_insufficient(shown, words.names_of(short))
    return Refusal(QUEUE_FULL, message, code=Code.QUEUE_CAPABILITY, subject=queue, shortages=short)


def columns_short(names: Sequence[str], short: tuple[Shortage, ...]) -> list[int]:
    """The columns of the scarce resources."""
    lacking = {one.resource for one in short}
    return [column for column, name in enumerate(names) if name in lacking]


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

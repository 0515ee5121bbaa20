"""Refusals of queues. All plugins that divide the cluster among queues use the same reasons and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vsched.framework.codes import Code
from vsched.framework.nodes.why import NO_NODES_KNOWN, shortages
from vsched.framework.refusal import QueueBound, Refusal, Shortage
from vsched.framework.wording import in_all
from vsched.model.amounts.resources import Amounts
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above
from vsched.model.snapshot import Snapshot

QUEUE_NOT_OPEN = "QueueNotOpen"
NO_NODES = "NoNodes"
TOO_SMALL = "ClusterTooSmall"
QUEUE_FULL = "QueueQuotaInsufficient"
HOLD_NO_MORE = "their queues do not hold more than they deserve"
"""Why reclaim spares tasks of these queues."""


def not_open(queues: Mapping[str, Queue], queue: Queue) -> Refusal:
    """The refusal of a queue that is not open. It also names the nearest queue above that is not open."""
    message = f"queue {queue.name} is {queue.state}, not Open"
    shut = next((one for one in above(queue, queues.get) if not one.open), None)
    if shut is not None:
        message += f", and queue {shut.name} above it is {shut.state}"
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
    message = "; ".join(in_all(one) for one in sorted(short))
    return Refusal(TOO_SMALL, f"the cluster has {message}", code=Code.RESOURCES, shortages=short)


def quota_insufficient(
    queue: str, shown: str, short: tuple[Shortage, ...], beyond: Refusal | None, bounds: Iterable[QueueBound | None]
) -> Refusal:
    """The refusal of a job whose minimum exceeds what the queue may hold of the resources in ``short``.

    ``shown`` names the queue in the message, ``bounds`` has one entry a resource. If only the size of the cluster
    bounds the queue, the answer is ``beyond``.
    """
    if beyond is not None and all(one is not None and not one.holder and not one.guaranteed for one in bounds):
        return beyond
    message = f"{shown} resource quota insufficient: insufficient {named(short)}"
    return Refusal(QUEUE_FULL, message, code=Code.QUEUE_CAPABILITY, subject=queue, shortages=short)


def named(short: tuple[Shortage, ...]) -> str:
    """The names of the scarce resources, as a list for a message."""
    return ", ".join(sorted(one.resource for one in short))


def columns_short(names: Sequence[str], short: tuple[Shortage, ...]) -> list[int]:
    """The columns of the scarce resources."""
    lacking = {one.resource for one in short}
    return [column for column, name in enumerate(names) if name in lacking]

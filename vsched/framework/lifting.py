"""Which refusals nodes that are added to the cluster may lift."""

from __future__ import annotations

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session

QUEUE_CODES = frozenset((Code.QUEUE_CAPABILITY, Code.QUEUE_SHARE, Code.QUEUE_ADMISSION))
"""Codes of limits that may follow from the size of the cluster: with more nodes they leave more."""
NODES_HELP = QUEUE_CODES | {
    Code.NO_NODES,
    Code.RESOURCES,
    Code.TAINTS,
    Code.CORDONED,
    Code.SELECTOR,
    Code.PORTS,
    Code.POD_AFFINITY,
    Code.SPREAD,
    Code.USAGE,
    Code.NODE_GROUP,
    Code.SHARD,
    Code.TIME_WINDOW,
    Code.VOLUMES,
    Code.DEVICES,
    Code.TOPOLOGY,
    Code.RESERVED,
    Code.KEPT,
    Code.GANG_SIZE,
    Code.ROLE_MINIMUM,
    Code.BUDGET,
    Code.PROTECTED,
    Code.ORDER,
}
"""Codes of reasons that added nodes may lift."""


def may_be_lifted(session: Session, refusal: Refusal) -> bool:
    """Whether added nodes may lift a refusal: a limit that the queue itself states stays as it is."""
    if refusal.code not in NODES_HELP:
        return False
    queue = session.snapshot.queues.get(refusal.subject)
    if refusal.code not in QUEUE_CODES or queue is None or not queue.capability:
        return True
    stated, find = dict(queue.capability), session.snapshot.axis.find
    for short in refusal.shortages:
        column = find(short.resource)
        if column is not None and column in stated and short.held + short.asked > stated[column]:
            return False
    return True

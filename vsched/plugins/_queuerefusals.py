"""Why a queue takes no more: the same words from every plugin that divides the cluster among queues."""

from __future__ import annotations

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.queue import Queue

QUEUE_NOT_OPEN = "QueueNotOpen"
QUEUE_FULL = "QueueQuotaInsufficient"


def not_open(queue: Queue) -> Refusal:
    """The queue takes no jobs."""
    return Refusal(
        QUEUE_NOT_OPEN, f"queue {queue.name} is {queue.state}, not Open", code=Code.QUEUE_CLOSED, subject=queue.name
    )


def quota_insufficient(queue: str, shown: str, short: tuple[Shortage, ...]) -> Refusal:
    """A job's minimum does not fit what the queue, ``shown`` as a sentence names it, may hold of these resources."""
    told = f"{shown} resource quota insufficient: insufficient {named(short)}"
    return Refusal(QUEUE_FULL, told, code=Code.QUEUE_CAPABILITY, subject=queue, shortages=short)


def named(short: tuple[Shortage, ...]) -> str:
    """The resources there is too little of, as a list for people."""
    return ", ".join(sorted(one.resource for one in short))

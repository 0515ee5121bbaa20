"""Why a queue takes no more: the same words from every plugin that divides the cluster among queues."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.framework.extension import Refusal
from vsched.model.queue import Queue

QUEUE_NOT_OPEN = "QueueNotOpen"
QUEUE_FULL = "QueueQuotaInsufficient"


def not_open(queue: Queue) -> Refusal:
    """The queue takes no jobs."""
    return Refusal(QUEUE_NOT_OPEN, f"queue {queue.name} is {queue.state}, not Open")


def quota_insufficient(queue: str, short: Iterable[str]) -> Refusal:
    """A job's minimum does not fit what the queue, as a sentence names it, may hold of these resources."""
    return Refusal(QUEUE_FULL, f"{queue} resource quota insufficient: insufficient {', '.join(sorted(short))}")

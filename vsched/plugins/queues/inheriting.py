"""What a queue inherits from the queues above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above

T = TypeVar("T")


def inherited(queue: Queue | None, queues: Mapping[str, Queue], stated: Callable[[Queue], T | None]) -> T | None:
    """What a queue states, else what the nearest queue above it states, the root last; None where none does."""
    if queue is None:
        return None
    for one in (queue, *above(queue, queues.get, rooted=True)):
        if (found := stated(one)) is not None:
            return found
    return None

"""What a queue inherits from the queues above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above

T = TypeVar("T")


def inherited(name: str, queues: Mapping[str, Queue], stated: Callable[[Queue], T | None], default: T) -> T:
    """What a queue states, else what the nearest queue above it states, the root last; the default where none does."""
    queue = queues.get(name)
    for one in () if queue is None else (queue, *above(queue, queues.get, rooted=True)):
        if (found := stated(one)) is not None:
            return found
    return default

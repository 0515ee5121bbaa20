"""The tree of queues, built from ``spec.parent``, and the queues that have no place in it.

A queue without a parent is a child of ``root``; ``root`` always exists, even without a Queue object of that name.
Queues are left out if their parents form a circle, if their parent does not exist, or if a queue above them is left
out. The other queues are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from vsched.model.queues.queue import ROOT, Queue
from vsched.model.queues.tree import above
from vsched.plugins.words import queues as words


class QueueParents:
    """The parent of each queue, and the reasons why some queues are left out of the tree."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self._queues = queues
        self.parents: dict[str, str] = {}
        """By queue, except ``root``: its parent. A queue comes after its parent."""
        self.left_out: dict[str, str] = {}
        """By queue: why it has no place in the tree, as the end of a sentence."""
        for name in sorted(queues):
            self._place(name)
        self.inner = frozenset(self.parents.values())
        """Queues with children."""

    def _place(self, name: str) -> None:
        """Find the place of a queue and of the queues above it that have no place yet."""
        climbed: dict[str, None] = {}
        at = name
        while at != ROOT and at not in self.parents and at not in self.left_out:
            climbed[at] = None
            parent = self._queues[at].parent or ROOT
            if parent in climbed:
                self._leave_out_circle(list(climbed), parent)
            elif parent != ROOT and parent not in self._queues:
                self.left_out[at] = words.parent_gone(parent)
            else:
                at = parent
        for below in reversed(climbed):
            if at not in self.left_out:
                self.parents[below] = at
            elif below not in self.left_out:
                self.left_out[below] = words.below_left_out(at, self.left_out[at])
            at = below

    def _leave_out_circle(self, climbed: list[str], closes: str) -> None:
        circle = climbed[climbed.index(closes) :]
        first = circle.index(min(circle))
        why = words.circle([*circle[first:], *circle[:first], circle[first]])
        for name in circle:
            self.left_out[name] = why


T = TypeVar("T")


def inherited(name: str, queues: Mapping[str, Queue], stated: Callable[[Queue], T | None], default: T) -> T:
    """What a queue states, else what the nearest queue above it states, the root last; the default where none does."""
    queue = queues.get(name)
    for one in () if queue is None else (queue, *above(queue, queues.get, rooted=True)):
        if (found := stated(one)) is not None:
            return found
    return default

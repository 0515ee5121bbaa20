"""The tree of queues that ``spec.parent`` makes, and the queues that have no place in it.

A queue without a parent is below ``root``, which is there whether an object of that name is or not. Queues whose
parents form a circle, whose parent does not exist, and all below such queues are left out; the others go on.
"""

from __future__ import annotations

from collections.abc import Mapping

from vsched.model.queues.queue import ROOT, Queue


class QueueTree:
    """Which queue is below which, and why some are below none."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self._queues = queues
        self.parents: dict[str, str] = {}
        """The parent of every queue with a place in the tree, ``root`` apart; each comes after its parent."""
        self.left_out: dict[str, str] = {}
        """Why a queue has no place in the tree, by name, as the rest of a sentence about it."""
        for name in sorted(queues):
            self._place(name)
        self.inner = frozenset(self.parents.values())
        """Queues with children."""

    def _place(self, name: str) -> None:
        """Find the place of a queue and of all above it that have none yet."""
        climbed: dict[str, None] = {}
        at = name
        while at != ROOT and at not in self.parents and at not in self.left_out:
            climbed[at] = None
            parent = self._queues[at].parent or ROOT
            if parent in climbed:
                self._leave_out_circle(list(climbed), parent)
            elif parent != ROOT and parent not in self._queues:
                self.left_out[at] = f"its parent {parent} does not exist"
            else:
                at = parent
        for below in reversed(climbed):
            if at not in self.left_out:
                self.parents[below] = at
            elif below not in self.left_out:
                self.left_out[below] = _below(at, self.left_out[at])
            at = below

    def _leave_out_circle(self, climbed: list[str], closes: str) -> None:
        circle = climbed[climbed.index(closes) :]
        first = circle.index(min(circle))
        shown = ", ".join([*circle[first:], *circle[:first], circle[first]])
        for name in circle:
            self.left_out[name] = f"its parents form a circle: {shown}"


def _below(above: str, why: str) -> str:
    """Names the queue at fault, however far above it is."""
    return why if why.startswith("it is below queue ") else f"it is below queue {above}, left out as {why}"

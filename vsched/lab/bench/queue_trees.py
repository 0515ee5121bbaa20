"""Queues in a tree, as objects: the leaves are the queues that work is sent to."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, NamedTuple


class QueueTree(NamedTuple):
    """So many leaves under levels of branches with about as many children each."""

    queues: int
    levels: int
    """Levels with the leaves; 1: no tree."""
    millis: int
    """What the cluster has of cpu."""
    mib: int
    """What it has of memory."""

    def branches(self) -> Iterator[dict[str, Any]]:
        """The parent queues, from the top down."""
        for depth in range(1, self.levels):
            leaves: dict[str, list[int]] = {}
            for number in range(self.queues):
                leaves.setdefault(self._branch(depth, number), []).append(number)
            for name, below in leaves.items():
                spec: dict[str, Any] = {"deserved": self._deserved(len(below))}
                if depth > 1:
                    spec["parent"] = self._branch(depth - 1, below[0])
                yield {"metadata": {"name": name, "uid": name}, "spec": spec}

    def leaves(self) -> Iterator[dict[str, Any]]:
        """The queues ``queue-0``, ``queue-1`` and so on."""
        for number in range(self.queues):
            name = f"queue-{number}"
            spec: dict[str, Any] = {"weight": 1 + number % 3}
            if self.levels > 1:
                spec |= {"parent": self._branch(self.levels - 1, number), "deserved": self._deserved(1)}
            yield {"metadata": {"name": name, "uid": name}, "spec": spec}

    def _branch(self, depth: int, number: int) -> str:
        """The queue of this depth (1 at the top) above a leaf."""
        width = ceil(self.queues ** (1 / self.levels))
        return f"branch-{depth}-{number // width ** (self.levels - depth)}"

    def _deserved(self, leaves: int) -> dict[str, str]:
        """An equal part of the cluster for each leaf."""
        millis, mib = self.millis // self.queues, self.mib // self.queues
        return {"cpu": f"{millis * leaves}m", "memory": f"{mib * leaves}Mi"}

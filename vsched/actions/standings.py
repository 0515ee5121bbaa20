"""Queues in the order of their keys while the keys change: one at a time, or whole branches of a tree together.

Where queues hang in a tree, what one is given moves all that have a part of the way up in common with it. To work out
every key after each turn would cost as much as there are queues. So keys are kept in parts, as nodes of a tree: queues
that share a part share its node, each node knows the best of what is below it, and a change goes up one way only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Protocol

from vsched.actions.ordering import QueueOrdering
from vsched.model.queues.queue import Queue


class Standings(Protocol):
    """Queues that wait for a turn, in order."""

    def take(self) -> Queue | None:
        """The queue that goes first; it is out until it is put back. None where none waits."""
        ...

    def put(self, queue: Queue) -> None:
        """The queue waits again, as it stands now."""
        ...

    def moved(self, queues: Iterable[Queue]) -> None:
        """What these queues hold has changed."""
        ...


def standings(ordering: QueueOrdering, queues: Iterable[Queue], *, alone: bool = True) -> Standings:
    """All of these queues, waiting. ``alone``: nobody's usage changes but those of the queue whose turn it is."""
    if alone and not ordering.moves_together:
        return AloneStandings(ordering, queues)
    return SharedStandings(ordering, queues)


class AloneStandings:
    """A heap of keys: a queue that waits stays where it stands, so keys do not grow stale."""

    def __init__(self, ordering: QueueOrdering, queues: Iterable[Queue]) -> None:
        self._key = ordering.queue_key
        self._numbers = count()
        self._heap: list[tuple[Any, int, Queue]] = [(self._key(queue), next(self._numbers), queue) for queue in queues]
        heapify(self._heap)

    def take(self) -> Queue | None:
        """The queue that goes first."""
        return heappop(self._heap)[-1] if self._heap else None

    def put(self, queue: Queue) -> None:
        """The queue waits again."""
        heappush(self._heap, (self._key(queue), next(self._numbers), queue))

    def moved(self, queues: Iterable[Queue]) -> None:
        """Only queues whose turn it is move here."""


class Node:
    """One part of the keys of all queues below it."""

    __slots__ = ("best", "children", "heap", "queue", "value")

    def __init__(self) -> None:
        self.value: Any = ()
        self.children: dict[Hashable, Node] = {}
        self.heap: list[tuple[Any, int, Node]] = []
        """Children by their best; an entry that is not the child's best any more is dropped when it comes up."""
        self.queue: Queue | None = None
        """The queue that waits here; at the end of a way only."""
        self.best: Any = None
        """This part, then the best of what is below; None where nothing waits. Smaller goes first."""

    def first(self) -> Node | None:
        """The child with the best."""
        heap = self.heap
        while heap and heap[0][0] is not heap[0][2].best:
            heappop(heap)
        return heap[0][2] if heap else None

    def weigh(self) -> None:
        """Work out the best again."""
        if self.queue is not None:
            self.best = (self.value, ())
            return
        first = self.first()
        self.best = None if first is None else (self.value, first.best)


class SharedStandings:
    """A tree of the parts of keys."""

    def __init__(self, ordering: QueueOrdering, queues: Iterable[Queue]) -> None:
        self._ordering = ordering
        self._waiting: dict[str, Queue] = {}
        self._numbers = count()
        self._out: list[Node] = []
        """The way to the queue that was taken last, while its nodes do not know of it yet."""
        for queue in queues:
            self._waiting[queue.name] = queue
        self._build()

    def take(self) -> Queue | None:
        """The queue that goes first."""
        self._climb(self._out)
        if self._epoch != self._ordering.epoch():
            self._build()
        way = [self._root]
        while (first := way[-1].first()) is not None:
            way.append(first)
        queue = way[-1].queue
        if queue is not None:
            way[-1].queue = None
            del self._waiting[queue.name]
            self._out = way
        return queue

    def put(self, queue: Queue) -> None:
        """The queue waits again, as it stands now."""
        self._waiting[queue.name] = queue
        self._hang(queue)

    def moved(self, queues: Iterable[Queue]) -> None:
        """Put the parts of these queues' keys right, for all who share them."""
        for queue in queues:
            way = [self._root]
            for name, value in self._ordering.queue_parts(queue):
                child = way[-1].children.get(name)
                if child is None:
                    break
                child.value = value
                way.append(child)
            self._climb(way)
            if self._out and way[-1] is self._out[-1]:
                self._out = []

    def _build(self) -> None:
        self._epoch = self._ordering.epoch()
        self._root, self._out = Node(), []
        for queue in self._waiting.values():
            self._hang(queue)

    def _hang(self, queue: Queue) -> None:
        way = [self._root]
        for name, value in self._ordering.queue_parts(queue):
            child = way[-1].children.get(name)
            if child is None:
                child = way[-1].children[name] = Node()
            child.value = value
            way.append(child)
        way[-1].queue = queue
        self._climb(way)
        if self._out and way[-1] is self._out[-1]:
            self._out = []

    def _climb(self, way: list[Node]) -> None:
        """Put right the bests along a way, from its end up."""
        for parent, node in zip(reversed(way[:-1]), reversed(way), strict=False):
            node.weigh()
            if node.best is not None:
                heappush(parent.heap, (node.best, next(self._numbers), node))

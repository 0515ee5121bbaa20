"""The queues that wait for turns, in order of sort keys that may change while they wait.

Without a hierarchy, a turn changes only the key of the queue that had it, and a heap is enough. With a hierarchy, a
placement in one queue also changes the keys of queues that share a parent with it. Computing all keys after each turn
would cost time in proportion to the number of queues. So the keys are kept in parts, as the nodes of a tree: queues
that share a part share its node, each node knows the best key below it, and a change updates one path to the root.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Protocol

from vsched.actions.ordering import QueueOrdering
from vsched.model.queues.queue import Queue


class WaitingQueues(Protocol):
    """The queues that wait for a turn, in order."""

    def take(self) -> Queue | None:
        """Remove and return the queue that goes first; None where none waits."""
        ...

    def put(self, queue: Queue) -> None:
        """Add the queue again, with its present key."""
        ...

    def moved(self, queues: Iterable[Queue]) -> None:
        """Update the keys after the usage of these queues has changed."""
        ...


def waiting_queues(ordering: QueueOrdering, queues: Iterable[Queue], *, alone: bool = True) -> WaitingQueues:
    """The order of these queues, which all wait. ``alone``: a turn changes only the usage of the queue that has it."""
    if alone and not ordering.moves_together:
        return QueueHeap(ordering, queues)
    return QueueTreeHeap(ordering, queues)


class QueueHeap:
    """A heap of keys, for queues whose keys do not change while they wait."""

    def __init__(self, ordering: QueueOrdering, queues: Iterable[Queue]) -> None:
        self._key = ordering.queue_key
        self._numbers = count()
        waiting = list(queues)
        if len(waiting) == 1:  # with nobody to be compared with
            self._heap: list[tuple[Any, int, Queue]] = [((), next(self._numbers), waiting[0])]
        else:
            self._heap = [(self._key(queue), next(self._numbers), queue) for queue in waiting]
            heapify(self._heap)

    def take(self) -> Queue | None:
        """Remove and return the queue that goes first; None where none waits."""
        if not self._heap:
            return None
        return heappop(self._heap)[-1]

    def put(self, queue: Queue) -> None:
        """Add the queue again, with its present key."""
        heappush(self._heap, (self._key(queue), next(self._numbers), queue))

    def moved(self, queues: Iterable[Queue]) -> None:
        """Nothing to update: only the key of the queue that has the turn changes, and it is not in the heap."""


class QueueNode:
    """A node of the tree of key parts: one part, shared by the keys of all queues below it."""

    __slots__ = ("best", "children", "heap", "queue", "value")

    def __init__(self) -> None:
        self.value: Any = ()
        self.children: dict[Hashable, QueueNode] = {}
        self.heap: list[tuple[Any, int, QueueNode]] = []
        """A heap of children by their best key. Stale entries are dropped when they reach the top."""
        self.queue: Queue | None = None
        """The queue that waits here; only leaves have one."""
        self.best: Any = None
        """The value of this part, then the best key below it; None where no queue waits. Smaller goes first."""

    def first(self) -> QueueNode | None:
        """The child with the best key; None where no queue waits below."""
        heap = self.heap
        while heap and heap[0][0] is not heap[0][2].best:
            heappop(heap)
        return heap[0][2] if heap else None

    def weigh(self) -> None:
        """Compute the best key again."""
        if self.queue is not None:
            self.best = (self.value, ())
            return
        first = self.first()
        self.best = None if first is None else (self.value, first.best)


class QueueTreeHeap:
    """A tree of key parts, for queues whose keys change together."""

    def __init__(self, ordering: QueueOrdering, queues: Iterable[Queue]) -> None:
        self._ordering = ordering
        self._waiting: dict[str, Queue] = {}
        self._numbers = count()
        self._out: list[QueueNode] = []
        """The path to the queue that was taken last, as long as the best keys on it are not updated."""
        for queue in queues:
            self._waiting[queue.name] = queue
        self._build()

    def take(self) -> Queue | None:
        """Remove and return the queue that goes first; None where none waits."""
        self._update_path(self._out)
        if self._epoch != self._ordering.epoch():
            self._build()
        path = [self._root]
        while (first := path[-1].first()) is not None:
            path.append(first)
        queue = path[-1].queue
        if queue is not None:
            path[-1].queue = None
            del self._waiting[queue.name]
            self._out = path
        return queue

    def put(self, queue: Queue) -> None:
        """Add the queue again, with its present key."""
        self._waiting[queue.name] = queue
        self._insert(queue)

    def moved(self, queues: Iterable[Queue]) -> None:
        """Update the parts of these queues' keys, and with them the keys of all queues that share the parts."""
        for queue in queues:
            path = [self._root]
            for name, value in self._ordering.queue_parts(queue):
                child = path[-1].children.get(name)
                if child is None:
                    break
                child.value = value
                path.append(child)
            self._update_path(path)
            if self._out and path[-1] is self._out[-1]:
                self._out = []

    def _build(self) -> None:
        self._epoch = self._ordering.epoch()
        self._root, self._out = QueueNode(), []
        for queue in self._waiting.values():
            self._insert(queue)

    def _insert(self, queue: Queue) -> None:
        path = [self._root]
        for name, value in self._ordering.queue_parts(queue):
            child = path[-1].children.get(name)
            if child is None:
                child = path[-1].children[name] = QueueNode()
            child.value = value
            path.append(child)
        path[-1].queue = queue
        self._update_path(path)
        if self._out and path[-1] is self._out[-1]:
            self._out = []

    def _update_path(self, path: list[QueueNode]) -> None:
        """Update the best keys along a path, from its end to the root."""
        for parent, node in zip(reversed(path[:-1]), reversed(path), strict=False):
            node.weigh()
            if node.best is not None:
                heappush(parent.heap, (node.best, next(self._numbers), node))

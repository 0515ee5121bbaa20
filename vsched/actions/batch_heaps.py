"""Heaps of batches in the order of their next jobs; grouped by namespace and by user where these are ordered.

Keys are computed when an entry is added. Those of the group and the job that have the turn are not in the heaps
meanwhile, so that no key becomes stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from vsched.framework.classes import Batch, Rank


class BatchHeap:
    """A heap of batches that wait for turns."""

    def __init__(self) -> None:
        self._heap: list[tuple[Rank, Batch]] = []

    def add(self, batch: Batch) -> None:
        """Add a batch before the first turn, or before all are put in order again."""
        self._heap.append((batch.rank, batch))

    def order(self) -> None:
        """Put all in order."""
        heapify(self._heap)

    def put(self, batch: Batch) -> None:
        """Add a batch during a turn."""
        heappush(self._heap, (batch.rank, batch))

    @property
    def first(self) -> Any:
        """The sort key of the next job."""
        return self._heap[0][0]

    def pop(self) -> tuple[tuple[Any, ...], Batch]:
        """Remove the batch with the next job; returns the keys of its groups as well."""
        return (), heappop(self._heap)[1]

    def end_turn(self, *, idle: bool) -> None:
        """A turn is over."""

    def batches(self) -> Iterator[Batch]:
        """The batches, in no particular order."""
        for _, batch in self._heap:
            yield batch

    def __bool__(self) -> bool:
        return bool(self._heap)


class GroupedHeap:
    """The same in groups, by namespace or by user."""

    def __init__(
        self, name_of: Callable[[Batch], str], key_of: Callable[[str], Any], heap_of: Callable[[str], AnyHeap]
    ) -> None:
        self._name_of, self._key_of, self._heap_of = name_of, key_of, heap_of
        self._heaps: dict[str, AnyHeap] = {}
        self._heap: list[tuple[Any, Any, str]] = []

    def add(self, batch: Batch) -> None:
        """Add a batch before the first turn, or before all are put in order again."""
        name = self._name_of(batch)
        heap = self._heaps.get(name)
        if heap is None:
            heap = self._heaps[name] = self._heap_of(name)
        heap.add(batch)

    def order(self) -> None:
        """Put all in order."""
        for heap in self._heaps.values():
            heap.order()
        self._heap = [(self._key(name), heap.first, name) for name, heap in self._heaps.items() if heap]
        heapify(self._heap)

    def _key(self, name: str) -> Any:
        return self._key_of(name) if len(self._heaps) > 1 else ()

    def put(self, batch: Batch) -> None:
        """Add a batch during its turn."""
        self._heaps[self._turn].put(batch)

    @property
    def first(self) -> Any:
        """The sort keys of the next group and job."""
        return self._heap[0][:2]

    def pop(self) -> tuple[tuple[Any, ...], Batch]:
        """Remove the batch with the next job; returns the keys of its groups as well."""
        self._now, _, self._turn = heappop(self._heap)
        keys, batch = self._heaps[self._turn].pop()
        return (self._now, *keys), batch

    def end_turn(self, *, idle: bool) -> None:
        """A turn is over; ``idle``: keys are as they were."""
        heap = self._heaps[self._turn]
        heap.end_turn(idle=idle)
        if heap:
            heappush(self._heap, (self._now if idle else self._key(self._turn), heap.first, self._turn))

    def batches(self) -> Iterator[Batch]:
        """The batches, in no particular order."""
        for heap in self._heaps.values():
            yield from heap.batches()

    def __bool__(self) -> bool:
        return bool(self._heap)


AnyHeap = BatchHeap | GroupedHeap

"""Heaps of segments in the order of their next jobs; grouped by namespace and by user where these are ordered.

Keys are computed when an entry is added. Those of the group and the job that have the turn are not in the heaps
meanwhile, so that no key becomes stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any

from vsched.framework.classes import Rank, Segment


class SegmentHeap:
    """Segments that wait for turns. Those that had none yet are sorted, so that the next one is found at once."""

    def __init__(self) -> None:
        self._ahead: list[tuple[Rank, Segment]] = []
        """The last one goes first."""
        self._again: list[tuple[Rank, Segment]] = []
        """A heap of those that were put back."""

    def add(self, segment: Segment) -> None:
        """Add a segment before the first turn, or before all are put in order again."""
        self._ahead.append((segment.rank, segment))

    def order(self) -> None:
        """Put all in order."""
        self._ahead.sort(reverse=True)

    def put(self, segment: Segment) -> None:
        """Add a segment during a turn."""
        heappush(self._again, (segment.rank, segment))

    @property
    def _is_again(self) -> bool:
        """Whether the next one was put back."""
        return bool(self._again) and (not self._ahead or self._again[0] < self._ahead[-1])

    @property
    def first(self) -> Any:
        """The sort key of the next job."""
        return (self._again[0] if self._is_again else self._ahead[-1])[0]

    def pop(self) -> tuple[tuple[Any, ...], Segment]:
        """Remove the segment with the next job; returns the keys of its groups as well."""
        return (), (heappop(self._again) if self._is_again else self._ahead.pop())[1]

    def end_turn(self, *, idle: bool) -> None:
        """A turn is over."""

    def segments(self) -> Iterator[Segment]:
        """The segments, in no particular order."""
        for _, segment in chain(self._ahead, self._again):
            yield segment

    def __bool__(self) -> bool:
        return bool(self._ahead or self._again)


class GroupedHeap:
    """The same in groups, by namespace or by user."""

    def __init__(
        self, name_of: Callable[[Segment], str], key_of: Callable[[str], Any], heap_of: Callable[[str], AnyHeap]
    ) -> None:
        self._name_of, self._key_of, self._heap_of = name_of, key_of, heap_of
        self._heaps: dict[str, AnyHeap] = {}
        self._heap: list[tuple[Any, Any, str]] = []

    def add(self, segment: Segment) -> None:
        """Add a segment before the first turn, or before all are put in order again."""
        name = self._name_of(segment)
        heap = self._heaps.get(name)
        if heap is None:
            heap = self._heaps[name] = self._heap_of(name)
        heap.add(segment)

    def order(self) -> None:
        """Put all in order."""
        for heap in self._heaps.values():
            heap.order()
        self._heap = [(self._key(name), heap.first, name) for name, heap in self._heaps.items() if heap]
        heapify(self._heap)

    def _key(self, name: str) -> Any:
        return self._key_of(name) if len(self._heaps) > 1 else ()

    def put(self, segment: Segment) -> None:
        """Add a segment during its turn."""
        self._heaps[self._turn].put(segment)

    @property
    def first(self) -> Any:
        """The sort keys of the next group and job."""
        return self._heap[0][:2]

    def pop(self) -> tuple[tuple[Any, ...], Segment]:
        """Remove the segment with the next job; returns the keys of its groups as well."""
        self._now, _, self._turn = heappop(self._heap)
        keys, segment = self._heaps[self._turn].pop()
        return (self._now, *keys), segment

    def end_turn(self, *, idle: bool) -> None:
        """A turn is over; ``idle``: keys are as they were."""
        heap = self._heaps[self._turn]
        heap.end_turn(idle=idle)
        if heap:
            heappush(self._heap, (self._now if idle else self._key(self._turn), heap.first, self._turn))

    def segments(self) -> Iterator[Segment]:
        """The segments, in no particular order."""
        for heap in self._heaps.values():
            yield from heap.segments()

    def __bool__(self) -> bool:
        return bool(self._heap)


AnyHeap = SegmentHeap | GroupedHeap

"""Free storage of a class, from which volumes are made on demand (CSIStorageCapacity)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.volumes.groups import NONE, Firsts, Grouped, SourceCache, add_bounded, grouped, integers
from vsched.kernels.volumes import NOTHING, totals
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.claims.volumes import StorageCapacity
from vsched.model.nodes.table import Ints, Mask, NodeStatics

SEVERAL = UNLIMITED >> 24
"""The most volumes that one segment is said to hold, so that sums fit into int64."""


class SegmentTable(NamedTuple):
    """The segments of a class as the snapshot shows them; sessions share it."""

    by_group: Grouped
    capacity: Ints
    """Bytes; ``UNLIMITED`` where the driver does not say."""
    largest: Ints
    """The largest volume that can be made, bytes; -1 where the driver says nothing."""


def segment_table(name: str, capacities: Sequence[StorageCapacity], statics: NodeStatics) -> SegmentTable:
    """The segments of a class; read again only when they or the nodes change."""

    def read(before: SegmentTable | None) -> SegmentTable:
        stated = [NONE if one.capacity is None else one.capacity for one in capacities]
        largest = (
            one.largest if one.largest is not None else total for one, total in zip(capacities, stated, strict=True)
        )
        capacity = integers(UNLIMITED if total == NONE else total for total in stated)
        by_group = grouped(capacities, statics, None if before is None else before.by_group)
        most = (total if one is None else one for one, total in zip(largest, stated, strict=True))
        return SegmentTable(by_group, capacity, integers(most))

    cache: SourceCache[SegmentTable] = statics.remember(("segments", name), SourceCache)
    return cache.of(capacities, read)


class Segments:
    """Free storage of a class by segments of nodes, less what is decided and not made yet."""

    def __init__(self, table: SegmentTable) -> None:
        self._by_group, self.capacity, self._largest = table
        self._taken = np.zeros(len(self.capacity), dtype=np.int64)
        self._changes: list[int] = []
        self._firsts: dict[int, Firsts] = {}

    def first(self, request: int) -> Ints:
        """int64[nodes]: the segment in which a volume of this size would be made, ``NOTHING`` without room for it."""
        found = self._firsts.get(request)
        if found is None:
            found = Firsts(self._by_group, self._enough(request), len(self._changes))
            add_bounded(self._firsts, request, found)
        for position in range(found.position, len(self._changes)):
            segment = self._changes[position]
            found.change(segment, self._has_room(segment, request, 0))
        found.position = len(self._changes)
        return found.first

    def at(self, row: int, request: int, more: Mapping[int, int]) -> int:
        """The first segment of a node that has room for the request, else ``NONE``.

        ``more`` says what else is to be taken, by segment.
        """
        if not more:
            first = int(self.first(request)[row])
            return NONE if first == NOTHING else first
        return next(self.all_at(row, request, more), NONE)

    def all_at(self, row: int, request: int, more: Mapping[int, int]) -> Iterator[int]:
        """The segments of a node that have room for the request beside ``more``, as in ``at``."""
        for segment in self._by_group.members_at(row).tolist():
            if self._has_room(segment, request, more.get(segment, 0)):
                yield int(segment)

    def count(self, request: int) -> tuple[Ints, int]:
        """int64[nodes]: how many volumes of this size each node's segments can hold; and how many all together."""
        left = np.where(self._largest >= request, np.maximum(self.capacity - self._taken, 0), 0) // max(request, 1)
        # A volume that the driver allows is made, even if the capacity says less, as long as nothing else was taken.
        left = np.minimum(np.maximum(left, self._enough(request)), SEVERAL)
        by_group = np.zeros(self._by_group.where.size, dtype=np.int64)
        np.add.at(by_group, self._by_group.group, left)
        return totals(self._by_group.where, by_group), int(left.sum())

    def mask_together(self, requests: Sequence[int]) -> Mask:
        """bool[nodes]: the nodes whose segments may hold volumes of all these sizes; an upper bound."""
        total = sum(requests)
        left = np.minimum(self.capacity - self._taken, total)
        # The first volume may be larger than the capacity, if the driver states the largest volume apart from it.
        left = np.where(self._largest > self.capacity, np.maximum(left, max(requests)), left)
        left = np.where(self._largest >= min(requests), np.maximum(left, 0), 0)
        by_group = np.zeros(self._by_group.where.size, dtype=np.int64)
        np.add.at(by_group, self._by_group.group, left)
        mask: Mask = totals(self._by_group.where, np.minimum(by_group, total)) >= total
        return mask

    def shift(self, segment: int, amount: int) -> None:
        """Take an amount from a segment; a negative one is given back."""
        self._taken[segment] += amount
        self._changes.append(segment)

    def _enough(self, request: int) -> Mask:
        """bool[segments]: where a volume of this size can be made."""
        enough: Mask = (self._largest >= request) & ((self._taken == 0) | (self.capacity - self._taken >= request))
        return enough

    def _has_room(self, segment: int, request: int, more: int) -> bool:
        taken = int(self._taken[segment]) + more
        return bool(self._largest[segment] >= request) and (not taken or int(self.capacity[segment]) - taken >= request)

"""Free storage of a class, from which volumes are made on demand (CSIStorageCapacity)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vsched.framework.claims.volumes.groups import NONE, Grouped, first_of, integers
from vsched.kernels.volumes import groups_at, least, reached, totals
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.claims.volumes import StorageCapacity
from vsched.model.nodes.table import Ints, Mask


class Segments:
    """Free storage of a class by segments of nodes (CSIStorageCapacity), less what is decided and not made yet."""

    def __init__(self, capacities: Sequence[StorageCapacity], by_group: Grouped) -> None:
        self.where, self._group = by_group.where, by_group.group
        self.capacity = integers(UNLIMITED if one.capacity is None else one.capacity for one in capacities)
        stated = integers(-1 if one.capacity is None else one.capacity for one in capacities)
        self._largest = integers(
            total if one.largest is None else one.largest
            for one, total in zip(capacities, stated.tolist(), strict=True)
        )
        """The largest volume that can be made, -1 where the driver does not say."""
        self._taken = np.zeros(len(capacities), dtype=np.int64)

    def enough(self, request: int) -> Mask:
        """bool[segments]: where a volume of this size can be made."""
        enough: Mask = (self._largest >= request) & ((self._taken == 0) | (self.capacity - self._taken >= request))
        return enough

    def mask(self, request: int) -> Mask:
        """bool[nodes]: the nodes of segments where a volume of this size can be made."""
        return reached(self.where, self._groups(self.enough(request)))

    def at(self, row: int, request: int, more: Mapping[int, int]) -> int:
        """The first segment of a node that has room for the request, else ``NONE``.

        ``more`` says what else is to be taken, by segment.
        """
        here = np.isin(self._group, groups_at(self.where, row))
        for position in np.flatnonzero(here & (self._largest >= request)).tolist():
            taken = int(self._taken[position]) + more.get(position, 0)
            if not taken or int(self.capacity[position]) - taken >= request:
                return int(position)
        return NONE

    def count(self, request: int) -> tuple[Ints, int]:
        """int64[nodes]: how many volumes of this size each node's segments can hold; and how many all together."""
        left = np.where(self._largest >= request, np.maximum(self.capacity - self._taken, 0), 0) // max(request, 1)
        # A volume that the driver allows is made, even if the capacity says less, as long as nothing else was taken.
        left = np.maximum(left, self.enough(request))
        by_group = np.zeros(self.where.size, dtype=np.int64)
        left = np.minimum(left, UNLIMITED >> 24)
        np.add.at(by_group, self._group, left)
        return totals(self.where, by_group), int(left.sum())

    def first(self, request: int) -> Ints:
        """int64[nodes]: the segment that ``at`` finds for each node, ``NOTHING`` where it finds none."""
        enough = self.enough(request)
        return least(self.where, first_of(self._group, enough, self.where.size))

    def shift(self, segment: int, amount: int) -> None:
        """Take an amount from a segment; a negative one is given back."""
        self._taken[segment] += amount

    def _groups(self, segments: Mask) -> Mask:
        groups = np.zeros(self.where.size, dtype=np.bool_)
        groups[self._group[segments]] = True
        return groups

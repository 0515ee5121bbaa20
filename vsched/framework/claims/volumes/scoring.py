"""Scores nodes by how full the storage would be that the claims of a task get there, by kube-scheduler's formula.

For each storage class: what is requested, in per cent of the capacity of the static volumes that the claims would get,
or of the storage from which volumes would be made. A line through points (``shape``) turns this into a score; the node
gets the mean over classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from vsched.framework.claims.part import VolumeScoring
from vsched.framework.claims.volumes.arranging import StorageLookup
from vsched.framework.claims.volumes.static import Wish
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import Wanted
from vsched.kernels.volumes import NOTHING, broken_line, rounded_mean, utilisation
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Floats, Ints, Mask

DEFAULT_SHAPE = ((0, 10), (100, 0))
"""Emptier storage is better."""
TENFOLD = 10
"""Scores of nodes are 0 to 100, those of the shape 0 to 10."""

Figures = tuple[Ints, Ints, Mask]
"""Requested bytes, capacity in bytes, and where they count: arrays by node."""


class VolumeScores:
    """The scores of one session."""

    def __init__(self, storages: StorageLookup, scoring: VolumeScoring, nodes: int) -> None:
        self._storages = storages
        self._weight = scoring.weight
        self._shape = [(at, points * TENFOLD) for at, points in scoring.shape or DEFAULT_SHAPE]
        self._nodes = nodes
        self._known: dict[Hashable, tuple[tuple[int, ...], Floats | None]] = {}

    def of(self, key: Hashable, waiting: Sequence[Wanted]) -> Floats | None:
        """The weighted scores for the claims that wait for their first pod. Callers must not change the array."""
        wishes: dict[str, list[Wish]] = {}
        for one in sorted(waiting, key=lambda one: one.claim.request):
            wish = one.content.wish
            if wish is not None:
                wishes.setdefault(wish.storage_class, []).append(wish)
        if not wishes or not self._weight:
            return None
        storages = [self._storages.of(name) for name in wishes]
        versions = tuple(storage.version for storage in storages)
        known = self._known.get(key)
        if known is None or known[0] != versions:
            scores = self._scores([(storage, wishes[storage.name]) for storage in storages])
            known = self._known[key] = (versions, scores)
        return known[1]

    def _scores(self, classes: Sequence[tuple[ClassStorage, Sequence[Wish]]]) -> Floats | None:
        static = [found for storage, wishes in classes if (found := self._static(storage, wishes)) is not None]
        made = [found for storage, wishes in classes if (found := self._made(storage, wishes)) is not None]
        # Storage for new volumes counts only on nodes where the task gets no static volume.
        bound = np.zeros(self._nodes, dtype=np.bool_)
        for _, _, counts in static:
            bound |= counts
        figures = [*static, *((requested, capacity, counts & ~bound) for requested, capacity, counts in made)]
        if not any(counts.any() for _, _, counts in figures):
            return None
        values = [broken_line(self._shape, utilisation(requested, capacity)) for requested, capacity, _ in figures]
        scores = rounded_mean(values, [counts for _, _, counts in figures])
        weighted: Floats = self._weight * scores
        return weighted

    def _static(self, storage: ClassStorage, wishes: Sequence[Wish]) -> Figures | None:
        """The static volumes of a class. Of several claims each counts with the one it would get alone."""
        if storage.static is None:
            return None
        requested, capacity = (np.zeros(self._nodes, dtype=np.int64) for _ in range(2))
        for wish in wishes:
            if not wish.selected_node:
                first = storage.static.first(wish)
                there = first != NOTHING
                requested += np.where(there, wish.request, 0)
                capacity += np.where(there, storage.static.sizes[np.where(there, first, 0)], 0)
        return requested, capacity, capacity > 0

    def _made(self, storage: ClassStorage, wishes: Sequence[Wish]) -> Figures | None:
        """The storage from which volumes of a class would be made, where the driver says how much there is."""
        segments = storage.segments
        if segments is None or not storage.provisions or not len(segments.capacity):
            return None
        requested, capacity = (np.zeros(self._nodes, dtype=np.int64) for _ in range(2))
        for wish in wishes:
            first = segments.first(wish.request)
            there = first != NOTHING
            total = segments.capacity[np.where(there, first, 0)]
            there &= total < UNLIMITED
            requested += np.where(there, wish.request, 0)
            capacity = np.where(there, total, capacity)
        return requested, capacity, capacity > 0

"""Scores nodes by how full the storage would be that the claims of a task get there, by kube-scheduler's formula.

For each storage class: what is requested, in per cent of the capacity of the static volumes that the claims would get,
or of the storage from which volumes would be made. A line through points (``shape``) turns this into a score; the node
gets the mean over classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.framework.claims.handler import VolumeScoring
from vsched.framework.claims.volumes.static import VolumeNeed
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.storages import Storages
from vsched.framework.claims.volumes.wants import WantedClaim
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

    def __init__(self, storages: Storages, scoring: VolumeScoring, nodes: int) -> None:
        self._storages = storages
        self._weight = scoring.weight
        self._shape = [(at, points * TENFOLD) for at, points in scoring.shape or DEFAULT_SHAPE]
        self._nodes = nodes
        self._known: dict[tuple[VolumeNeed, ...], tuple[int, Floats | None]] = {}
        self._values: dict[tuple[str, int], Floats] = {}

    def of(self, waiting: Sequence[WantedClaim]) -> Floats | None:
        """The weighted scores for the claims that wait for their first pod. Callers must not change the array."""
        needs = tuple(need for one in waiting if (need := one.content.need) is not None)
        version = sum(storage.version for storage in self._storages.used_by(waiting))
        known = self._known.get(needs)
        if known is None or known[0] != version:
            scores = self._alone(needs[0]) if len(needs) == 1 else self._together(needs)
            known = self._known[needs] = (version, scores)
        return known[1]

    # -- one claim --------------------------------------------------------------------------------------------------

    def _alone(self, need: VolumeNeed) -> Floats | None:
        """A lookup by the volume, or by the segment of storage, that each node offers."""
        storage = self._storages.of(need.storage_class)
        scores: Floats | None = None
        if storage.segments is not None and storage.provisions and not need.counted:
            values = self._value("segments", storage.name, need.request, storage.segments.capacity)
            scores = values[np.minimum(storage.segments.first(need.request), len(values) - 1)]
        if storage.static is not None and not need.selected_node:
            values = self._value("volumes", storage.name, need.request, storage.static.sizes)
            first = storage.static.first(need)
            found = values[np.minimum(first, len(values) - 1)]
            scores = found if scores is None else np.where(first == NOTHING, scores, found)
        return scores if scores is not None and scores.any() else None

    def _value(self, kind: str, name: str, request: int, capacity: Ints) -> Floats:
        """float64[entries + 1]: the score of each volume or segment; the last element is for nodes without."""
        key = (f"{kind} of {name}", request)
        found = self._values.get(key)
        if found is None:
            scores = broken_line(self._shape, utilisation(np.full(len(capacity), request), capacity))
            stated = (capacity > 0) & (capacity < UNLIMITED)
            found = np.append(np.where(stated, scores * self._weight, 0), 0).astype(np.float64)
            self._values[key] = found
        return found

    # -- several claims ---------------------------------------------------------------------------------------------

    def _together(self, needs: Sequence[VolumeNeed]) -> Floats | None:
        by_class: dict[str, list[VolumeNeed]] = {}
        for need in sorted(needs, key=lambda need: need.request):
            by_class.setdefault(need.storage_class, []).append(need)
        classes = [(self._storages.of(name), several) for name, several in by_class.items()]
        static = [found for storage, several in classes if (found := self._static(storage, several)) is not None]
        made = [found for storage, several in classes if (found := self._made(storage, several)) is not None]
        # Storage for new volumes counts only on nodes where the task gets no static volume.
        bound = np.zeros(self._nodes, dtype=np.bool_)
        for _, _, counts in static:
            bound |= counts
        figures = [*static, *((requested, capacity, counts & ~bound) for requested, capacity, counts in made)]
        if not any(counts.any() for _, _, counts in figures):
            return None
        values = [broken_line(self._shape, utilisation(requested, capacity)) for requested, capacity, _ in figures]
        weighted: Floats = self._weight * rounded_mean(values, [counts for _, _, counts in figures])
        return weighted

    def _static(self, storage: ClassStorage, needs: Sequence[VolumeNeed]) -> Figures | None:
        """The static volumes of a class. Of several claims each counts with the one it would get alone."""
        if storage.static is None:
            return None
        requested, capacity = (np.zeros(self._nodes, dtype=np.int64) for _ in range(2))
        for need in needs:
            if not need.selected_node:
                first = storage.static.first(need)
                there = first != NOTHING
                requested += np.where(there, need.request, 0)
                capacity += np.where(there, storage.static.sizes[np.where(there, first, 0)], 0)
        return requested, capacity, capacity > 0

    def _made(self, storage: ClassStorage, needs: Sequence[VolumeNeed]) -> Figures | None:
        """The storage from which volumes of a class would be made, where the driver says how much there is."""
        segments = storage.segments
        if segments is None or not storage.provisions or not len(segments.capacity):
            return None
        requested, capacity = (np.zeros(self._nodes, dtype=np.int64) for _ in range(2))
        for need in needs:
            first = segments.first(need.request)
            there = first != NOTHING
            total = segments.capacity[np.where(there, first, 0)]
            there &= total < UNLIMITED
            requested += np.where(there, need.request, 0)
            capacity = np.where(there, total, capacity)
        return requested, capacity, capacity > 0

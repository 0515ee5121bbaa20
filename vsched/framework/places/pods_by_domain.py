"""How many pods of a job or sub-group have a node in each domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.framework.subgroups import NodeChange
from vsched.model.topology.tiers import NO_DOMAIN, Tier


class PodsByDomain:
    """Counts of pods with a node by domain, for each of some tiers. An update costs what is new."""

    __slots__ = ("_counts", "_ids", "_row", "_seen", "total")

    def __init__(self, tiers: Sequence[Tier], row: Mapping[str, int]) -> None:
        self._ids = [tier.ids for tier in tiers]
        self._row = row
        self._counts: list[dict[int, int]] = [{} for _ in tiers]
        self._seen = 0
        self.total = 0
        """The number of counted pods."""

    def follow(self, changes: Sequence[NodeChange]) -> PodsByDomain:
        """Count the changes that are new since the last call; returns itself."""
        if len(changes) > self._seen:
            for node, by in changes[self._seen :]:
                self.count(node, by)
            self._seen = len(changes)
        return self

    def count(self, node: str, by: int) -> None:
        """Count one pod more (``by=1``) or less (``by=-1``) on a node; unknown nodes are skipped."""
        row = self._row.get(node)
        if row is None:
            return
        self.total += by
        for ids, counts in zip(self._ids, self._counts, strict=True):
            domain = int(ids[row])
            count = counts.get(domain, 0) + by
            if count:
                counts[domain] = count
            else:
                del counts[domain]

    def domain(self, tier: int) -> int | None:
        """The number of the domain of a tier that holds all pods; None where there is none."""
        counts = self._counts[tier]
        if len(counts) != 1:
            return None
        found = next(iter(counts))
        return None if found == NO_DOMAIN else found

    def lowest(self) -> int | None:
        """The position of the closest tier with one domain that holds all pods; None without pods or such a tier."""
        return next((tier for tier in range(len(self._counts)) if self.domain(tier) is not None), None)

    def inside(self, tier: int) -> Mapping[int, int]:
        """The number of pods by domain of a tier; pods in no domain are under ``NO_DOMAIN``."""
        return self._counts[tier]

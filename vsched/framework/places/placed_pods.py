"""Where the pods of a job, or of a part of it, stand: how many are in each domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.framework.subgroups import Step
from vsched.model.topology.tiers import NO_DOMAIN, Tier


class Footing:
    """Counts of pods with a node by domain, for each of some tiers. Cost follows the steps since the last look."""

    __slots__ = ("_counts", "_ids", "_row", "_seen", "pods")

    def __init__(self, tiers: Sequence[Tier], row: Mapping[str, int]) -> None:
        self._ids = [tier.ids for tier in tiers]
        self._row = row
        self._counts: list[dict[int, int]] = [{} for _ in tiers]
        self._seen = 0
        self.pods = 0
        """The number of pods with a node that is known."""

    def follow(self, trail: Sequence[Step]) -> Footing:
        """The same after the further steps of this trail, of the job or of a sub-group."""
        if len(trail) > self._seen:
            for node, by in trail[self._seen :]:
                self.count(node, by)
            self._seen = len(trail)
        return self

    def count(self, node: str, by: int) -> None:
        """Count one pod more (``by=1``) or less (``by=-1``) on a node; nodes that are not known count for nothing."""
        row = self._row.get(node)
        if row is None:
            return
        self.pods += by
        for ids, counts in zip(self._ids, self._counts, strict=True):
            domain = int(ids[row])
            count = counts.get(domain, 0) + by
            if count:
                counts[domain] = count
            else:
                del counts[domain]

    def domain(self, tier: int) -> int | None:
        """The domain of a tier, by its position, that all pods are in; None where there is none."""
        counts = self._counts[tier]
        if len(counts) != 1:
            return None
        found = next(iter(counts))
        return None if found == NO_DOMAIN else found

    def lowest(self) -> int | None:
        """The position of the closest tier with a domain that all pods are in; None without pods or such a tier."""
        return next((tier for tier in range(len(self._counts)) if self.domain(tier) is not None), None)

    def inside(self, tier: int) -> Mapping[int, int]:
        """Numbers of pods by domain of a tier; pods in none are under ``NO_DOMAIN``."""
        return self._counts[tier]

"""What namespaces and buckets keep in the course of a round of taking back, and what of it must stay."""

from __future__ import annotations

from vsched.arbitrator.overuse import NO_AWARD, degree_of, excess_of
from vsched.model.arbitration import Arbitration, Award, Division
from vsched.model.counted import Counted, summed

Sums = dict[str, int]


class Kept:
    """What everybody keeps as of now: what the round evicts is no longer kept, what it keeps room for already is."""

    def __init__(self, arbitration: Arbitration, division: Division) -> None:
        self._parties = arbitration.parties
        self._division = division
        self._namespaces: dict[str, Sums] = {}
        self._buckets: dict[str, Sums] = {}

    def of(self, namespace: str) -> Sums:
        """What a namespace keeps, base units by counted name. Read only."""
        found = self._namespaces.get(namespace)
        if found is None:
            found = self._namespaces[namespace] = self._parties[namespace].kept
        return found

    def award(self, namespace: str) -> Award:
        """What the division gives a namespace."""
        return self._division.namespaces.get(namespace, NO_AWARD)

    def shift(self, namespace: str, amounts: Counted, sign: int) -> None:
        """Something comes to a namespace (``sign=1``) or goes (``sign=-1``)."""
        bucket = self._buckets.get(self._bucket_of(namespace))
        for sums in (self.of(namespace), bucket):
            if sums is not None:
                for name, value in amounts.items():
                    sums[name] = sums.get(name, 0) + sign * value

    def excess(self, namespace: str) -> Sums:
        """By how much it keeps more than it deserves of what is divided."""
        return excess_of(self.of(namespace), self.award(namespace), self._division.total)

    def degree_of(self, excess: Counted) -> float:
        """How overused a namespace is with this excess."""
        return degree_of(excess, self._division.total)

    def share(self, namespace: str) -> float:
        """The largest part of the cluster that it keeps of anything, by its weight: the neediest has the smallest."""
        kept, total = self.of(namespace), self._division.total
        largest = max((kept.get(name, 0) / amount for name, amount in total.items() if amount > 0), default=0.0)
        return largest / self._parties[namespace].own_weight

    def may_lose(self, namespace: str, amounts: Counted, claimant: str) -> bool:
        """Whether what is kept in reserve stays, that of its bucket too where something leaves the bucket."""
        if not _leaves(self.of(namespace), amounts, self.award(namespace).reserved):
            return False
        bucket = self._bucket_of(namespace)
        if not bucket or bucket == self._bucket_of(claimant):
            return True
        return _leaves(self._of_bucket(bucket), amounts, self._division.buckets[bucket].reserved)

    def _bucket_of(self, namespace: str) -> str:
        claim = self._parties[namespace].claim
        return claim.parent if claim is not None and claim.parent in self._division.buckets else ""

    def _of_bucket(self, bucket: str) -> Sums:
        found = self._buckets.get(bucket)
        if found is None:
            children = (name for name in self._parties if self._bucket_of(name) == bucket)
            found = self._buckets[bucket] = summed(self.of(name) for name in children)
        return found


def _leaves(kept: Counted, amounts: Counted, reserved: Counted) -> bool:
    return all(
        kept.get(name, 0) - value >= reserved.get(name, 0) for name, value in amounts.items() if name in reserved
    )

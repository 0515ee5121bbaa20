"""What namespaces and buckets keep in the course of a round of taking back, and what of it must stay."""

from __future__ import annotations

from vsched.arbitrator.overuse import NO_AWARD, degree_of, excess_of, kept_in_buckets
from vsched.arbitrator.tree import path
from vsched.model.amounts.counted import Counted
from vsched.model.arbitration.records import Arbitration, Award, Division

Sums = dict[str, int]


class Kept:
    """What everybody keeps as of now: what the round evicts is no longer kept, what it keeps room for already is."""

    def __init__(self, arbitration: Arbitration, division: Division) -> None:
        self._parties = arbitration.parties
        self._division = division
        self._namespaces: dict[str, Sums] = {}
        self._in_buckets: dict[str, Sums] = kept_in_buckets(arbitration, division)

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
        above = (self._in_buckets[bucket] for bucket in self.buckets_of(namespace))
        for sums in (self.of(namespace), *above):
            for name, value in amounts.items():
                sums[name] = sums.get(name, 0) + sign * value

    def excess(self, namespace: str) -> Sums:
        """By how much it keeps more than it deserves of what is divided."""
        return excess_of(self.of(namespace), self.award(namespace), self._division.total)

    def degree_of(self, namespace: str, excess: Counted) -> float:
        """How overused a namespace is with this excess."""
        return degree_of(excess, self.award(namespace), self._division.total)

    def lacking(self, namespace: str, amounts: Counted) -> dict[str, Sums]:
        """By how much its buckets would keep more than they may with so much more in it; those that would not, not."""
        found: dict[str, Sums] = {}
        for bucket in self.buckets_of(namespace):
            kept, hard = self._in_buckets[bucket], self._division.buckets[bucket].hard
            short = {
                name: over
                for name, value in amounts.items()
                if value and name in hard and (over := kept.get(name, 0) + value - hard[name]) > 0
            }
            if short:
                found[bucket] = short
        return found

    def buckets_of(self, namespace: str) -> tuple[str, ...]:
        """The bucket that a namespace is in, and those above it."""
        return path(self.award(namespace).parent, self._division.parents)

    def share(self, namespace: str) -> float:
        """The largest part of the cluster that it keeps of anything, by its weight: the neediest has the smallest."""
        kept, total = self.of(namespace), self._division.total
        largest = max((kept.get(name, 0) / amount for name, amount in total.items() if amount > 0), default=0.0)
        return largest / self._parties[namespace].own_weight

    def may_lose(self, namespace: str, amounts: Counted, claimant: str) -> bool:
        """Whether what is kept in reserve stays, that of its buckets too where something leaves them."""
        if not _leaves(self.of(namespace), amounts, self.award(namespace).reserved):
            return False
        own = self.buckets_of(claimant)
        return all(
            _leaves(self._in_buckets[bucket], amounts, self._division.buckets[bucket].reserved)
            for bucket in self.buckets_of(namespace)
            if bucket not in own
        )


def _leaves(kept: Counted, amounts: Counted, reserved: Counted) -> bool:
    return all(
        kept.get(name, 0) - value >= reserved.get(name, 0) for name, value in amounts.items() if name in reserved
    )

"""What namespaces and buckets keep, counted through one round of taking back, and what of it must stay."""

from __future__ import annotations

from vsched.arbitrator.overuse import NO_AWARD, degree_of, excess_of, kept_in_buckets
from vsched.arbitrator.tree import path
from vsched.model.amounts.counted import Counted
from vsched.model.arbitration.records import Arbitration, Award, Division

Sums = dict[str, int]


class KeptAmounts:
    """What each namespace and bucket keeps at this point of the round.

    Pods that the round evicts no longer count; pods that it has kept room for count already.
    """

    def __init__(self, arbitration: Arbitration, division: Division) -> None:
        self._accounts = arbitration.parties
        self._division = division
        self._namespaces: dict[str, Sums] = {}
        self._in_buckets: dict[str, Sums] = kept_in_buckets(arbitration, division)

    def of(self, namespace: str) -> Sums:
        """What a namespace keeps, base units by counted name. Read only."""
        found = self._namespaces.get(namespace)
        if found is None:
            found = self._namespaces[namespace] = self._accounts[namespace].kept
        return found

    def award(self, namespace: str) -> Award:
        """What the division gives a namespace."""
        return self._division.namespaces.get(namespace, NO_AWARD)

    def shift(self, namespace: str, amounts: Counted, sign: int) -> None:
        """Add amounts to a namespace and its buckets (``sign=1``) or remove them (``sign=-1``)."""
        above = (self._in_buckets[bucket] for bucket in self.buckets_of(namespace))
        for sums in (self.of(namespace), *above):
            for name, value in amounts.items():
                sums[name] = sums.get(name, 0) + sign * value

    def excess(self, namespace: str) -> Sums:
        """By how much a namespace keeps more than it deserves, for resources that are divided."""
        return excess_of(self.of(namespace), self.award(namespace), self._division.total)

    def degree_of(self, namespace: str, excess: Counted) -> float:
        """How overused a namespace is with this excess."""
        return degree_of(excess, self.award(namespace), self._division.total)

    def lacking(self, namespace: str, amounts: Counted) -> dict[str, Sums]:
        """By how much buckets of a namespace would exceed their limits with these amounts added; only such buckets."""
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
        """The dominant share of what a namespace keeps, divided by its weight; the neediest has the smallest."""
        kept, total = self.of(namespace), self._division.total
        largest = max((kept.get(name, 0) / amount for name, amount in total.items() if amount > 0), default=0.0)
        return largest / self._accounts[namespace].own_weight

    def may_lose(self, namespace: str, amounts: Counted, claimant: str) -> bool:
        """Whether the namespace can lose these amounts without going below its reservation.

        The same must hold for each of its buckets that the claimant is not in.
        """
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

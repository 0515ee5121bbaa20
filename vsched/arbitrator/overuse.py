"""Who is short of what it deserves, and who uses more than it deserves meanwhile (seed 001, "Preemption").

Compared is what a namespace keeps: what is on its way out counts neither for nor against it. Who keeps more than it
deserves of anything is not short, so no namespace is both. Who keeps more than its limit is overused whoever is short.
"""

from __future__ import annotations

from collections.abc import Mapping

from vsched.arbitrator.conditions import OVERUSED, TRUE
from vsched.arbitrator.effects import Overuse
from vsched.arbitrator.tree import path
from vsched.arbitrator.wants import Asking, wants_of
from vsched.model.amounts.counted import Counted, beyond_limit
from vsched.model.arbitration.records import (
    DEFAULT_CONSUMER,
    SYSTEM_NAMESPACE,
    AllocationRecord,
    Arbitration,
    Award,
    Division,
    NamespaceAccount,
)
from vsched.model.snapshot import Snapshot

NO_AWARD = Award({}, {})


def record_of(party: NamespaceAccount) -> AllocationRecord | None:
    """The Allocation that counts: the namesake of the Consumer, or, without a Consumer, the one that will be.

    Where a Consumer cannot be read, whichever there is.
    """
    if party.unreadable and party.claim is None:
        return next(iter(party.allocations), None)
    name = party.claim.name if party.claim is not None else DEFAULT_CONSUMER
    return next((record for record in party.allocations if record.name == name), None)


def excess_of(kept: Counted, award: Award, total: Counted) -> dict[str, int]:
    """By how much a namespace keeps more than it deserves of what is divided, in the cluster or in its buckets."""
    deserved, shared = award.deserved, award.shared
    return {
        name: value - deserved.get(name, 0)
        for name, value in kept.items()
        if value > deserved.get(name, 0) and (name in total or name in shared)
    }


def degree_of(excess: Counted, award: Award, total: Counted) -> float:
    """How overused a namespace is: the largest part, of the cluster or else of its buckets, that it keeps too much."""
    shared = award.shared
    return max((value / max(1, total.get(name, shared.get(name, 0))) for name, value in excess.items()), default=0.0)


def excesses(arbitration: Arbitration, division: Division) -> dict[str, dict[str, int]]:
    """Namespaces that keep more than they deserve, and by how much."""
    found: dict[str, dict[str, int]] = {}
    for name, party in arbitration.parties.items():
        if party.held and name != SYSTEM_NAMESPACE:
            excess = excess_of(party.kept, division.namespaces.get(name, NO_AWARD), division.total)
            if excess:
                found[name] = excess
    return found


def over_limits(arbitration: Arbitration, division: Division) -> dict[str, dict[str, int]]:
    """Namespaces that keep more than they may at most, and by how much."""
    found: dict[str, dict[str, int]] = {}
    for name, party in arbitration.parties.items():
        hard = division.namespaces.get(name, NO_AWARD).hard
        if hard and party.held and (beyond := beyond_limit(party.kept, hard)):
            found[name] = beyond
    return found


def kept_in_buckets(arbitration: Arbitration, division: Division) -> dict[str, dict[str, int]]:
    """What the namespaces in each bucket keep together, at whatever level they are in it."""
    found: dict[str, dict[str, int]] = {name: {} for name in division.buckets}
    for name, party in arbitration.parties.items():
        award = division.namespaces.get(name, NO_AWARD)
        if award.parent:
            kept = party.kept
            for bucket in path(award.parent, division.parents):
                sums = found[bucket]
                for resource, value in kept.items():
                    sums[resource] = sums.get(resource, 0) + value
    return found


def shortages(snapshot: Snapshot, division: Division, asking: Asking) -> tuple[str, ...]:
    """Namespaces where something waits that would stay within what they deserve, sorted."""
    arbitration = snapshot.arbitration
    assert arbitration is not None, "asked where somebody arbitrates"
    found: list[str] = []
    for name, party in sorted(arbitration.parties.items()):
        if not any(party.waiting.values()) or party.terminating:
            continue
        award = division.namespaces.get(name, NO_AWARD)
        if any(True for _ in wants_of(party, party.kept, award, snapshot, asking)):
            found.append(name)
    return tuple(found)


def overuses(
    arbitration: Arbitration,
    division: Division,
    exceeding: Mapping[str, dict[str, int]],
    in_buckets: Mapping[str, Counted],
    claimants: tuple[str, ...],
    now: float,
) -> dict[str, Overuse]:
    """Who is overused, and since when by its Allocation.

    That is whoever keeps more than it deserves while somebody is short; and, whoever is short, whoever keeps more than
    it may at most, or more than it deserves of what its bucket keeps too much of.
    """
    beyond = over_limits(arbitration, division)
    awards = division.buckets.items()
    full = {name: over for name, award in awards if (over := beyond_limit(in_buckets[name], award.hard))}
    found: dict[str, Overuse] = {}
    for name in sorted(exceeding.keys() | beyond.keys()):
        award, excess, limits = division.namespaces.get(name, NO_AWARD), exceeding.get(name, {}), beyond.get(name, {})
        above = path(award.parent, division.parents) if full else ()
        buckets = tuple(bucket for bucket in above if not excess.keys().isdisjoint(full.get(bucket, ())))
        if claimants or limits or buckets:
            degree = degree_of(excess, award, division.total)
            since = _since(arbitration.parties[name], now)
            found[name] = Overuse(name, since, excess, degree, claimants if excess else (), limits, buckets)
    return found


def _since(party: NamespaceAccount, now: float) -> float:
    record = record_of(party)
    told = record.condition(OVERUSED) if record is not None else None
    return told.since if told is not None and told.status == TRUE else now

"""Who is short of what it deserves, and who uses more than it deserves meanwhile (seed 001, "Preemption").

Compared is what a namespace keeps: what is on its way out counts neither for nor against it. Who keeps more than it
deserves of anything is not short, so no namespace is both.
"""

from __future__ import annotations

from collections.abc import Mapping

from vsched.arbitrator.conditions import OVERUSED, TRUE
from vsched.arbitrator.effects import Overuse
from vsched.arbitrator.wants import Asking, wants_of
from vsched.model.arbitration import (
    DEFAULT_CONSUMER,
    SYSTEM_NAMESPACE,
    AllocationRecord,
    Arbitration,
    Award,
    Division,
    Party,
)
from vsched.model.counted import Counted
from vsched.model.snapshot import Snapshot

NO_AWARD = Award({}, {})


def record_of(party: Party) -> AllocationRecord | None:
    """The Allocation that counts: the namesake of the Consumer, or, without a Consumer, the one that will be.

    Where a Consumer cannot be read, whichever there is.
    """
    if party.unreadable and party.claim is None:
        return next(iter(party.allocations), None)
    name = party.claim.name if party.claim is not None else DEFAULT_CONSUMER
    return next((record for record in party.allocations if record.name == name), None)


def excess_of(kept: Counted, award: Award, total: Counted) -> dict[str, int]:
    """By how much a namespace keeps more than it deserves of what is divided."""
    deserved = award.deserved
    return {
        name: value - deserved.get(name, 0)
        for name, value in kept.items()
        if value > deserved.get(name, 0) and name in total
    }


def degree_of(excess: Counted, total: Counted) -> float:
    """How overused a namespace is: the largest part of the cluster that it keeps beyond what it deserves."""
    return max((value / max(1, total[name]) for name, value in excess.items()), default=0.0)


def excesses(arbitration: Arbitration, division: Division) -> dict[str, dict[str, int]]:
    """Namespaces that keep more than they deserve, and by how much."""
    found: dict[str, dict[str, int]] = {}
    for name, party in arbitration.parties.items():
        if party.held and name != SYSTEM_NAMESPACE:
            excess = excess_of(party.kept, division.namespaces.get(name, NO_AWARD), division.total)
            if excess:
                found[name] = excess
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
    claimants: tuple[str, ...],
    now: float,
) -> dict[str, Overuse]:
    """Who is overused, and since when by its Allocation: nobody, unless somebody is short."""
    found: dict[str, Overuse] = {}
    for name, excess in sorted(exceeding.items()) if claimants else ():
        since = _since(arbitration.parties[name], now)
        found[name] = Overuse(name, since, excess, degree_of(excess, division.total), claimants)
    return found


def _since(party: Party, now: float) -> float:
    record = record_of(party)
    told = record.condition(OVERUSED) if record is not None else None
    return told.since if told is not None and told.status == TRUE else now

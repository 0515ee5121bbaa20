"""Which namespaces are short of what they deserve, and which are overused.

Both compare what a namespace *keeps*: what it holds without its terminating pods. A namespace that keeps more than it
deserves of any resource is never short, so no namespace is both. A namespace that keeps more than its limit is overused
even when no other namespace is short.
"""

from __future__ import annotations

from collections.abc import Mapping

from vsched.arbitrator.conditions import OVERUSED, TRUE
from vsched.arbitrator.effects import Overuse
from vsched.arbitrator.tree import path
from vsched.arbitrator.wants import PodDemands, wants_of
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


def record_of(account: NamespaceAccount) -> AllocationRecord | None:
    """The Allocation in force: the one named like the Consumer, or like the Consumer that will be made.

    If the Consumer cannot be read, it is the first Allocation of the namespace, if there is any.
    """
    if account.unreadable and account.claim is None:
        return next(iter(account.allocations), None)
    name = account.claim.name if account.claim is not None else DEFAULT_CONSUMER
    return next((record for record in account.allocations if record.name == name), None)


def excess_of(kept: Counted, award: Award, total: Counted) -> dict[str, int]:
    """By how much a namespace keeps more than it deserves, for resources divided in the cluster or in its buckets."""
    deserved, shared = award.deserved, award.shared
    return {
        name: value - deserved.get(name, 0)
        for name, value in kept.items()
        if value > deserved.get(name, 0) and (name in total or name in shared)
    }


def degree_of(excess: Counted, award: Award, total: Counted) -> float:
    """How overused a namespace is: its largest excess as a fraction of the total of the cluster or of its buckets."""
    shared = award.shared
    return max((value / max(1, total.get(name, shared.get(name, 0))) for name, value in excess.items()), default=0.0)


def excesses(arbitration: Arbitration, division: Division) -> dict[str, dict[str, int]]:
    """Namespaces that keep more than they deserve, and by how much."""
    found: dict[str, dict[str, int]] = {}
    for name, account in arbitration.parties.items():
        if account.held and name != SYSTEM_NAMESPACE:
            excess = excess_of(account.kept, division.namespaces.get(name, NO_AWARD), division.total)
            if excess:
                found[name] = excess
    return found


def over_limits(arbitration: Arbitration, division: Division) -> dict[str, dict[str, int]]:
    """Namespaces that keep more than their limit, and by how much."""
    found: dict[str, dict[str, int]] = {}
    for name, account in arbitration.parties.items():
        hard = division.namespaces.get(name, NO_AWARD).hard
        if hard and account.held and (beyond := beyond_limit(account.kept, hard)):
            found[name] = beyond
    return found


def kept_in_buckets(arbitration: Arbitration, division: Division) -> dict[str, dict[str, int]]:
    """The sum of what the namespaces in each bucket keep, those in inner buckets included."""
    found: dict[str, dict[str, int]] = {name: {} for name in division.buckets}
    for name, account in arbitration.parties.items():
        award = division.namespaces.get(name, NO_AWARD)
        if award.parent:
            kept = account.kept
            for bucket in path(award.parent, division.parents):
                sums = found[bucket]
                for resource, value in kept.items():
                    sums[resource] = sums.get(resource, 0) + value
    return found


def shortages(snapshot: Snapshot, division: Division, asking: PodDemands) -> tuple[str, ...]:
    """Namespaces with pending pods that would stay within what the namespace deserves, sorted by name."""
    arbitration = snapshot.arbitration
    assert arbitration is not None, "shortages are asked for only under arbitration"
    found: list[str] = []
    for name, account in sorted(arbitration.parties.items()):
        if not any(account.waiting.values()) or account.terminating:
            continue
        award = division.namespaces.get(name, NO_AWARD)
        if any(True for _ in wants_of(account, account.kept, award, snapshot, asking)):
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
    """The overused namespaces, each with the time since when, as its Allocation states it.

    A namespace is overused in three cases: it keeps more than it deserves while another is short; it keeps more than
    its limit; or its bucket exceeds its limit in a resource of which the namespace keeps more than it deserves.
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


def _since(account: NamespaceAccount, now: float) -> float:
    record = record_of(account)
    condition = record.condition(OVERUSED) if record is not None else None
    return condition.since if condition is not None and condition.status == TRUE else now

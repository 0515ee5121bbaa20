"""Arbitration in plans: a round before each cycle, as the daemon has it, and who has what in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace as renewed

from msgspec.structs import replace

from vsched.arbitrator.ceilings import ceilings_of, pools_of
from vsched.arbitrator.division.divide import divide
from vsched.arbitrator.effects import Promise
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.placing import Placing
from vsched.arbitrator.tree import path
from vsched.cli.allocations.shares import AllocationShare, AllocationShares
from vsched.framework.policy import Policy
from vsched.mirror.mirror import Mirror
from vsched.model.amounts.counted import NOTHING, render_counted, summed
from vsched.model.arbitration.records import (
    Arbitration,
    ArbitrationCondition,
    Award,
    Bucket,
    Division,
    NamespaceAccount,
)
from vsched.model.plan import CycleReport, Evict
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

AT_ONCE = ArbitrationRules(grace_seconds=0.0)
"""Time stands still in a plan: nobody is waited for."""
NOBODY = NamespaceAccount("")


class Rounds:
    """The rounds of one plan over one mirror."""

    def __init__(self, mirror: Mirror, rules: ArbitrationRules, policy: Policy) -> None:
        self._mirror = mirror
        self._rules = rules
        self._placing = Placing.of(REGISTRY, policy)
        self._division = Division({}, {}, NOTHING)
        self._told: Mapping[str, tuple[ArbitrationCondition, ...]] = {}
        self._told_of_buckets: Mapping[str, tuple[ArbitrationCondition, ...]] = {}
        self._promised: Mapping[str, Promise] = {}

    def arbitrate(self, snapshot: Snapshot) -> tuple[Snapshot, tuple[Evict, ...]]:
        """Divide the cluster anew: what the cycle is to go by, and who has to leave."""
        arbitration = self._mirror.arbitration()
        whole = renewed(snapshot, arbitration=arbitration)
        self._division = divide(whole)
        verdict = reconcile(whole, self._division, self._rules, self._placing, promised=self._promised)
        self._told, self._promised = verdict.conditions, verdict.promised
        self._told_of_buckets = verdict.of_buckets
        axis, division = self._mirror.axis, self._division
        self._mirror.inputs.set_ceilings(
            ceilings_of(division, axis, lends=not verdict.promised), pools_of(division, axis)
        )
        self._mirror.assumptions.assume(CycleReport(evictions=verdict.evictions))
        # The cycle is to see who leaves; otherwise it is the first look at this moment.
        seen = self._mirror.snapshot(snapshot.now)
        changed = sorted({*snapshot.changed, *seen.changed})
        return renewed(seen, arbitration=arbitration, changed=changed, previous=snapshot.previous), verdict.evictions

    def shares(self) -> AllocationShares:
        """What everybody deserves by the last division, and holds now."""
        after, parents = self._mirror.arbitration(), self._division.parents
        namespaces = {name: self._namespace(name, award, after) for name, award in self._division.namespaces.items()}
        buckets = {
            name: replace(
                _bucket(name, award, after, [one for one in namespaces.values() if name in path(one.parent, parents)]),
                parent=parents[name],
                conditions=self._told_of_buckets.get(name, ()),
            )
            for name, award in self._division.buckets.items()
        }
        return AllocationShares(dict(sorted(namespaces.items())), dict(sorted(buckets.items())), self._division.total)

    def _namespace(self, name: str, award: Award, after: Arbitration) -> AllocationShare:
        party = after.parties.get(name, NOBODY)
        claim = party.claim
        return replace(
            _share(AllocationShare(name), award),
            parent=claim.parent if claim else "",
            weight=party.own_weight,
            stated_hard=claim.stated_hard if claim else {},
            stated_reserved=claim.stated_reserved if claim else {},
            allocated=party.kept,
            waiting=party.waiting,
            conditions=self._told.get(name, ()),
        )


def is_wanted(kinds: Mapping[str, Iterable[object]]) -> bool:
    """Whether manifests speak of arbitration: they have a Consumer or a Bucket."""
    return any(kinds.get(kind) for kind in ("Consumer", "Bucket"))


def _bucket(name: str, award: Award, after: Arbitration, below: Iterable[AllocationShare]) -> AllocationShare:
    bucket = after.buckets.get(name) or Bucket(name)
    return replace(
        _share(AllocationShare(name, is_bucket=True), award),
        weight=bucket.weight,
        stated_hard=render_counted(bucket.hard),
        stated_reserved=render_counted(bucket.reserved),
        allocated=summed(share.allocated for share in below),
    )


def _share(share: AllocationShare, award: Award) -> AllocationShare:
    return replace(share, deserved=award.deserved, hard=award.hard, reserved=award.reserved, ceiling=award.ceiling)

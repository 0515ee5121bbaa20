"""Rounds of arbitration: when one is due, and how its result is carried out.

``vsched.arbitrator`` computes shares and victims, purely and in a worker thread. A round that fails is reported and
retried later; until then sessions keep to the limits of the last one. Of several daemons that share the cluster, one
carries out what rounds decide; the others only keep to the shares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import msgspec

from vsched.arbitrator.ceilings import by_column, ceilings_of, limits_in, pools_of
from vsched.arbitrator.division.divide import divide
from vsched.arbitrator.effects import Promise, RoundResult
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.placing import Placing
from vsched.clock import Clock
from vsched.controllers.allocations import AllocationWriter
from vsched.daemon.arbitrate.sharing import Sharing
from vsched.daemon.observe.telemetry import Telemetry
from vsched.kube.backoff import doubled
from vsched.mirror.mirror import Mirror
from vsched.model.amounts.counted import Counted, summed
from vsched.model.amounts.resources import add
from vsched.model.arbitration.records import Arbitration, Ceiling, Division, PoolLimits
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot
from vsched.web.findings import Arbitrated
from vsched.writes.evictions import Evictor

LONGEST_PAUSE_SECONDS = 30.0
"""The longest wait after rounds that fail; it doubles from the interval up to this."""
SHARE = 2.0
"""The pause after a round, as a multiple of its duration: sessions wait while a round runs."""


class RoundDecisions(NamedTuple):
    """The result of one round."""

    division: Division
    verdict: RoundResult
    ceilings: Mapping[str, Ceiling]
    pools: Mapping[str, PoolLimits]


class ArbitrationWrites(NamedTuple):
    """What carries out the rounds."""

    allocations: AllocationWriter
    evictor: Evictor


class Arbiter:
    """Runs a round of arbitration before a session whenever one is due."""

    def __init__(
        self,
        mirror: Mirror,
        writes: ArbitrationWrites,
        rules: ArbitrationRules,
        placing: Callable[[], Placing],
        clock: Clock,
        telemetry: Telemetry,
        nudge: Callable[[], None],
        sharing: Sharing,
    ) -> None:
        self._mirror = mirror
        self._writes = writes
        self._rules = rules
        self._placing = placing
        """The rules about nodes and victims, by the policy in force."""
        self._clock = clock
        self._telemetry = telemetry
        self._nudge = nudge
        self._sharing = sharing
        self._based_on: tuple[object, ...] = ()
        """What the last round was decided on, in a few numbers."""
        self._last_at = 0.0
        """When the last round was that was carried out here, by the clock of snapshots; 0 where there was none."""
        self._promised: Mapping[str, Promise] = {}
        """Pods that the last round made room for, by uid."""
        self._resting_until = 0.0
        self._due_at = 0.0
        """On the steady clock: no round before the first, one even if nothing has changed by the second."""
        self._failures = 0
        self._waking: asyncio.TimerHandle | None = None

    async def arbitrate(self, snapshot: Snapshot) -> Snapshot:
        """If it is time, divide the cluster, and carry out what follows; the snapshot that sessions are to go by.

        Never raises what a round raises.
        """
        began = self._clock.monotonic()
        if began < self._resting_until:
            self._wake_at(self._resting_until - began)
            return snapshot
        try:
            return await self._round(snapshot, began)
        except Exception as error:  # a round that fails must not keep sessions from placing pods
            self._fail(error)
            return snapshot

    async def _round(self, snapshot: Snapshot, began: float) -> Snapshot:
        arbitration = self._mirror.arbitration()
        based_on = (arbitration.version, *snapshot.total)
        if began < self._due_at and based_on == self._based_on:
            return snapshot
        whole = replace(snapshot, arbitration=arbitration)
        acts = self._sharing.acts()
        if acts:
            decided = await asyncio.to_thread(self.decide, whole)
        else:
            decided = await asyncio.to_thread(self.follow, whole, lends=not self._sharing.promised(snapshot.now))
        division, verdict = decided.division, decided.verdict
        after = self._carry_out(whole, arbitration, decided) if acts else self._keep_to(whole, decided)
        ended = self._clock.monotonic()
        self._based_on, self._last_at, self._failures = based_on, snapshot.now if acts else 0.0, 0
        self._resting_until = ended + max(self._rules.pause_seconds, SHARE * (ended - began))
        self._due_at = began + self._rules.interval_seconds
        self._telemetry.arbitrated(Arbitrated(snapshot.now, arbitration, division, verdict), ended - began)
        return after

    def decide(self, snapshot: Snapshot) -> RoundDecisions:
        """Who deserves what, what follows, and how much everybody may hold. Pure; for any thread."""
        division = divide(snapshot)
        verdict = reconcile(snapshot, division, self._rules, self._placing(), self._last_at, self._promised)
        return _decisions(snapshot, division, verdict, lends=not verdict.promised)

    def follow(self, snapshot: Snapshot, *, lends: bool) -> RoundDecisions:
        """The same where another daemon carries it out: who deserves what, and nothing to do. Pure; for any thread."""
        division = divide(snapshot)
        rules = msgspec.structs.replace(self._rules, evictions_per_round=0)
        found = reconcile(snapshot, division, rules, self._placing())
        verdict = RoundResult((), (), found.overused, found.conditions, found.of_buckets)
        return _decisions(snapshot, division, verdict, lends=lends)

    def _keep_to(self, snapshot: Snapshot, decided: RoundDecisions) -> Snapshot:
        self._promised = decided.verdict.promised
        self._mirror.inputs.set_ceilings(decided.ceilings, decided.pools)
        return replace(snapshot, ceilings=decided.ceilings, pools=decided.pools)

    def _carry_out(self, snapshot: Snapshot, arbitration: Arbitration, decided: RoundDecisions) -> Snapshot:
        verdict = decided.verdict
        self._sharing.promise(max((one.until for one in verdict.promised.values()), default=0.0))
        in_force = self._keep_to(snapshot, decided)
        self._writes.allocations.submit(verdict.effects, arbitration)
        evictions = tuple(eviction for eviction in verdict.evictions if self._stays(eviction))
        if not evictions:
            return in_force
        self._mirror.assumptions.assume(CycleReport(evictions=evictions))
        self._writes.evictor.submit(evictions)
        # So that the session does not take the same pods' room once more, it has to see them leave.
        seen = self._sharing.snapshot(self._clock.now())
        changed = sorted({*snapshot.changed, *seen.changed})
        elsewhere = sorted({*(key for key in snapshot.elsewhere if key in seen.jobs), *seen.elsewhere})
        before = snapshot.previous
        return replace(seen, arbitration=arbitration, changed=changed, elsewhere=elsewhere, previous=before)

    def _stays(self, eviction: Evict) -> bool:
        """Whether the pod still runs, and its eviction was not refused, since the round began."""
        task = self._mirror.task(eviction.uid)
        return task is not None and not task.spared and task.status in (Status.BOUND, Status.RUNNING)

    def _fail(self, error: Exception) -> None:
        self._failures += 1
        pause_seconds = doubled(self._rules.interval_seconds, LONGEST_PAUSE_SECONDS, self._failures)
        self._resting_until = self._clock.monotonic() + pause_seconds
        self._telemetry.arbitration_failed(error, pause_seconds)

    def _wake_at(self, wait_seconds: float) -> None:
        """Start a session when the pause is over, rather than at the next period."""
        if self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(wait_seconds, self._woken)

    def _woken(self) -> None:
        self._waking = None
        self._nudge()


def _decisions(snapshot: Snapshot, division: Division, verdict: RoundResult, *, lends: bool) -> RoundDecisions:
    axis = snapshot.axis
    return RoundDecisions(division, verdict, ceilings_of(division, axis, lends=lends), pools_of(division, axis))


def with_granted(snapshot: Snapshot, granted: Mapping[str, Counted]) -> Snapshot:
    """The snapshot with pods that other schedulers may place counted as used, so that sessions do not use that room."""
    if not granted:
        return snapshot
    held, limits = dict(snapshot.held), dict(snapshot.held_limits)
    for namespace, amounts in granted.items():
        more = by_column(amounts, snapshot.axis)
        held[namespace] = dict(held.get(namespace, {}))
        add(held[namespace], more.items())
        if limited := limits_in(amounts):
            limits[namespace] = summed((limits.get(namespace, {}), limited))
    return replace(snapshot, held=held, held_limits=limits)

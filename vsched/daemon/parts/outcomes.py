"""Passes every answer to a binding, an eviction or a status to the mirror and to the other parts that need it."""

from __future__ import annotations

from msgspec.structs import replace

from vsched.arbitrator.taking.placing import ACTION as ARBITRATE
from vsched.clock import Clock
from vsched.daemon.observe.telemetry import Telemetry
from vsched.mirror.mirror import Mirror
from vsched.model.claims.plan import NOT_HAD
from vsched.model.plan import CONSOLIDATE, Evict, Nominate, Withdraw
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.bindings import BindOutcome, Outcome
from vsched.writes.claims.gang import Obstacle
from vsched.writes.claims.wishes import GangWish
from vsched.writes.confirmations import Confirmations
from vsched.writes.eviction_backoff import EvictionBackoff
from vsched.writes.evictions import EvictionOutcome, EvictionVerdict
from vsched.writes.writeback import Writeback


class Outcomes:
    """Passes answers to bindings and evictions to the mirror, to backoffs, to Events and to telemetry."""

    def __init__(
        self,
        mirror: Mirror,
        telemetry: Telemetry,
        bind_backoff: BindBackoff,
        eviction_backoff: EvictionBackoff,
        confirmations: Confirmations,
        pod_events: Writeback,
        clock: Clock,
    ) -> None:
        self._mirror = mirror
        self._telemetry = telemetry
        self._bind_backoff = bind_backoff
        self._eviction_backoff = eviction_backoff
        self._confirmations = confirmations
        self._pod_events = pod_events
        self._clock = clock

    def binding(self, outcome: Outcome) -> None:
        """A binding has ended, well or not."""
        bind = outcome.bind
        self._telemetry.outcome(outcome)
        match outcome.verdict:
            case BindOutcome.BOUND:
                if self._mirror.assumptions.awaits(bind.uid):  # else the watch was faster than the answer
                    self._telemetry.awaiting(bind.uid)
                if outcome.found_done:
                    self._mirror.assumptions.found_bound(bind.uid, bind.node)
                self._confirmations.accepted(bind)
                self._clear(bind.uid)
                self._pod_events.bound(bind)
            case BindOutcome.REFUSED if outcome.elsewhere:
                self._mirror.assumptions.found_bound(bind.uid, outcome.elsewhere)
                self._confirmations.accepted(replace(bind, node=outcome.elsewhere))
                self._clear(bind.uid)
                self._pod_events.bind_failed(bind, outcome.message)
            case BindOutcome.REFUSED | BindOutcome.GAVE_UP:
                if outcome.by_admission:
                    self._mirror.assumptions.binding_refused(bind.uid, f"on {bind.node}: {outcome.message}", bind.node)
                else:
                    self._mirror.assumptions.binding_refused(bind.uid, outcome.message)
                self._bind_backoff.failed(bind.uid, elsewhere=outcome.by_admission)
                self._pod_events.bind_failed(bind, outcome.message)
            case BindOutcome.UNDONE:
                self._mirror.assumptions.binding_refused(bind.uid, outcome.message)
            case BindOutcome.GONE:
                # The watch may be late: until it shows it, the pod is decided on again, and not in every session.
                self._mirror.assumptions.binding_settled(bind.uid)
                self._bind_backoff.failed(bind.uid)
            case BindOutcome.DROPPED:
                self._clear(bind.uid)
                self._mirror.assumptions.forget(bind.uid)

    def undone(self, wish: GangWish, obstacle: Obstacle) -> None:
        """A gang cannot have what it claims, and nothing of it is bound. Its transaction ends the placements."""
        for bind in wish.binds:
            self.binding(Outcome(bind, BindOutcome.UNDONE, message=NOT_HAD + obstacle.why))
        # Where no object is in the way, one pod speaks for all of the gang.
        concerned = wish.users(obstacle.kind, obstacle.key) or wish.binds[:1]
        self._pod_events.claims_failed(concerned, wish.job, self._mirror.group_uid(wish.job), obstacle.why)

    def _clear(self, uid: str) -> None:
        """Earlier failures of a pod no longer count."""
        self._bind_backoff.clear(uid)
        self._mirror.assumptions.binding_settled(uid)

    def eviction(self, outcome: EvictionOutcome) -> None:
        """An eviction has ended, well or not."""
        eviction = outcome.eviction
        self._telemetry.eviction(outcome)
        match outcome.verdict:
            case EvictionVerdict.EVICTED:
                self._eviction_backoff.granted(eviction.uid)
                self._pod_events.evicted(eviction, self._mirror.group_uid(eviction.job))
                self._took(eviction)
            case EvictionVerdict.REQUESTED:
                self._eviction_backoff.granted(eviction.uid)
                self._pod_events.asked_to_end(eviction, self._mirror.group_uid(eviction.job))
                self._took(eviction)
            case EvictionVerdict.GONE:
                self._eviction_backoff.granted(eviction.uid)
            case EvictionVerdict.REFUSED_NOW | EvictionVerdict.REFUSED:
                self._eviction_backoff.refused(eviction.uid, outcome.asked_seconds)
                self._pod_events.eviction_failed(eviction, outcome.message)
            case EvictionVerdict.GAVE_UP:
                self._eviction_backoff.doubted(eviction.uid)
                self._pod_events.eviction_failed(eviction, outcome.message)
            case EvictionVerdict.DROPPED:
                self._mirror.assumptions.forget(eviction.uid)

    def _took(self, eviction: Evict) -> None:
        """A job took from another; if they do so in turn, they leave each other alone for a while."""
        if eviction.action in (ARBITRATE, CONSOLIDATE):
            return  # namespaces took, and not jobs; or nobody did
        seconds = self._mirror.assumptions.took(eviction.beneficiary, eviction.job, self._clock.now())
        if seconds:
            self._telemetry.looped(eviction, seconds)
            for one, other in ((eviction.beneficiary, eviction.job), (eviction.job, eviction.beneficiary)):
                self._pod_events.looped(one, self._mirror.group_uid(one), self._mirror.called(other), seconds)

    def withdrawal(self, withdrawal: Withdraw, verdict: EvictionVerdict, message: str) -> None:
        """A request that a pod ends by itself was withdrawn, or could not be for now."""
        self._telemetry.withdrawal(withdrawal, verdict, message)
        if verdict is EvictionVerdict.WITHDRAWN:
            self._pod_events.need_not_end(withdrawal, self._mirror.group_uid(withdrawal.job))
        elif verdict is EvictionVerdict.DROPPED:
            self._mirror.assumptions.forget(withdrawal.uid)


class StatusOutcomes:
    """Reports the outcome of writes to pods and PodGroups to the mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def nomination(self, nomination: Nominate, version: str | None) -> None:
        """A nomination was written in this version; None where it cannot be."""
        if version is None:
            self._mirror.assumptions.nomination_failed(nomination.uid, nomination.node)
        else:
            self._mirror.assumptions.nomination_written(nomination.uid, nomination.node, version)

    def status(self, kind: str, key: str, version: str | None) -> None:
        """A status was written in this version; None where it cannot be."""
        if kind != "PodGroup":
            return
        if version is None:
            self._mirror.assumptions.status_failed(key)
        else:
            self._mirror.assumptions.status_written(key, version)

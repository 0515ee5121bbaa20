"""What becomes of what was decided: every answer to a placement, an eviction or a status finds its way to the mirror.

Decides nothing; it is the one place that knows which part has to hear of which answer.
"""

from __future__ import annotations

from typing import Protocol

from vsched.daemon.observe.telemetry import Telemetry
from vsched.mirror.cache import Cache
from vsched.model.plan import Bind, Evict, Nominate
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.bindings import BindOutcome, Outcome
from vsched.writes.confirmations import Confirmations
from vsched.writes.eviction_backoff import EvictionBackoff
from vsched.writes.evictions import EvictionOutcome, EvictionVerdict


class Teller(Protocol):
    """Who says on pods what became of them."""

    def bound(self, bind: Bind) -> None: ...

    def bind_failed(self, bind: Bind, message: str) -> None: ...

    def evicted(self, eviction: Evict, group_uid: str) -> None: ...

    def eviction_failed(self, eviction: Evict, message: str) -> None: ...


class Outcomes:
    """Takes answers to placements and evictions, and passes them on to the mirror, to people and to numbers."""

    def __init__(
        self,
        cache: Cache,
        telemetry: Telemetry,
        setbacks: BindBackoff,
        reprieves: EvictionBackoff,
        confirmations: Confirmations,
        teller: Teller,
    ) -> None:
        self._cache = cache
        self._telemetry = telemetry
        self._setbacks = setbacks
        self._reprieves = reprieves
        self._confirmations = confirmations
        self._teller = teller

    def binding(self, outcome: Outcome) -> None:
        """A placement was carried out, or not."""
        bind = outcome.bind
        self._telemetry.outcome(outcome)
        match outcome.verdict:
            case BindOutcome.BOUND:
                if self._cache.awaits(bind.uid):  # else the watch was faster than the answer
                    self._telemetry.awaiting(bind.uid)
                if outcome.found_done:
                    self._cache.found_bound(bind.uid, bind.node)
                self._confirmations.accepted(bind)
                self._clear(bind.uid)
                self._teller.bound(bind)
            case BindOutcome.REFUSED | BindOutcome.GAVE_UP:
                self._cache.refused.note(bind.uid, outcome.message)
                self._setbacks.failed(bind.uid)
                self._teller.bind_failed(bind, outcome.message)
            case BindOutcome.GONE | BindOutcome.DROPPED:
                self._clear(bind.uid)
                self._cache.forget(bind.uid)

    def _clear(self, uid: str) -> None:
        """Earlier failures of a pod no longer count."""
        self._setbacks.clear(uid)
        self._cache.refused.drop(uid)

    def eviction(self, outcome: EvictionOutcome) -> None:
        """An eviction was carried out, or not."""
        eviction = outcome.eviction
        self._telemetry.eviction(outcome)
        match outcome.verdict:
            case EvictionVerdict.EVICTED:
                self._reprieves.granted(eviction.uid)
                self._teller.evicted(eviction, self._cache.group_uid(eviction.job))
            case EvictionVerdict.GONE:
                self._reprieves.granted(eviction.uid)
            case EvictionVerdict.REFUSED_NOW | EvictionVerdict.REFUSED:
                self._reprieves.refused(eviction.uid, outcome.asked_seconds)
                self._teller.eviction_failed(eviction, outcome.message)
            case EvictionVerdict.GAVE_UP:
                self._reprieves.doubted(eviction.uid)
                self._teller.eviction_failed(eviction, outcome.message)
            case EvictionVerdict.DROPPED:
                self._cache.forget(eviction.uid)


class StatusOutcomes:
    """Passes on to the mirror what became of what is written on pods and PodGroups."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def nomination(self, nomination: Nominate, version: str | None) -> None:
        """A nomination was written in this version; None where it cannot be."""
        if version is None:
            self._cache.nomination_failed(nomination.uid, nomination.node)
        else:
            self._cache.nomination_written(nomination.uid, nomination.node, version)

    def status(self, kind: str, key: str, version: str | None) -> None:
        """A status was written in this version; None where it cannot be."""
        if kind != "PodGroup":
            return
        if version is None:
            self._cache.status_failed(key)
        else:
            self._cache.status_written(key, version)

"""An arbitrator on a mirror in memory, for ``vsched bench-arbitrate``: its writes go into the mirror at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

from vsched.arbitrator.ceilings import ceilings_of, pools_of
from vsched.arbitrator.division.divide import divide
from vsched.arbitrator.effects import RoundResult
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.placing import Placing
from vsched.lab.bench.namespaces import (
    NamespaceFeeder,
)
from vsched.lab.outcomes import spread_ms
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY
from vsched.web.findings import Arbitrated

CHANGES = 10
"""Pods replaced, or created, before each round."""
BEGIN_SECONDS = 1_767_312_000.0
"""The time of the first round, a day after all objects were created."""
ROUND_SECONDS = 1.0
PATIENT = ArbitrationRules(grace_seconds=1e6)


STEPS = ("snapshot", "publish", "divide", "reconcile", "ceilings")


Found = TypeVar("Found")


class BenchArbitrator:
    """Arbitrates as a daemon would, on a clock of its own; rounds are a second apart."""

    def __init__(self, realm: NamespaceFeeder) -> None:
        self.realm = realm
        self._mirror = realm.mirror
        self._placing = Placing.of(REGISTRY)
        self._now = BEGIN_SECONDS
        self._before = 0.0
        self._seconds: dict[str, list[float]] = {step: [] for step in STEPS}

    def round(self, rules: ArbitrationRules = PATIENT) -> Arbitrated:
        """One round; nothing is written."""
        found = self.decide(self.look(), rules)
        self.allow(found)
        return found

    def look(self) -> Snapshot:
        """A snapshot of the mirror now."""
        snapshot = self._timed("snapshot", lambda: self._mirror.snapshot(self._now))
        return replace(snapshot, arbitration=self._timed("publish", self._mirror.arbitration))

    def decide(self, snapshot: Snapshot, rules: ArbitrationRules = PATIENT) -> Arbitrated:
        """The result of a round; may run in any thread."""
        assert snapshot.arbitration is not None
        division = self._timed("divide", lambda: divide(snapshot))
        verdict = self._timed("reconcile", lambda: reconcile(snapshot, division, rules, self._placing, self._before))
        return Arbitrated(snapshot.now, snapshot.arbitration, division, verdict)

    def allow(self, found: Arbitrated) -> None:
        """Put the ceilings of a round in force."""
        lends = not found.verdict.promised
        axis, division = self._mirror.axis, found.division
        self._mirror.inputs.set_ceilings(
            *self._timed("ceilings", lambda: (ceilings_of(division, axis, lends=lends), pools_of(division, axis)))
        )

    def write(self, verdict: RoundResult) -> None:
        """Carry out the writes of a round, and advance the clock by a second."""
        self.realm.carry_out(verdict.effects)
        self._before, self._now = self._now, self._now + ROUND_SECONDS

    def times(self) -> dict[str, Any]:
        """How long each step has taken since the last call."""
        times = {f"{step}_ms": spread_ms(seconds) for step, seconds in self._seconds.items()}
        self._seconds = {step: [] for step in STEPS}
        return times

    def _timed(self, step: str, work: Callable[[], Found]) -> Found:
        began = perf_counter()
        found = work()
        self._seconds[step].append(perf_counter() - began)
        return found

"""The latest results of cycles about every job, pod and queue: pages, overviews and gauges show them.

The event loop writes them after every cycle. Pages are made in other threads meanwhile: records are frozen, and
readers copy maps before they iterate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from vsched.arbitrator.ceilings import unlent
from vsched.arbitrator.effects import RoundResult
from vsched.model.arbitration.records import Arbitration, Award, Division
from vsched.model.plan import CycleReport, JobOutcome, NamespaceOutcome, QueueOutcome, Unschedulable
from vsched.model.pods.status import Phase
from vsched.model.snapshot import Snapshot
from vsched.web.snapshots import FrozenSnapshot

_SLACK = 10_000
"""How many outdated verdicts may stay before they are removed."""


class Arbitrated(NamedTuple):
    """The result of a round of arbitration."""

    now: float
    """When it was, seconds since the epoch."""
    arbitration: Arbitration
    division: Division
    verdict: RoundResult

    @property
    def weights(self) -> dict[str, int]:
        """The weight of each namespace in the division."""
        accounts = self.arbitration.parties
        return {name: accounts[name].own_weight for name in self.division.namespaces if name in accounts}

    def award(self, namespace: str) -> Award | None:
        """What the division gives a namespace, with the ceiling in force; None for an unknown namespace.

        Nothing is lent while the arbitrator waits for pods to use room that it has made for them.
        """
        award = self.division.namespaces.get(namespace)
        if award is None or not self.verdict.promised:
            return award
        return structs.replace(award, ceiling=unlent(award, self.division.total))


class Findings:
    """The latest results, and the snapshot they are about."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        """None before the first cycle."""
        self.cycles = 0
        self.jobs: dict[str, JobOutcome] = {}
        self._unschedulable: Mapping[str, Unschedulable] = {}
        """Of the last cycle."""
        self.pods: dict[str, Unschedulable] = {}
        """By ``namespace/name``. It may contain pods that no longer wait: use it to look up a waiting pod."""
        self.queues: dict[str, QueueOutcome] = {}
        self.namespaces: dict[str, NamespaceOutcome] = {}
        self.placed_at: dict[str, float] = {}
        """When each existing job was first seen running, seconds since the epoch."""
        self._retries: Counter[str] = Counter()
        """By existing job: how many cycles ended without its minimum, but for the last ``_again``."""
        self._outcomes: Mapping[str, JobOutcome] = {}
        """Of the last cycle."""
        self._again = 0
        """How many cycles since have had these same outcomes."""
        self.arbitrated: Arbitrated | None = None
        """The last round of arbitration; None before the first."""
        self.arbitrated_away: Counter[str] = Counter()
        """Number of pods that arbitration evicted, by existing namespace."""

    def take(self, snapshot: Snapshot, report: CycleReport) -> list[str]:
        """Keep the results of a cycle on this snapshot; returns the keys of jobs that run for the first time."""
        self.snapshot = snapshot
        self.cycles += 1
        self.queues, self.namespaces = report.queues, report.namespaces
        placed: list[str] = []
        if report.jobs is self._outcomes:
            self._again += 1
        else:
            placed = self._note_placed(snapshot, report)
            self.jobs.update(report.jobs)
        for key in snapshot.changed:
            if key not in snapshot.jobs:
                self.jobs.pop(key, None)
                self.placed_at.pop(key, None)
                self._retries.pop(key, None)
        for key in snapshot.elsewhere:
            self.jobs.pop(key, None)
        if report.unschedulable is not self._unschedulable:
            self._unschedulable = report.unschedulable
            self.pods.update(report.unschedulable)
        for bind in report.binds:
            self.pods.pop(f"{bind.namespace}/{bind.name}", None)
        if len(self.pods) > 2 * len(report.unschedulable) + _SLACK:
            self.pods = {key: verdict for key, verdict in self.pods.items() if self._waits(verdict)}
        return placed

    def take_arbitrated(self, found: Arbitrated) -> None:
        """Keep a round of arbitration."""
        self.arbitrated = found
        gone = [namespace for namespace in self.arbitrated_away if namespace not in found.arbitration.parties]
        for namespace in gone:
            del self.arbitrated_away[namespace]

    def _note_placed(self, snapshot: Snapshot, report: CycleReport) -> list[str]:
        placed: list[str] = []
        if self._again:
            self._retries, self._again = self.retries, 0
        self._outcomes = report.jobs
        for key, outcome in report.jobs.items():
            if _lacks_minimum(outcome):
                self._retries[key] += 1
            before = self.jobs.get(key)
            waited = before is not None and before.phase in (Phase.PENDING, Phase.INQUEUE)
            if waited and outcome.phase == Phase.RUNNING and key not in self.placed_at:
                self.placed_at[key] = snapshot.now
                placed.append(key)
        return placed

    @property
    def retries(self) -> Counter[str]:
        """How many cycles ended without the minimum of each existing job."""
        retries, again = self._retries.copy(), self._again
        for key, outcome in self._outcomes.items() if again else ():
            if _lacks_minimum(outcome) and key in retries:
                retries[key] += again
        return retries

    def _waits(self, verdict: Unschedulable) -> bool:
        job = self.snapshot.jobs.get(verdict.job) if self.snapshot is not None else None
        return job is not None and verdict.uid in job.pending


def _lacks_minimum(outcome: JobOutcome) -> bool:
    return bool(outcome.pending) and outcome.ready < outcome.min_member


def with_division(frozen: FrozenSnapshot, findings: Findings) -> FrozenSnapshot:
    """The snapshot with the input of the last round of arbitration, if its session had none.

    Without it, simulations cannot try other limits of namespaces.
    """
    last, snapshot = findings.arbitrated, frozen.snapshot
    if last is None or snapshot.arbitration is not None:
        return frozen
    return frozen._replace(snapshot=replace(snapshot, arbitration=last.arbitration))

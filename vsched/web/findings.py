"""The latest results of cycles about every job, pod and queue: pages, overviews and gauges show them.

The event loop writes them after every cycle: what there is to write is found in steps, and written in one. Pages are
made in other threads meanwhile: records are frozen, and readers copy maps before they iterate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, TypeVar

from msgspec import structs

from vsched.arbitrator.ceilings import unlent
from vsched.arbitrator.effects import RoundResult
from vsched.model.arbitration.records import Arbitration, Award, Division
from vsched.model.plan import CycleReport, JobOutcome, NamespaceOutcome, QueueOutcome, Unschedulable
from vsched.model.pods.status import Phase
from vsched.model.snapshot import Snapshot
from vsched.web.snapshots import FrozenSnapshot

T = TypeVar("T")

_SLACK = 10_000
"""How many outdated verdicts may stay before they are removed."""
_SOME = 256
_RUNNING, _WAITING = Phase.RUNNING, (Phase.PENDING, Phase.INQUEUE)


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
        self._lacking: Sequence[str] = ()
        """The jobs of the last cycle that ended without their minimum."""
        self._again = 0
        """How many cycles since have had these same outcomes."""
        self.arbitrated: Arbitrated | None = None
        """The last round of arbitration; None before the first."""
        self.arbitrated_away: Counter[str] = Counter()
        """Number of pods that arbitration evicted, by existing namespace."""

    def taking(self, snapshot: Snapshot, report: CycleReport, placed: list[str]) -> Iterator[None]:
        """Keep the results of a cycle on this snapshot, in steps: those before are shown until these are, as a whole;
        what is gone is forgotten after that. The keys of jobs that run for the first time are appended to ``placed``.
        """
        again = report.jobs is self._outcomes
        lacking, gone, replaced = list[str](), list[str](), list[JobOutcome | None]()
        outcomes, verdicts = dict[str, JobOutcome](), dict[str, Unschedulable]()
        if not again:
            yield from self._noting(report.jobs, placed, lacking, outcomes, replaced)
        if report.unschedulable is not self._unschedulable:
            yield from _finding_others(self.pods, report.unschedulable, verdicts)
        for some in _some_of(snapshot.changed):
            gone += [key for key in some if key not in snapshot.jobs]
            yield
        self._keep(snapshot, report, verdicts)
        if again:
            self._again += 1
        else:
            self._keep_jobs(snapshot.now, report.jobs, outcomes, placed, lacking)
        yield from self._forgetting(snapshot, report, gone)
        while replaced:  # the outcomes before are freed little by little: that takes longer than to replace them
            del replaced[-_SOME:]
            yield

    def _forgetting(self, snapshot: Snapshot, report: CycleReport, gone: Sequence[str]) -> Iterator[None]:
        """Forget jobs that are gone or decided elsewhere, and verdicts on pods that do not wait, in steps."""
        for some in _some_of(gone):
            for key in some:
                self.jobs.pop(key, None)
                self.placed_at.pop(key, None)
                self._retries.pop(key, None)
            yield
        for some in _some_of(snapshot.elsewhere):
            for key in some:
                self.jobs.pop(key, None)
            yield
        for binds in _some_of(report.binds):
            for bind in binds:
                self.pods.pop(f"{bind.namespace}/{bind.name}", None)
            yield
        if len(self.pods) > 2 * len(report.unschedulable) + _SLACK:
            kept: dict[str, Unschedulable] = {}
            for verdicts in _some_of(self.pods.items()):
                kept.update((key, verdict) for key, verdict in verdicts if self._waits(verdict))
                yield
            self.pods = kept

    def take_arbitrated(self, found: Arbitrated) -> None:
        """Keep a round of arbitration."""
        self.arbitrated = found
        gone = [namespace for namespace in self.arbitrated_away if namespace not in found.arbitration.parties]
        for namespace in gone:
            del self.arbitrated_away[namespace]

    def _noting(
        self,
        outcomes: Mapping[str, JobOutcome],
        placed: list[str],
        lacking: list[str],
        others: dict[str, JobOutcome],
        replaced: list[JobOutcome | None],
    ) -> Iterator[None]:
        """Find the jobs that run for the first time, those without their minimum, the outcomes that are others than
        before, and those before, in steps.
        """
        jobs, placed_at = self.jobs, self.placed_at
        for some in _some_of(outcomes.items()):
            for key, outcome in some:
                before = jobs.get(key)
                if before is not outcome:
                    others[key] = outcome
                    replaced.append(before)
                if outcome.pending and outcome.ready < outcome.min_member:
                    lacking.append(key)
                waited = before is not None and before.phase in _WAITING
                if waited and outcome.phase == _RUNNING and key not in placed_at:
                    placed.append(key)
            yield

    def _keep(self, snapshot: Snapshot, report: CycleReport, verdicts: dict[str, Unschedulable]) -> None:
        """Keep the results of a cycle; ``verdicts`` are those on pods that are others than before."""
        self.snapshot = snapshot
        self.cycles += 1
        self.queues, self.namespaces = report.queues, report.namespaces
        self._unschedulable = report.unschedulable
        self.pods.update(verdicts)

    def _keep_jobs(
        self,
        now: float,
        outcomes: Mapping[str, JobOutcome],
        others: dict[str, JobOutcome],
        placed: Sequence[str],
        lacking: Sequence[str],
    ) -> None:
        """Keep the outcomes of a cycle, of which ``others`` are others than before."""
        if self._again:
            self._retries, self._again = self.retries, 0
        self._retries.update(lacking)
        self._outcomes, self._lacking = outcomes, lacking
        self.placed_at.update(dict.fromkeys(placed, now))
        self.jobs.update(others)

    @property
    def retries(self) -> Counter[str]:
        """How many cycles ended without the minimum of each existing job."""
        retries, again = self._retries.copy(), self._again
        for key in self._lacking if again else ():
            if key in retries:
                retries[key] += again
        return retries

    def _waits(self, verdict: Unschedulable) -> bool:
        job = self.snapshot.jobs.get(verdict.job) if self.snapshot is not None else None
        return job is not None and verdict.uid in job.pending


def _finding_others(known: Mapping[str, T], now: Mapping[str, T], others: dict[str, T]) -> Iterator[None]:
    """Find the values that are other objects than the known ones, in steps."""
    for some in _some_of(now.items()):
        others.update((key, value) for key, value in some if known.get(key) is not value)
        yield


def _some_of(found: Iterable[T]) -> Iterator[list[T]]:
    """As many at a time as take a small part of a millisecond."""
    rest = iter(found)
    while some := list(islice(rest, _SOME)):
        yield some


def with_division(frozen: FrozenSnapshot, findings: Findings) -> FrozenSnapshot:
    """The snapshot with the input of the last round of arbitration, if its session had none.

    Without it, simulations cannot try other limits of namespaces.
    """
    last, snapshot = findings.arbitrated, frozen.snapshot
    if last is None or snapshot.arbitration is not None:
        return frozen
    return frozen._replace(snapshot=replace(snapshot, arbitration=last.arbitration))

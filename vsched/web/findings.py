"""The latest results of cycles about every job, pod and queue: pages, overviews and gauges show them.

The event loop writes them after every cycle: what there is to write is found in steps, and written in one. Pages are
made in other threads meanwhile: records are frozen, and readers copy maps before they iterate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, TypeVar

from msgspec import structs

from vsched.arbitrator.ceilings import unlent
from vsched.arbitrator.effects import RoundResult
from vsched.framework.codes import Code
from vsched.model.arbitration.records import Arbitration, Award, Division
from vsched.model.maps import gone, news
from vsched.model.plan import CycleReport, JobOutcome, NamespaceOutcome, QueueOutcome, Unschedulable, by_job
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


@dataclass(frozen=True, slots=True)
class Noted:
    """What is other than in the last cycle."""

    outcomes: dict[str, JobOutcome] = field(default_factory=dict)
    plain: list[str] = field(default_factory=list)
    """Jobs that were particular."""
    particular: dict[str, JobOutcome] = field(default_factory=dict)
    """Those of ``outcomes`` that are, of jobs that are."""
    pods: dict[str, Unschedulable] = field(default_factory=dict)
    placed: list[str] = field(default_factory=list)
    """Jobs that run for the first time."""
    lacking: list[str] = field(default_factory=list)
    """Jobs that ended without their minimum, and did not before."""
    enough: list[str] = field(default_factory=list)
    """Jobs that did before, and do not any more, or that no cycle is for any more."""
    replaced: list[JobOutcome | None] = field(default_factory=list)
    """The outcomes before."""


class Findings:
    """The latest results, and the snapshot they are about."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        """None before the first cycle."""
        self.cycles = 0
        self.jobs: dict[str, JobOutcome] = {}
        self.particular: dict[str, JobOutcome] = {}
        """Those of ``jobs`` that say more than most: about domains, planned starts, or room that is kept."""
        self._waiting: Mapping[str, Mapping[str, Unschedulable]] = {}
        """By job: of the last cycle."""
        self.pods: dict[str, Unschedulable] = {}
        """By ``namespace/name``. It may contain pods that no longer wait: use it to look up a waiting pod."""
        self.queues: dict[str, QueueOutcome] = {}
        self.namespaces: dict[str, NamespaceOutcome] = {}
        self.placed_at: dict[str, float] = {}
        """When each existing job was first seen running, seconds since the epoch."""
        self._retries: Counter[str] = Counter()
        """By existing job: how many cycles ended without its minimum, up to those that ``_lacking`` counts."""
        self._lacking: dict[str, int] = {}
        """By job without its minimum: how many cycles there had been before it was so, or was so again."""
        self._outcomes: Mapping[str, JobOutcome] = {}
        """Of the last cycle."""
        self.arbitrated: Arbitrated | None = None
        """The last round of arbitration; None before the first."""
        self.arbitrated_away: Counter[str] = Counter()
        """Number of pods that arbitration evicted, by existing namespace."""

    def taking(self, snapshot: Snapshot, report: CycleReport, placed: list[str]) -> Iterator[None]:
        """Keep the results of a cycle on this snapshot, in steps: those before are shown until these are, as a whole;
        what is gone is forgotten after that. The keys of jobs that run for the first time are appended to ``placed``.
        """
        found, left = Noted(), list[str]()
        for outcomes in news(self._outcomes, report.jobs):
            self._note(outcomes, found)
            yield
        waiting = by_job(report.unschedulable)
        for of_jobs in news(self._waiting, waiting):
            for of_job in of_jobs.values():
                found.pods.update(of_job)
            yield
        for some in gone(self._outcomes, report.jobs):
            found.enough.extend(key for key in some if key in self._lacking)
            yield
        for some in _some_of(snapshot.changed):
            left += [key for key in some if key not in snapshot.jobs]
            yield
        self._keep(snapshot, report, found)
        self._waiting = waiting
        placed += found.placed
        yield from self._forgetting(snapshot, report, left)
        while found.replaced:  # the outcomes before are freed little by little: that takes longer than to replace them
            del found.replaced[-_SOME:]
            yield

    def _forgetting(self, snapshot: Snapshot, report: CycleReport, gone: Sequence[str]) -> Iterator[None]:
        """Forget jobs that are gone or decided elsewhere, and verdicts on pods that do not wait, in steps."""
        for some in _some_of(gone):
            for key in some:
                self.jobs.pop(key, None)
                self.particular.pop(key, None)
                self.placed_at.pop(key, None)
                self._retries.pop(key, None)
                self._lacking.pop(key, None)
            yield
        for some in _some_of(snapshot.elsewhere):
            for key in some:
                self.jobs.pop(key, None)
                self.particular.pop(key, None)
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

    def _note(self, outcomes: Mapping[str, JobOutcome], found: Noted) -> None:
        """Note what some outcomes change: jobs that run for the first time, and those without their minimum."""
        jobs, placed_at, lacking = self.jobs, self.placed_at, self._lacking
        found.outcomes.update(outcomes)
        for key, outcome in outcomes.items():
            before = jobs.get(key)
            found.replaced.append(before)
            if _is_particular(outcome):
                found.particular[key] = outcome
            elif key in self.particular:
                found.plain.append(key)
            lacks = outcome.pending and outcome.ready < outcome.min_member
            if lacks and key not in lacking:
                found.lacking.append(key)
            elif not lacks and key in lacking:
                found.enough.append(key)
            waited = before is not None and before.phase in _WAITING
            if waited and outcome.phase == _RUNNING and key not in placed_at:
                found.placed.append(key)

    def _keep(self, snapshot: Snapshot, report: CycleReport, found: Noted) -> None:
        cycles = self.cycles
        for key in found.enough:
            self._retries[key] += cycles - self._lacking.pop(key)
        self._lacking.update(dict.fromkeys(found.lacking, cycles))
        self.snapshot = snapshot
        self.cycles += 1
        self.queues, self.namespaces = report.queues, report.namespaces
        self._outcomes = report.jobs
        self.placed_at.update(dict.fromkeys(found.placed, snapshot.now))
        self.jobs.update(found.outcomes)
        for key in found.plain:
            del self.particular[key]
        self.particular.update(found.particular)
        self.pods.update(found.pods)

    @property
    def retries(self) -> Counter[str]:
        """How many cycles ended without the minimum of each existing job."""
        retries, cycles = self._retries.copy(), self.cycles
        for key, since in self._lacking.copy().items():
            retries[key] += cycles - since
        return retries

    def _waits(self, verdict: Unschedulable) -> bool:
        job = self.snapshot.jobs.get(verdict.job) if self.snapshot is not None else None
        return job is not None and verdict.uid in job.pending


def _is_particular(outcome: JobOutcome) -> bool:
    return (
        outcome.tier is not None
        or outcome.planned is not None
        or bool(outcome.sub_groups)
        or outcome.code in (Code.TOPOLOGY, Code.RESERVED)
    )


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

"""Searches in the background for changes that would let waiting jobs start; statuses show the results as advice.

Sessions go first: simulations pause while one is under way, and use a small part of one processor on average. Where
too many jobs wait, nothing is searched here; ``vsched explain`` still does. Jobs at the front of their queues come
first. A job is searched again when it waits for something else, or after a while if the queues have changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from vsched.clock import monotonic, thread_time
from vsched.daemon.observe.settings import AdvisorSettings
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.words import log as words
from vsched.errors import Unavailable
from vsched.explain.changes import changes
from vsched.explain.order import WaitingOrder, waiting_order
from vsched.explain.records import Change
from vsched.framework.codes import Code
from vsched.framework.registry import Registry
from vsched.model.jobs.advice import Advice, about, headline_of
from vsched.model.jobs.job import Job
from vsched.model.plan import JobOutcome, QueueOutcome
from vsched.model.pods.status import Phase
from vsched.model.snapshot import Snapshot
from vsched.web.findings import with_division
from vsched.web.snapshots import FrozenSnapshot

PASSING = frozenset((Code.LEAVING, Code.STARTING, Code.BINDING, Code.REFUSED, Code.UNSUPPORTED, ""))
"""Reasons that pass by themselves, or for which no change can be found."""
AT_REST_SECONDS = 1.0
"""How long to wait for a session to end before looking at the clock again."""


class Looked(NamedTuple):
    """The last search for a job: why it waited then, and when that was."""

    headline: str
    at: float

    def is_due(self, headline: str, now: float, changed_at: float, settings: AdvisorSettings) -> bool:
        """Whether the job is to be searched again, now that it waits for this; queues changed at ``changed_at``."""
        if about(headline) != about(self.headline):
            return True
        if headline != self.headline:
            return now >= self.at + settings.renew_seconds
        return now >= self.at + (settings.again_seconds if changed_at > self.at else settings.settled_seconds)


class SearchResult(NamedTuple):
    """The result of a search for one job."""

    key: str
    headline: str
    sentence: str
    """Empty where nothing was found."""
    complete: bool


class Round(NamedTuple):
    """The searches of one round, and the processor time they took."""

    answers: tuple[SearchResult, ...]
    seconds: float


class Advisor:
    """Searches a few jobs each round, and passes all advice on when any of it changes."""

    def __init__(
        self,
        snapshots: SnapshotService,
        registry: Registry,
        advise: Callable[[Mapping[str, Advice]], None],
        telemetry: Telemetry,
        settings: AdvisorSettings,
    ) -> None:
        self._snapshots = snapshots
        self._registry = registry
        self._advise = advise
        self._telemetry = telemetry
        self._settings = settings
        self._advice: dict[str, Advice] = {}
        self._looked: dict[str, Looked] = {}
        """Waiting jobs that have been searched."""
        self._queues: Mapping[str, QueueOutcome] = {}
        self._changed_at = monotonic()
        """When these were seen first."""
        self._ended = False

    async def run(self) -> None:
        """Search until cancelled; errors are logged and end nothing else."""
        self._ended = False
        try:
            await self._go_round()
        finally:
            self._ended = True  # a search in its thread stops before the next simulation

    async def _go_round(self) -> None:
        settings = self._settings
        while True:
            try:
                worked_seconds = await self._round()
            except Unavailable:
                worked_seconds = 0.0
            except Exception as error:  # pods are placed without advice, too
                self._telemetry.worry(words.ADVICE_FAILED, problem=f"{type(error).__name__}: {error}")
                await asyncio.sleep(settings.pause_seconds)
                continue
            await asyncio.sleep(max(settings.round_seconds, worked_seconds * (1.0 / settings.part - 1.0)))

    async def _round(self) -> float:
        """One round; the processor time it took."""
        known = self._telemetry.findings.snapshot
        if known is None or not known.active:
            self._keep({})
            return 0.0
        if len(known.active) > self._settings.waiting_max:
            return 0.0  # what was found stays said as long as it is true
        if not self._advice and not self._has_patient(known):
            return 0.0  # a snapshot costs something, and while pods pour in hardly any waits for long
        frozen = with_division(await self._snapshots.look(urgent=False), self._telemetry.findings)
        if frozen.report.queues != self._queues:
            self._queues, self._changed_at = frozen.report.queues, monotonic()
        waiting = dict(waiting_jobs(frozen, self._settings))
        self._looked = {key: looked for key, looked in self._looked.items() if key in waiting}
        due = self._due(waiting)
        done = await asyncio.to_thread(self._search, frozen, due) if due else Round((), 0.0)
        self._take(waiting, done)
        return done.seconds

    def _has_patient(self, known: Snapshot) -> bool:
        """Whether any job has waited long enough to be searched, by what was found out last."""
        outcomes, now = self._telemetry.findings.jobs, known.now
        for key in tuple(known.active):
            job, outcome = known.jobs.get(key), outcomes.get(key)
            if job is not None and outcome is not None and _is_patient(job, outcome, now, self._settings):
                return True
        return False

    def _due(self, waiting: Mapping[str, JobOutcome]) -> list[str]:
        """Keys of jobs that are to be searched."""
        now = monotonic()
        return [
            key
            for key, outcome in waiting.items()
            if (looked := self._looked.get(key)) is None
            or looked.is_due(headline_of(outcome.message), now, self._changed_at, self._settings)
        ]

    def _search(self, frozen: FrozenSnapshot, due: Sequence[str]) -> Round:
        """Search the first of these jobs. Runs in a thread."""
        began = thread_time()
        order = waiting_order(frozen.snapshot, frozen.policy, self._registry)
        # Jobs with advice first, so that it stays up to date; then those never searched.
        first = sorted(
            due, key=lambda key: (key not in self._advice, key in self._looked, order.positions().get(key, 0), key)
        )
        answers = tuple(self._answer(frozen, order, key) for key in islice(first, self._settings.jobs_per_round))
        return Round(answers, thread_time() - began)

    def _answer(self, frozen: FrozenSnapshot, order: WaitingOrder, key: str) -> SearchResult:
        settings, snapshot = self._settings, frozen.snapshot
        until, at_latest = thread_time() + settings.job_seconds, monotonic() + settings.longest_seconds

        def spent() -> bool:
            self._snapshots.at_rest.wait(AT_REST_SECONDS)
            return self._ended or thread_time() > until or monotonic() > at_latest

        def over() -> bool:
            return self._ended or monotonic() > at_latest

        found = changes(
            snapshot,
            frozen.policy,
            self._registry,
            frozen.report,
            key,
            order=order,
            simulations=settings.simulations,
            spent=spent,
            over=over,
        )
        return SearchResult(
            key, headline_of(frozen.report.jobs[key].message), sentence_of(found.changes), found.complete
        )

    def _take(self, waiting: Mapping[str, JobOutcome], done: Round) -> None:
        """Add the results of a round to the advice for jobs that still wait."""
        kept = {key: advice for key, advice in self._advice.items() if key in waiting}
        now = monotonic()
        for answer in done.answers:
            before = kept.pop(answer.key, None)
            self._looked[answer.key] = Looked(answer.headline, now)
            if answer.sentence:
                kept[answer.key] = Advice(answer.headline, answer.sentence)
            elif before is not None and before.about == answer.headline and not answer.complete:
                kept[answer.key] = before  # there was no time to find it again
        self._telemetry.process.advised([_result(answer) for answer in done.answers], done.seconds)
        self._keep(kept)

    def _keep(self, advice: dict[str, Advice]) -> None:
        if advice != self._advice:
            self._advice = advice
            self._advise(advice)


def waiting_jobs(frozen: FrozenSnapshot, settings: AdvisorSettings) -> Iterator[tuple[str, JobOutcome]]:
    """Jobs that lack something for their minimum and have waited for a while, with their outcomes."""
    for key, outcome in frozen.report.jobs.items():
        job = frozen.snapshot.jobs.get(key)
        if job is not None and _is_patient(job, outcome, frozen.snapshot.now, settings):
            yield key, outcome


def _is_patient(job: Job, outcome: JobOutcome, now: float, settings: AdvisorSettings) -> bool:
    """Whether a job lacks something, and has waited for a while since the last of its pods came.

    Gangs with too few pods wait longer: as long as their pods are being made, nothing is to be searched for them.
    """
    if outcome.code in PASSING or outcome.ready >= max(1, outcome.min_member):
        return False
    if outcome.phase == Phase.INQUEUE and not job.tasks:
        return False  # controllers make its pods now that it is admitted
    last = next(reversed(job.tasks.values()), None)
    since = job.spec.created if last is None else max(job.spec.created, last.created)
    incomplete = outcome.code == Code.GANG_INCOMPLETE
    return now - since >= (settings.incomplete_seconds if incomplete else settings.patience_seconds)


def sentence_of(found: Sequence[Change]) -> str:
    """The smallest change, and the smallest one by somebody else (the job's owner or the cluster's administrator)."""
    first = found[:1]
    others = [one for one in found if first and _is_of_job(one) is not _is_of_job(first[0])]
    return ", or ".join(one.message for one in (*first, *others[:1]))


def _is_of_job(change: Change) -> bool:
    return all(edit.own for edit in change.edits)


def _result(answer: SearchResult) -> str:
    if answer.sentence:
        return "found"
    return "nothing" if answer.complete else "cut short"

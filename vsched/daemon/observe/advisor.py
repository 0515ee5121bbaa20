"""In the background: finds what would let waiting jobs start, so that it can be said with why they wait.

Sessions go first: simulations pause while one is under way, take a small part of one processor in the long run, and
are left to those who ask where so many jobs wait that one of them would take as long as a session does. Jobs at the
front of their queues are looked at before others, and again only when they wait for something else, or after a while.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.errors import Unavailable
from vsched.explain.changes import changes
from vsched.explain.order import WaitingOrder, waiting_order
from vsched.explain.records import Change
from vsched.framework.codes import Code
from vsched.framework.registry import Registry
from vsched.mirror.whatif.edits import JobEdit
from vsched.model.advice import Advice, about, headline_of
from vsched.model.plan import JobOutcome
from vsched.model.status import Phase
from vsched.web.pages.divisions import with_division
from vsched.web.snapshots import FrozenSnapshot

PASSING = frozenset((Code.LEAVING, Code.STARTING, Code.BINDING, Code.REFUSED, Code.UNSUPPORTED, ""))
"""What passes by itself, and what nobody here can say a change about."""
AT_REST_SECONDS = 1.0
"""How long is waited for a session to end before time is looked at again."""


class AdvisorSettings(msgspec.Struct, frozen=True):
    """How much work is put into advice."""

    round_seconds: float = 1.0
    """Between the beginnings of two rounds, at least."""
    part: float = 0.05
    """Of one processor, in the long run."""
    jobs_per_round: int = 4
    job_seconds: float = 0.25
    """Of processor time for one job; the simulation under way is brought to its end."""
    longest_seconds: float = 10.0
    """By the clock for one job, however much of that sessions took; the simulation under way is given up then."""
    simulations: int = 300
    """For one job."""
    patience_seconds: float = 1.0
    """Jobs that have been there for less are most likely about to start."""
    again_seconds: float = 60.0
    """What has been found for a job is looked at again after this long."""
    renew_seconds: float = 5.0
    """The same where the numbers of what it waits for have changed: what would help may have, too."""
    waiting_max: int = 1_000
    """Where more jobs wait, a simulation with all of them takes as long as a session."""
    pause_seconds: float = 10.0
    """After a round that failed."""


class Looked(NamedTuple):
    """When a job was looked at last, and what it waited for then."""

    headline: str
    at: float

    def is_due(self, headline: str, now: float, settings: AdvisorSettings) -> bool:
        """Whether the job is to be looked at again, now that it waits for this."""
        if about(headline) != about(self.headline):
            return True
        renewed = headline != self.headline and now >= self.at + settings.renew_seconds
        return renewed or now >= self.at + settings.again_seconds


class SearchResult(NamedTuple):
    """What a search for one job came to."""

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
    """Finds advice, a few jobs a round, and hands all of it on whenever any of it changes."""

    def __init__(
        self,
        lookout: SnapshotService,
        registry: Registry,
        advise: Callable[[Mapping[str, Advice]], None],
        telemetry: Telemetry,
        settings: AdvisorSettings | None = None,
    ) -> None:
        self._lookout = lookout
        self._registry = registry
        self._advise = advise
        self._telemetry = telemetry
        self._settings = settings or AdvisorSettings()
        self._advice: dict[str, Advice] = {}
        self._looked: dict[str, Looked] = {}
        """Jobs that wait and have been looked at."""
        self._ended = False

    async def run(self) -> None:
        """Look after those who wait, until cancelled; whatever goes wrong must not end anything else."""
        self._ended = False
        try:
            await self._go_round()
        finally:
            self._ended = True  # a thread that is at it still stops at the next simulation

    async def _go_round(self) -> None:
        settings = self._settings
        while True:
            try:
                worked_seconds = await self._round()
            except Unavailable:
                worked_seconds = 0.0
            except Exception as error:  # the supervisor: nobody needs advice for pods to be placed
                self._telemetry.worry("advice failed", problem=f"{type(error).__name__}: {error}")
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
        sight = with_division(await self._lookout.look(urgent=False), self._telemetry.findings)
        waiting = dict(waiting_jobs(sight, self._settings.patience_seconds))
        self._looked = {key: looked for key, looked in self._looked.items() if key in waiting}
        due = self._due(waiting)
        done = await asyncio.to_thread(self._search, sight, due) if due else Round((), 0.0)
        self._take(waiting, done)
        return done.seconds

    def _due(self, waiting: Mapping[str, JobOutcome]) -> list[str]:
        """Keys of jobs that are to be looked at."""
        now = time.monotonic()
        return [
            key
            for key, outcome in waiting.items()
            if (looked := self._looked.get(key)) is None
            or looked.is_due(headline_of(outcome.message), now, self._settings)
        ]

    def _search(self, sight: FrozenSnapshot, due: Sequence[str]) -> Round:
        """Look at the first of these; in a thread of its own."""
        began = time.thread_time()
        order = waiting_order(sight.snapshot, sight.policy, self._registry)
        # What is said already is not to grow old; after that those go first that nothing is said of yet.
        first = sorted(
            due, key=lambda key: (key not in self._advice, key in self._looked, order.positions().get(key, 0), key)
        )
        answers = tuple(self._answer(sight, order, key) for key in islice(first, self._settings.jobs_per_round))
        return Round(answers, time.thread_time() - began)

    def _answer(self, sight: FrozenSnapshot, order: WaitingOrder, key: str) -> SearchResult:
        settings, snapshot = self._settings, sight.snapshot
        until, at_latest = time.thread_time() + settings.job_seconds, time.monotonic() + settings.longest_seconds

        def spent() -> bool:
            self._lookout.at_rest.wait(AT_REST_SECONDS)
            return self._ended or time.thread_time() > until or time.monotonic() > at_latest

        def over() -> bool:
            return self._ended or time.monotonic() > at_latest

        found = changes(
            snapshot,
            sight.policy,
            self._registry,
            sight.report,
            key,
            order=order,
            simulations=settings.simulations,
            spent=spent,
            over=over,
        )
        return SearchResult(
            key, headline_of(sight.report.jobs[key].message), sentence_of(found.changes), found.complete
        )

    def _take(self, waiting: Mapping[str, JobOutcome], done: Round) -> None:
        """Keep what is said of those who still wait, with what was found now."""
        kept = {key: advice for key, advice in self._advice.items() if key in waiting}
        now = time.monotonic()
        for answer in done.answers:
            stem = about(answer.headline)
            before = kept.pop(answer.key, None)
            self._looked[answer.key] = Looked(answer.headline, now)
            if answer.sentence:
                kept[answer.key] = Advice(stem, answer.sentence)
            elif before is not None and before.about == stem and not answer.complete:
                kept[answer.key] = before  # there was no time to find it again
        self._telemetry.advised([_result(answer) for answer in done.answers], done.seconds)
        self._keep(kept)

    def _keep(self, advice: dict[str, Advice]) -> None:
        if advice != self._advice:
            self._advice = advice
            self._advise(advice)


def waiting_jobs(sight: FrozenSnapshot, patience_seconds: float) -> Iterator[tuple[str, JobOutcome]]:
    """Jobs that wait for their minimum and have done so for a while, with what became of them in a session."""
    for key, outcome in sight.report.jobs.items():
        job = sight.snapshot.jobs.get(key)
        if job is None or outcome.code in PASSING or outcome.ready >= max(1, outcome.min_member):
            continue
        if outcome.phase == Phase.INQUEUE and not job.tasks:
            continue  # controllers make its pods now that it is admitted
        if sight.snapshot.now - job.spec.created >= patience_seconds:
            yield key, outcome


def sentence_of(found: Sequence[Change]) -> str:
    """The smallest change, and the smallest that somebody else would make: the job's owner, or who runs the cluster."""
    first = found[:1]
    others = [one for one in found if first and _is_of_job(one) is not _is_of_job(first[0])]
    return ", or ".join(one.message for one in (*first, *others[:1]))


def _is_of_job(change: Change) -> bool:
    return all(isinstance(edit, JobEdit) for edit in change.edits)


def _result(answer: SearchResult) -> str:
    if answer.sentence:
        return "found"
    return "nothing" if answer.complete else "cut short"

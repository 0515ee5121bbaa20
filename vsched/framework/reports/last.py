"""What the last cycle said of each job and its pods, so that what is said again is the same records."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple, TypeVar

from vsched.framework.reports.plain import Plain, PlainJobs, PlainStanding, PlainVerdict, Sizes
from vsched.framework.reports.previous import PreviousTexts
from vsched.framework.session import Session
from vsched.model.jobs.job import Job
from vsched.model.maps import GroupedMap, SortedMap
from vsched.model.plan import JobOutcome, Unschedulable


class PodText(NamedTuple):
    """What is said of a pod, and of others of its job that are in the same state."""

    reason: str
    message: str
    reasons: dict[str, int]
    fits: bool = False


NOBODY: dict[str, PodText] = {}
T = TypeVar("T")
Verdicts = dict[str, Unschedulable]
"""Why pods are unschedulable, by ``namespace/name``."""


class PodTexts(NamedTuple):
    """What is said of the pending pods of a job."""

    all: PodText
    but: dict[str, PodText]
    """By uid: what is said of those that were tried or refused themselves."""

    def verdicts(self, job: Job) -> Verdicts:
        """The same for each pod."""
        key, all_others, but = job.key, self.all, self.but
        return {
            f"{task.namespace}/{task.name}": Unschedulable(
                uid, task.namespace, task.name, key, *(but.get(uid, all_others) if but else all_others)
            )
            for uid, task in job.pending.items()
        }


class LastReport:
    """What the last cycle said of each job and its pods.

    A job that has not changed since, and is told the same again, gets the same records: making thousands of them anew
    would take longer than all else about jobs that wait. The verdicts are the same with it and without.
    """

    def __init__(self) -> None:
        self._texts: dict[str, tuple[Job, PodTexts, Verdicts]] = {}
        self.standings: dict[str, PlainStanding] = {}
        """What the last cycle said of plain jobs."""
        self._verdicts: dict[str, PlainVerdict] = {}
        self.spans = PreviousTexts()
        self._outcomes = SortedMap[JobOutcome]()
        """All outcomes of the last cycle."""
        self._by_job = SortedMap[Verdicts]()
        self._said = GroupedMap[Unschedulable](self._by_job)
        """All verdicts of the last cycle."""

    def again(self, plain: PlainJobs, found: Plain, outcome: JobOutcome, scale_up: Sizes) -> Verdicts | None:
        """The verdicts of the last cycle about the pods of a plain job, where they still hold."""
        known = self._verdicts.get(outcome.key)
        if known is None or known.outcome is not outcome or known.scale_up != scale_up:
            return None
        if known.plain.apart != found.apart or not plain.same(found.words, known.plain.words):
            return None
        return known.verdicts

    def note(self, found: Plain, outcome: JobOutcome, scale_up: Sizes, said: Verdicts) -> None:
        """Keep the verdicts about the pods of a plain job."""
        self._verdicts[outcome.key] = PlainVerdict(outcome, found, scale_up, said)

    def forget(self, key: str) -> None:
        """What was said of the pods of a job is not said any more."""
        self._verdicts.pop(key, None)

    def of(self, job: Job, said: PodTexts) -> Verdicts:
        """The verdicts about all pending pods of a job."""
        known = self._texts.get(job.key)
        if known is None or known[0] is not job or known[1] != said:
            known = job, said, said.verdicts(job)
        self._texts[job.key] = known
        return known[2]

    def turn(
        self,
        session: Session,
        outcomes: dict[str, JobOutcome],
        said: dict[str, Verdicts],
        of_strays: Mapping[str, Verdicts],
    ) -> tuple[Mapping[str, JobOutcome], GroupedMap[Unschedulable]]:
        """A cycle is over: what it said of all jobs and pods, by what it said anew.

        Jobs that it said nothing of are forgotten.
        """
        here, left = session.jobs, session.opened.left
        if left is None:
            left = [key for key, _ in self._outcomes.items_in_order() if key not in here]
        jobs = _followed(here, self._outcomes, left, outcomes)
        silent = [key for key, verdicts in said.items() if not verdicts]
        telling = {key: verdicts for key, verdicts in said.items() if verdicts} if silent else said
        no_more = [key for key in (*left, *silent) if key in self._by_job]
        by_job = _followed(here, self._by_job, no_more, telling, of_strays)
        for key in (*left, *self._outcomes.rest):
            if key not in jobs:
                self._texts.pop(key, None)
                self.standings.pop(key, None)
                self._verdicts.pop(key, None)
        self.spans.turn(session, self._verdicts)
        if by_job is not self._by_job:
            self._by_job, self._said = by_job, GroupedMap(by_job, self._said)
        self._outcomes = jobs
        return jobs, self._said


def _followed(
    here: Container[str],
    before: SortedMap[T],
    gone: Iterable[str],
    found: Mapping[str, T],
    besides: Mapping[str, T] | None = None,
) -> SortedMap[T]:
    """What is said of all jobs: first of those that the session is for, where what is not found anew is as before."""
    new: dict[str, T] = {}
    others: dict[str, T] = {}
    for key, one in found.items():
        (new if key in here else others)[key] = one
    return before.changed(gone, new, {**others, **besides} if besides else others)

"""The last report, so that what is reported again is the same records."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple, TypeVar

from vsched.framework.reports.plain import Plain, PlainJobs, PlainRecord, PlainVerdict, Sizes
from vsched.framework.reports.previous import PreviousTexts
from vsched.framework.session import Session
from vsched.model.jobs.job import Job
from vsched.model.maps import GroupedMap, SortedMap
from vsched.model.plan import JobOutcome, Unschedulable


class PodText(NamedTuple):
    """The verdict about a pod, and about others of its job that are in the same state."""

    reason: str
    message: str
    reasons: dict[str, int]
    fits: bool = False


NOBODY: dict[str, PodText] = {}
T = TypeVar("T")
Verdicts = dict[str, Unschedulable]
"""Why pods are unschedulable, by ``namespace/name``."""


class PodTexts(NamedTuple):
    """The verdicts about the pending pods of a job."""

    all: PodText
    but: dict[str, PodText]
    """By uid: the verdicts about those that were tried or refused themselves."""

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
    """What the last cycle reported on each job and its pods.

    A job that has not changed since, and has the same reason, gets the same records: making thousands of them again
    would take longer than all other work on jobs that wait. The verdicts are the same with it and without.
    """

    def __init__(self) -> None:
        self._texts: dict[str, tuple[Job, PodTexts, Verdicts]] = {}
        self.records: dict[str, PlainRecord] = {}
        """The outcomes of plain jobs."""
        self._verdicts: dict[str, PlainVerdict] = {}
        self.spans = PreviousTexts()
        self._outcomes = SortedMap[JobOutcome]()
        """All outcomes of the last cycle."""
        self._by_job = SortedMap[Verdicts]()
        self._by_pod = GroupedMap[Unschedulable](self._by_job)
        """All verdicts of the last cycle."""

    def repeated(self, plain: PlainJobs, found: Plain, outcome: JobOutcome, scale_up: Sizes) -> Verdicts | None:
        """The verdicts of the last cycle about the pods of a plain job, where they still hold."""
        known = self._verdicts.get(outcome.key)
        if known is None or known.outcome is not outcome or known.scale_up != scale_up:
            return None
        if known.plain.apart != found.apart or not plain.same(found.reason, known.plain.reason):
            return None
        return known.verdicts

    def note(self, found: Plain, outcome: JobOutcome, scale_up: Sizes, verdicts: Verdicts) -> None:
        """Note the verdicts about the pods of a plain job, for the next cycle."""
        self._verdicts[outcome.key] = PlainVerdict(outcome, found, scale_up, verdicts)

    def forget(self, key: str) -> None:
        """Forget the verdicts about the pods of a job."""
        self._verdicts.pop(key, None)

    def of(self, job: Job, texts: PodTexts) -> Verdicts:
        """The verdicts about all pending pods of a job."""
        known = self._texts.get(job.key)
        if known is None or known[0] is not job or known[1] != texts:
            known = job, texts, texts.verdicts(job)
        self._texts[job.key] = known
        return known[2]

    def turn(
        self,
        session: Session,
        outcomes: dict[str, JobOutcome],
        verdicts: dict[str, Verdicts],
        of_strays: Mapping[str, Verdicts],
    ) -> tuple[Mapping[str, JobOutcome], GroupedMap[Unschedulable]]:
        """A cycle is over: returns its report on all jobs and pods, of which the arguments are those that changed.

        Jobs without a report are forgotten.
        """
        here, left = session.jobs, session.opened.left
        if left is None:
            left = [key for key, _ in self._outcomes.items_in_order() if key not in here]
        jobs = _followed(here, self._outcomes, left, outcomes)
        silent = [key for key, found in verdicts.items() if not found]
        speaking = {key: found for key, found in verdicts.items() if found} if silent else verdicts
        no_more = [key for key in (*left, *silent) if key in self._by_job]
        by_job = _followed(here, self._by_job, no_more, speaking, of_strays)
        for key in (*left, *self._outcomes.rest):
            if key not in jobs:
                self._texts.pop(key, None)
                self.records.pop(key, None)
                self._verdicts.pop(key, None)
        self.spans.turn(session, self._verdicts)
        if by_job is not self._by_job:
            self._by_job, self._by_pod = by_job, GroupedMap(by_job, self._by_pod)
        self._outcomes = jobs
        return jobs, self._by_pod


def _followed(
    here: Container[str],
    before: SortedMap[T],
    gone: Iterable[str],
    found: Mapping[str, T],
    besides: Mapping[str, T] | None = None,
) -> SortedMap[T]:
    """The values of all jobs, active ones first: ``found`` and ``besides`` are new, the others are as before."""
    new: dict[str, T] = {}
    others: dict[str, T] = {}
    for key, one in found.items():
        (new if key in here else others)[key] = one
    return before.changed(gone, new, {**others, **besides} if besides else others)

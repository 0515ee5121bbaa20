"""Jobs that get equal answers in one session, because they differ in names and ages alone.

What one of them is refused, the others are refused too as long as nothing has changed. So a long backlog of a few kinds
of jobs costs a session little more than one job of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Ledger, LedgerEntry
from vsched.model.jobs.likeness import WaitingJob, waiting_job
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task


class Known(NamedTuple):
    """What is known of a job that may be like others."""

    number: int
    """Of its kind, but for labels."""
    waiting: WaitingJob
    shapes: tuple[Shape, ...]


class AlikeJobs:
    """The kinds of jobs of one session."""

    def __init__(
        self,
        reads_labels: Callable[[Shape], bool],
        label_class: Callable[[Task], Hashable],
        job_classes: Sequence[Callable[[JobView], Hashable]],
        ledger: Ledger,
        *,
        alone: bool,
    ) -> None:
        self._reads_labels, self._label_class = reads_labels, label_class
        self._job_classes = job_classes
        self._ledger = ledger
        self._alone = alone
        """Whether rules of this session tell all jobs apart."""
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[str, Known | None] = {}
        """By job."""
        self._reads: dict[Shape, bool] = {}
        """Whether labels are read of tasks of a shape, as of the latest step in the ledger."""
        self._latest: LedgerEntry | None = None

    def kind(self, job: JobView) -> Hashable | None:
        """Equal for jobs that get equal answers at present; None for a job that is like no other."""
        if self._alone or job.moved:
            return None
        found = self._known[job.key] if job.key in self._known else self._look(job)
        if found is None:
            return None
        if self._latest is not self._ledger.latest:
            self._latest = self._ledger.latest
            self._reads.clear()
        for shape in found.shapes:
            reads = self._reads.get(shape)
            if reads is None:
                reads = self._reads[shape] = self._reads_labels(shape)
            if reads:
                return (found.number, *[self._label_class(task) for task in found.waiting.tasks])
        return found.number

    def uniform_kind(self, job: JobView) -> Hashable | None:
        """The kind of a job whose tasks are all of one shape, if it has any; None for other jobs."""
        kind = self.kind(job)
        found = None if kind is None else self._known[job.key]
        return kind if found is not None and len(found.shapes) <= 1 else None

    def tasks(self, job: JobView) -> tuple[Task, ...]:
        """The tasks of a job that has a kind; those of jobs of one kind correspond to each other in this order."""
        found = self._known[job.key]
        assert found is not None, "it has a kind"
        return found.waiting.tasks

    def _look(self, job: JobView) -> Known | None:
        waiting, found = waiting_job(job.job), None
        if waiting is not None:
            kind = (waiting.likeness, *[ask(job) for ask in self._job_classes])
            shapes = tuple(dict.fromkeys(alike.shape for alike, _ in waiting.likeness.tasks))
            found = Known(self._numbers.setdefault(kind, len(self._numbers)), waiting, shapes)
        self._known[job.key] = found
        return found

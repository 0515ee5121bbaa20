"""The waiting jobs of a session and their refusals: of each job by itself, or of spans of a class together.

All jobs of a span differ in names and ages alone, and so far all have the same refusals. A job leaves its span when
something is recorded or decided for it alone. Callers that need to see each job split the spans.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from vsched.framework.classes import JobClass, JobClasses, Segment, Span
from vsched.framework.combine.orders import OrderKey
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Ledger, LedgerEntry
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import Refusal
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

OfTasks = Mapping[str, NodeReasons | Refusal | None]
"""Why tasks were refused, by uid; None for those that were not."""


class JobRefusals(NamedTuple):
    """The refusals of a waiting job and its tasks."""

    of_job: Refusal | None = None
    of_tasks: tuple[tuple[int, NodeReasons | Refusal], ...] = ()
    """By position among the tasks of the job (``Job.tasks_in_order``)."""
    tried: tuple[int, ...] = ()
    """The positions of the tasks that found a node."""
    protected: Refusal | None = None
    """What protects the only victims that would have made room for the job."""


NO_REFUSALS = JobRefusals()


class Refusals:
    """Why jobs and tasks were refused; later refusals replace earlier ones."""

    def __init__(self, jobs: Mapping[str, Refusal]) -> None:
        self.jobs: dict[str, Refusal] = dict(jobs)
        """Why a job was skipped, refused or not admitted, by key."""
        self.tasks: dict[str, NodeReasons | Refusal] = {}
        """Why a task was not placed, by uid."""
        self.tried: set[str] = set()
        """Uids of tasks that found a node in a try that was rolled back."""
        self.protected: dict[str, Refusal] = {}
        """By key of a job: what protects the only victims that would have made room for it."""

    def of_tasks(self, tasks: Iterable[Task]) -> OfTasks:
        """The refusals of tasks, for ``restore`` after a try."""
        return {task.uid: self.tasks.get(task.uid) for task in tasks}

    def restore(self, before: OfTasks) -> None:
        """Give tasks back the refusals that they had, and nothing else."""
        for uid, why in before.items():
            if why is None:
                self.tasks.pop(uid, None)
            else:
                self.tasks[uid] = why

    def of(self, view: JobView) -> JobRefusals:
        """The refusals of a job of a class."""
        of_tasks: list[tuple[int, NodeReasons | Refusal]] = []
        tried: list[int] = []
        for at, task in enumerate(view.job.tasks_in_order) if self.tasks or self.tried else ():
            why = self.tasks.get(task.uid)
            if why is not None:
                of_tasks.append((at, why))
            if task.uid in self.tried:
                tried.append(at)
        return JobRefusals(self.jobs.get(view.key), tuple(of_tasks), tuple(tried), self.protected.get(view.key))

    def record(self, view: JobView, found: JobRefusals) -> None:
        """Record the refusals of a job of a class, in addition to those that it has."""
        if found.of_job is not None:
            self.jobs[view.key] = found.of_job
        if found.protected is not None:
            self.protected[view.key] = found.protected
        if found.of_tasks or found.tried:
            tasks = view.job.tasks_in_order
            for at, why in found.of_tasks:
                self.tasks[tasks[at].uid] = why
            self.tried.update([tasks[at].uid for at in found.tried])

    def replace(self, view: JobView, found: JobRefusals) -> None:
        """Record these refusals of a job of a class in place of all that it has."""
        self.jobs.pop(view.key, None)
        self.protected.pop(view.key, None)
        for task in view.job.tasks_in_order:
            self.tasks.pop(task.uid, None)
            self.tried.discard(task.uid)
        self.record(view, found)


class WaitingJobs:
    """The jobs of a session: those of spans, and those that are in none."""

    def __init__(
        self,
        classes: JobClasses,
        jobs: Mapping[str, JobView],
        job_key: Callable[[JobView], OrderKey],
        refused: Refusals,
        selection: NodeSelection,
        ledger: Ledger,
    ) -> None:
        self.classes = classes
        self._jobs = jobs
        self._job_key = job_key
        self._refused = refused
        self._selection, self._ledger = selection, ledger
        self.spans: list[Span[JobRefusals]] = []
        """Of more than one job each. Nothing was recorded or decided for one of these jobs alone."""
        self._single: list[str] = []
        for one in classes:
            if len(one) > 1:
                self.spans.append(Span(one, 0, len(one), NO_REFUSALS))
            else:
                self._single.append(one.key_at(0))
        self.admitted: list[str] = []
        """The keys of jobs of spans that an action has admitted, because the policy has no ``enqueue``."""
        self.left: set[str] = set()
        """The keys of jobs that have left their spans."""
        self._reads: dict[Shape, bool] = {}
        """By shape: whether labels of its tasks are read, as of the latest step in the ledger."""
        self._latest: LedgerEntry | None = None

    def keys_alone(self) -> Iterator[str]:
        """The keys of the jobs in no span, in no particular order."""
        return chain(self.classes.others, self._single, self.left)

    def alone(self) -> list[JobView]:
        """The jobs in no span, sorted by key."""
        return [*map(self._jobs.__getitem__, sorted(self.keys_alone()))]

    def put_back(self, segments: Iterable[Segment]) -> None:
        """Put back the spans of jobs that had no turns of their own, with the refusals that they got."""
        for segment in segments:
            for span in (*segment.passed, segment.waiting) if segment.is_shared else segment.passed:
                if not isinstance(span.value, JobRefusals):
                    continue
                if span.end - span.start == 1:
                    self.split(span)
                elif span.end > span.start:
                    self.spans.append(span)

    def split(self, span: Span[JobRefusals], keys: Iterable[str] | None = None) -> None:
        """Give each job of a span, or some of its jobs, the refusals of the span: from now on they are in none."""
        for key in span.keys if keys is None else keys:
            self.left.add(key)
            self._refused.record(self._jobs[key], span.value)

    def split_all(self) -> None:
        """Split all spans."""
        spans, self.spans = self.spans, []
        for span in spans:
            self.split(span)

    def take(self, wanted: Callable[[JobView], bool]) -> list[Span[Any]]:
        """The jobs that an action works on, as spans; those of more jobs are to be put back (``put_back``).

        ``wanted`` is asked about each job in no span and about one of each span; it may record why not. The value of
        the span of a single job is None.
        """
        spans, self.spans = self.spans, []
        taken: list[Span[Any]] = []
        for span in spans:
            view, refused = self._jobs[span.first], self._refused
            refused.record(view, span.value)
            phase, takes_part = view.phase, wanted(view)
            if view.phase != phase:  # the action has admitted it, so it admits all of them
                self.admitted += span.keys
                for key in span.keys:
                    self._jobs[key].phase = view.phase
            asked = replace(span, value=refused.of(view))
            refused.replace(view, NO_REFUSALS)
            if takes_part:
                taken.append(asked)
            else:
                self.spans.append(asked)
        return [*taken, *(self.span_of(view) for view in self.alone() if wanted(view))]

    def span_of(self, view: JobView) -> Span[None]:
        """A job in no span, as a span of its own."""
        found = None if view.moved else self.classes.of(view.key)
        if found is None:
            return Span(JobClass(view, [self._job_key(view)]), 0, 1, None)
        at = 0 if len(found) == 1 else self.classes.at(found, view.key)
        assert at is not None, "it is in this class"
        return Span(found, at, at + 1, None)

    # -- which jobs get the same answers -----------------------------------------------------------------------------

    def kind(self, job: JobView) -> Hashable | None:
        """Equal for jobs that get equal answers at present; None for a job in no class."""
        found = None if job.moved else self.classes.of(job.key)
        if found is None:
            return None
        if not self.reads_labels(found):
            return found, job.phase
        return found, job.phase, *[self._selection.label_class(task) for task in job.job.tasks_in_order]

    def reads_labels(self, job_class: JobClass) -> bool:
        """Whether rules about pods may distinguish jobs of a class by the labels of their pods, at present."""
        if self._latest is not self._ledger.latest:
            self._latest = self._ledger.latest
            self._reads.clear()
        for shape in job_class.shapes:
            reads = self._reads.get(shape)
            if reads is None:
                reads = self._reads[shape] = self._selection.reads_labels(shape)
            if reads:
                return True
        return False

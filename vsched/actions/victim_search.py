"""Who may take from whom: within a queue, within a job, and across queues (reference 3.4, 3.5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import ClassVar, Literal

import msgspec

from vsched.actions.allocate import PlacingArgs, workable
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobState
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

PREEMPT, RECLAIM = Purpose.PREEMPT.value, Purpose.RECLAIM.value


class VictimArgs(PlacingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of the actions that take from others."""

    victim_tiers: Literal["protection", "reference"] = msgspec.field(default="protection", name="victimTiers")
    """How tiers agree on victims. ``protection``: nobody whom a plugin protects absolutely, whichever tier it is in.

    ``reference``: as in Volcano, where a later tier may name whom an earlier one protects.
    """


class VictimSearch(ABC):
    """What one job may do to others."""

    action: ClassVar[str]
    by_score: ClassVar[bool]
    """Whether nodes are tried in the order of their scores, else in that of their names."""
    purpose: ClassVar[Purpose]
    """As plugins are asked."""
    waits_alone: ClassVar[bool]
    """Whether a job that nobody has to leave for is made to wait for what is on its way back."""

    def __init__(self, session: Session, job: JobView) -> None:
        self.session = session
        self.plugins = session.plugins
        self.job = job
        self.queue = session.queue(job)
        self.agreement = session.plugins.agreement[self.purpose]
        self.by_tiers = session.args(self.action, VictimArgs).victim_tiers == "reference"

    @property
    def has_claim(self) -> bool:
        """Whether the job is to have one more task at others' expense."""
        return self.plugins.job_starving(self.job)

    @abstractmethod
    def holders(self) -> Iterable[Job]:
        """The jobs that tasks may be taken from, plugins aside."""

    def rules_out(self, task: Task) -> Callable[[JobState], bool]:
        """Tells of jobs, as of now, whether it is certain that they lose nothing to the task."""
        return self.agreement.rules_out(task, by_tiers=self.by_tiers)

    @abstractmethod
    def takes(self, task: Task, victim: Task) -> bool:
        """Whether a victim comes into question for the task, plugins aside."""

    def agreed(self, task: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that the plugins agree to."""
        return self.agreement.victims(task, candidates, by_tiers=self.by_tiers)

    @abstractmethod
    def evictor_class(self, task: Task) -> Hashable:
        """Tasks of equal class may take from the same victims."""

    @abstractmethod
    def may_take(self, task: Task) -> bool:
        """Whether anything may be taken for the task at all."""

    @abstractmethod
    def comes_back(self, victim: Task, evictor: Task) -> bool:
        """Whether the victim's job could have the evictor's place back in its turn."""


class PreemptSearch(VictimSearch):
    """A job takes from other jobs of its queue."""

    action = PREEMPT
    by_score = True
    purpose = Purpose.PREEMPT
    waits_alone = True

    def holders(self) -> Iterable[Job]:
        for key, job in self.session.snapshot.holders.get(self.queue.name, {}).items():
            if key != self.job.key:
                yield job

    def takes(self, task: Task, victim: Task) -> bool:
        return victim.shape.best_effort or not task.shape.best_effort

    def evictor_class(self, task: Task) -> Hashable:
        # The job's own tasks are left out of the victims, so a job that holds something is a class of its own.
        own = self.job.key if self.job.job.holding else ""
        return PREEMPT, self.queue.name, own, task.shape.best_effort, self.agreement.class_of(task)

    def may_take(self, task: Task) -> bool:
        return task.preempts

    def comes_back(self, victim: Task, evictor: Task) -> bool:
        robbed = self.session.view(victim.job)
        return (
            victim.preempts
            and evictor.preemptable
            and self.takes(victim, evictor)
            and robbed is not None
            and self.plugins.job_starving(robbed)
            and self.agreement.could_retake(victim, evictor, by_tiers=self.by_tiers)
        )


class PreemptWithinJob(PreemptSearch):
    """A task takes from other tasks of its job."""

    def holders(self) -> Iterable[Job]:
        return (self.job.job,)

    def evictor_class(self, task: Task) -> Hashable:
        return "within", self.job.key, task.priority, task.shape.best_effort, self.agreement.class_of(task)


class ReclaimSearch(VictimSearch):
    """A job takes from jobs of other queues."""

    action = RECLAIM
    by_score = False
    purpose = Purpose.RECLAIM
    waits_alone = False

    def __init__(self, session: Session, job: JobView, *, growing: bool = False) -> None:
        super().__init__(session, job)
        self._growing = growing
        """Whether it has its minimum and takes task by task what its queue deserves beyond that."""

    @property
    def has_claim(self) -> bool:
        return self._growing or super().has_claim

    def holders(self) -> Iterable[Job]:
        queues = self.session.snapshot.queues
        for name, jobs in self.session.snapshot.holders.items():
            if name != self.queue.name and name in queues and queues[name].reclaimable:
                yield from jobs.values()

    def takes(self, task: Task, victim: Task) -> bool:
        return victim.status is Status.RUNNING

    def evictor_class(self, task: Task) -> Hashable:
        return RECLAIM, self.queue.name, self.agreement.class_of(task)

    def may_take(self, task: Task) -> bool:
        return task.preempts and self.plugins.preemptive(self.queue, task.shape.request)

    def comes_back(self, victim: Task, evictor: Task) -> bool:
        robbed = self.session.view(victim.job)
        if robbed is None or not victim.preempts or not evictor.preemptable or not self.queue.reclaimable:
            return False
        queue: Queue = self.session.queue(robbed)
        return (
            not self.plugins.overused(queue)
            and self.plugins.preemptive(queue, victim.shape.request)
            and self.agreement.could_retake(victim, evictor, by_tiers=self.by_tiers)
        )


def starving(session: Session) -> list[JobView]:
    """The jobs that have a claim to more and may be worked on."""
    return [job for job in session.jobs.values() if session.plugins.job_starving(job) and workable(session, job)]


def claiming(session: Session) -> list[JobView]:
    """The jobs that are below their minimum or have tasks beyond it that wait, and may be worked on."""
    if not session.plugins.knows_starving:
        return []
    return [job for job in session.jobs.values() if job.pending_count and workable(session, job)]


def unplaced(session: Session, job: JobView) -> list[Task]:
    """Tasks of a job that have no place and wait for none, in their order."""
    pending = (task for task in job.job.pending.values() if not task.gated and task.uid not in job.moved)
    return session.plugins.ordered_tasks(pending)

"""A job: one PodGroup with its tasks, and sums over the tasks.

Only the mirror writes to a ``Job``. A job that is part of a snapshot is frozen: the mirror clones it before the next
change (copy on write), so a cycle in another thread never sees a partial change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Literal, NamedTuple

import msgspec

from vsched.model.amounts.resources import (
    NOTHING,
    Amounts,
    Vector,
    add,
    exceeded,
    shortfall,
    subtract,
    without_zeros,
)
from vsched.model.jobs.kinds import WaitingJob, waiting_job
from vsched.model.jobs.spec import USER, USER_CHARACTERS, JobSpec
from vsched.model.pods.status import HOLDS, READY, Phase, Status
from vsched.model.pods.task import Task
from vsched.model.topology.subgroups import have_minima

_ALLOCATED, _BINDING, _BOUND, _RUNNING, _SUCCEEDED, _PENDING = (
    Status.ALLOCATED,
    Status.BINDING,
    Status.BOUND,
    Status.RUNNING,
    Status.SUCCEEDED,
    Status.PENDING,
)
"""Looked up once: members of enumerations take long to look up in Python 3.11."""


NO_REQUEST: Vector = {}
GATED = attrgetter("gated")


class Judgement(NamedTuple):
    """What follows for a job from its spec and from the objects that it names."""

    priority: int = 0
    unsupported: str = ""
    """Why none of it is placed (an unsupported feature or a missing object); empty where it may be placed."""
    notice: str = ""
    """What differs from its object, although it is scheduled."""
    awaits_class: str = ""
    """The missing PriorityClass that is the only obstacle to scheduling it; empty where there is none."""


PLAIN = Judgement()


class Job:
    """One PodGroup with its tasks and the sums over them."""

    __slots__ = (
        "_waiting_job",
        "allocated",
        "asked",
        "awaiting",
        "awaits_class",
        "best_effort",
        "claiming",
        "counts",
        "frozen",
        "gated",
        "key",
        "nominated",
        "notice",
        "pending",
        "pending_request",
        "priority",
        "reserving",
        "spec",
        "tasks",
        "unplaceable",
        "unsupported",
    )

    def __init__(self, key: str, spec: JobSpec, judgement: Judgement = PLAIN) -> None:
        self.key = key
        self.spec = spec
        self.priority, self.unsupported, self.notice, self.awaits_class = judgement
        self.tasks: dict[str, Task] = {}
        self.pending: dict[str, Task] = {}
        self.counts = [0] * len(Status)
        self.allocated: Vector = {}
        self.pending_request: Vector = {}
        self.nominated = 0
        """Pending tasks with a reserved node."""
        self.best_effort = 0
        """Pending tasks without requests, claims and unsupported requirements."""
        self.gated = 0
        """Pending tasks with scheduling gates other than the queue's gate."""
        self.awaiting = 0
        """Pending tasks with only the queue's scheduling gate."""
        self.reserving = 0
        """Pending tasks that their queue reserves room for."""
        self.unplaceable = 0
        """Pending tasks with unsupported requirements; ``pending_request`` does not include them."""
        self.claiming = 0
        """Pending tasks that name claims."""
        self.asked = 0
        """Tasks that were asked to end by themselves."""
        self.frozen = False
        self._waiting_job: WaitingJob | Literal[False] | None = False
        """False before it was asked."""

    def clone(self) -> Job:
        """A copy that may be changed; it shares the tasks, which never change."""
        other = Job.__new__(Job)
        other.key, other.spec, other.judgement = self.key, self.spec, self.judgement
        other.tasks, other.pending = self.tasks.copy(), self.pending.copy()
        other.counts = self.counts.copy()
        other.allocated, other.pending_request = self.allocated.copy(), self.pending_request.copy()
        other.nominated, other.awaiting, other.reserving = self.nominated, self.awaiting, self.reserving
        other.best_effort, other.gated, other.unplaceable = self.best_effort, self.gated, self.unplaceable
        other.claiming, other.asked = self.claiming, self.asked
        other.frozen = False
        other._waiting_job = False
        return other

    def put(self, task: Task) -> None:
        """Add a task, or replace its earlier record."""
        before = self.tasks.get(task.uid)
        if before is not None:
            if before.shape is task.shape and HOLDS[before.status].allocated and HOLDS[task.status].allocated:
                self._replace(before, task)
                return
            self.drop(task.uid)
        self.tasks[task.uid] = task
        self.counts[task.status] += 1
        self.asked += task.asked is not None
        if HOLDS[task.status].allocated:
            add(self.allocated, task.shape.request)
        elif task.status is _PENDING:
            self.pending[task.uid] = task
            self._count_pending(task, 1)
            if not task.unsupported:
                add(self.pending_request, task.shape.request)

    def _replace(self, before: Task, after: Task) -> None:
        """A task that holds the same as before, as one that is bound and starts."""
        del self.tasks[before.uid]  # the newest record comes last
        self.tasks[after.uid] = after
        self.counts[before.status] -= 1
        self.counts[after.status] += 1
        self.asked += (after.asked is not None) - (before.asked is not None)

    def drop(self, uid: str) -> Task | None:
        """Remove a task; returns its record, or None where it is not here."""
        task = self.tasks.pop(uid, None)
        if task is None:
            return None
        self.counts[task.status] -= 1
        self.asked -= task.asked is not None
        if HOLDS[task.status].allocated:
            subtract(self.allocated, task.shape.request)
        elif task.status is _PENDING:
            del self.pending[uid]
            self._count_pending(task, -1)
            if not task.unsupported:
                subtract(self.pending_request, task.shape.request)
        return task

    def _count_pending(self, task: Task, by: int) -> None:
        if task.nominated:
            self.nominated += by
        if task.best_effort and not task.unsupported:
            self.best_effort += by
        if task.awaits_queue:
            self.awaiting += by
        elif task.gated:
            self.gated += by
        if task.reserves:
            self.reserving += by
        if task.unsupported:
            self.unplaceable += by
        if task.claims is not None:
            self.claiming += by

    @property
    def judgement(self) -> Judgement:
        """What follows for the job from its spec and from the objects that it names."""
        return Judgement(self.priority, self.unsupported, self.notice, self.awaits_class)

    @judgement.setter
    def judgement(self, found: Judgement) -> None:
        self.priority, self.unsupported, self.notice, self.awaits_class = found

    @property
    def user(self) -> str:
        """The user of the job, by its PodGroup, else by its first pod; empty if neither names one."""
        for key, value in self.spec.annotations:
            if key == USER:
                return value[:USER_CHARACTERS]
        for first in self.tasks.values():
            for key, value in first.labels.pairs:
                if key == USER:
                    return value[:USER_CHARACTERS]
            break
        return ""

    @property
    def called(self) -> str:
        """How sentences name it: ``ReplicaSet default/web-5d9`` where its PodGroup was made for that, else its key."""
        kind, _, name = self.spec.made_for.partition(" ")
        return f"{kind} {self.spec.namespace}/{name}" if name else self.key

    @property
    def kept_out(self) -> bool:
        """Whether unsupported requirements block the whole job, not only some of its pods."""
        return bool(self.unsupported) or (self.unplaceable > 0 and not self._reaches_minimum())

    def _reaches_minimum(self) -> bool:
        """Whether the pods without unsupported requirements are enough for the minima of the job and of its parts."""
        spec, able = self.spec, len(self.pending) - self.unplaceable
        if self.ready + able < max(1, spec.min_member):
            return False
        if spec.sub_groups and not have_minima(spec.sub_groups, filter(_counts, self.tasks.values())):
            return False
        minima = spec.min_task_member
        if not minima or spec.min_member < sum(minimum for _, minimum in minima):
            return True  # no role has a minimum that applies
        counts = Counter(task.role for task in self.tasks.values() if _counts(task))
        return all(counts[role] >= minimum for role, minimum in minima)

    @property
    def waits(self) -> bool:
        """Whether a cycle may act on the job or report about it."""
        if self.spec.phase == Phase.PENDING or self.awaiting or self.unplaceable:
            return True
        return not all(map(GATED, self.pending.values()))

    @property
    def waiting_job(self) -> WaitingJob | None:
        """What it has in common with others, worked out once if it is frozen; None where some pod does not wait or is
        special (it has a gate, a nominated node, or a claim), or where it has no pods and was admitted."""
        if self.frozen and self._waiting_job is not False:
            return self._waiting_job
        count, found = len(self.pending), None
        special = self.nominated or self.gated or self.awaiting or self.reserving or self.unplaceable or self.claiming
        if count == len(self.tasks) and not special and (count or self.spec.phase in (Phase.PENDING, "")):
            found = waiting_job(self.spec, self.priority, self.user, self.pending.values())
        if self.frozen:
            self._waiting_job = found
        return found

    @property
    def tasks_in_order(self) -> tuple[Task, ...]:
        """The tasks of a job that has a kind, in the order of ``WaitingJob.tasks``."""
        found = self._waiting_job or self.waiting_job
        assert found, "it has a kind"
        return found.tasks

    @property
    def ready(self) -> int:
        """Tasks that count towards the gang's minimum."""
        counts = self.counts
        return counts[_BOUND] + counts[_BINDING] + counts[_RUNNING] + counts[_ALLOCATED] + counts[_SUCCEEDED]

    @property
    def confirmed(self) -> int:
        """Tasks that count towards the gang's minimum and are known to have their node: no binding is on its way."""
        return self.ready - self.counts[_BINDING] - self.counts[_ALLOCATED]

    @property
    def holding(self) -> bool:
        """Whether any task is bound or running."""
        return bool(self.counts[_BOUND] or self.counts[_RUNNING])

    @property
    def may_be_partial(self) -> bool:
        """Whether some pods have nodes and others wait, and the minimum, or that of a part, may not be met."""
        if not self.pending or not self.allocated_count:
            return False
        spec = self.spec
        return self.ready < spec.min_member or bool(spec.min_task_member or spec.sub_groups)

    @property
    def allocated_count(self) -> int:
        """Tasks in an allocated status."""
        return self.ready - self.counts[_SUCCEEDED]


def _counts(task: Task) -> bool:
    """Whether a task counts towards a minimum now, or may once it is placed."""
    return task.status in READY or (task.status is _PENDING and not task.unsupported)


class JobUsage(msgspec.Struct, frozen=True, gc=False):
    """What one job adds to the usage of its queue; its sums are maintained, never recomputed."""

    queue: str
    namespace: str
    user: str = ""
    allocated: Amounts = NOTHING
    pending: Amounts = NOTHING
    elastic: Amounts = NOTHING
    """Allocated beyond ``minResources``."""
    inqueue: Amounts = NOTHING
    """Admitted but not allocated yet, as the plugin proportion counts it."""
    promised: Amounts = NOTHING
    """Admitted, as the plugin overcommit counts it: all of ``minResources`` while the phase is Inqueue."""


def phases_of(jobs: Iterable[Job]) -> Counter[str]:
    """How many jobs are in each phase."""
    return Counter(job.spec.phase for job in jobs)


def claim_of(job: Job) -> JobUsage:
    """The usage of a job, from its sums and its phase."""
    spec = job.spec
    allocated = without_zeros(job.allocated)
    pending = without_zeros(NO_REQUEST if job.kept_out else job.pending_request)
    wanted = spec.min_resources
    if wanted is None:
        return JobUsage(spec.queue, spec.namespace, job.user, allocated, pending, allocated)
    elastic = exceeded(job.allocated, wanted)
    inqueue = pledge_of(job)
    enters = spec.phase == Phase.INQUEUE and not job.kept_out
    promised = without_gated(job, wanted) if enters else inqueue
    return JobUsage(spec.queue, spec.namespace, job.user, allocated, pending, elastic, inqueue, promised)


def pledge_of(job: Job) -> Amounts:
    """What a job was admitted for and does not hold yet; nothing where it states no ``minResources``."""
    spec = job.spec
    if job.kept_out:
        return NOTHING
    if spec.phase == Phase.INQUEUE or (spec.phase == Phase.RUNNING and job.allocated_count >= spec.min_member):
        return shortfall_of(job)
    return NOTHING


def shortfall_of(job: Job) -> Amounts:
    """A job's ``minResources`` minus gated pods and minus what it holds, not below zero; nothing where it has none."""
    wanted = job.spec.min_resources
    return NOTHING if wanted is None else shortfall(without_gated(job, wanted), job.allocated)


def without_gated(job: Job, wanted: Amounts) -> Amounts:
    """``wanted`` minus the requests of pods with gates other than the queue's, not below zero."""
    if not job.gated:
        return wanted
    gated: Vector = {}
    for task in job.pending.values():
        if task.gated and not task.awaits_queue:
            add(gated, task.shape.request)
    return shortfall(wanted, gated) if gated else wanted

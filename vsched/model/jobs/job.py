"""A job: one PodGroup with its tasks, and sums over the tasks.

Only the mirror writes to a ``Job``. A job that is part of a snapshot is frozen: the mirror clones it before the next
change (copy on write), so a cycle in another thread never sees a partial change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

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
from vsched.model.jobs.budget import JobBudget
from vsched.model.jobs.native import NativeGroup
from vsched.model.jobs.task_topology import TaskTopology
from vsched.model.pods.status import HOLDS, READY, Phase, Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import NO_TERMS, EvictionTerms, Preemptibility
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.model.topology.subgroups import have_minima

if TYPE_CHECKING:
    from vsched.model.jobs.kinds import WaitingJob

_ALLOCATED, _BINDING, _BOUND, _RUNNING, _SUCCEEDED, _PENDING = (
    Status.ALLOCATED,
    Status.BINDING,
    Status.BOUND,
    Status.RUNNING,
    Status.SUCCEEDED,
    Status.PENDING,
)
"""Looked up once: members of enumerations take long to look up in Python 3.11."""


class Condition(msgspec.Struct, frozen=True):
    """A condition of a PodGroup, without the fields that change with each write."""

    kind: str
    status: str
    reason: str = ""
    message: str = ""
    since: float = 0.0
    """Its ``lastTransitionTime``, seconds since the epoch; 0 for a condition that begins now."""


USER = "vsched.io/user"
"""The annotation of a PodGroup, else of the workload or pod that stands for it, else the label of pods, that names the
user of the work. Daemons that are told of another key (``--user-key``) read objects as if they used this one."""
NO_REQUEST: Vector = {}
GATED = attrgetter("gated")
USER_CHARACTERS = 64
"""Longer names of users are cut."""
STATED = frozenset({"Scheduled", "Unschedulable"})
"""Condition types of which at most one is true at a time."""


class JobSpec(msgspec.Struct, frozen=True, gc=False):
    """The content of a PodGroup object."""

    namespace: str
    name: str
    uid: str = ""
    created: float = 0.0
    queue: str = "default"
    min_member: int = 0
    min_task_member: tuple[tuple[str, int], ...] = ()
    min_resources: Amounts | None = None
    priority_class: str = ""
    phase: str = Phase.PENDING
    written_phase: str = ""
    """The phase that the object still has while the write of ``phase`` is under way; empty if they agree."""
    conditions: tuple[Condition, ...] = ()
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    preemptable: bool | None = None
    annotations: tuple[tuple[str, str], ...] = ()
    waiting_seconds: float | None = None
    """The longest time it should wait (``volcano.sh/sla-waiting-time``), seconds; None where it states none."""
    budget: JobBudget | None = None
    """How many of its pods may be unavailable (``volcano.sh/jdb-*``); None where it states none."""
    quota_request: tuple[tuple[str, int], ...] = ()
    """Entries of ``minResources`` that only quotas use (``limits.cpu``; ``requests.cpu`` as ``cpu``); base units."""
    implicit: bool = False
    """Whether the job stands for pods of ours without a PodGroup; then there is no object to write to."""
    made: bool = False
    """Whether vsched made the PodGroup for pods that named none; it only records what the pods and workload state."""
    written_for: str = ""
    """The Volcano Job whose controller writes this PodGroup, so that changes belong there; empty for none."""
    expected: float = 0.0
    """Expected run time of pods that state none (annotation ``EXPECTED_DURATION``), seconds; 0 where not stated."""
    wall_time: float = 0.0
    """For how long it may run by its own statement (annotation ``WALL_TIME``), seconds; 0 where not stated."""
    unsupported: str = ""
    """The unsupported feature that it requires; empty where there is none."""
    topology: NetworkTopology | None = None
    """How close its pods have to be; None where it does not say."""
    sub_groups: tuple[SubGroupPolicy, ...] = ()
    """How its pods form sub-groups; a pod belongs to the first policy that concerns it."""
    task_topology: TaskTopology | None = None
    """Which of its roles should share nodes; None where it does not say."""
    wishes: tuple[str, ...] = ()
    """Notes on unsupported features that it prefers: that they have no effect."""
    class_only_named: bool = False
    """Whether its pods have priorities of their own, so that the named PriorityClass need not exist."""
    terms: EvictionTerms = NO_TERMS
    """What it states about evictions."""
    preemptibility: Preemptibility | None = None
    """Which of its pods may be evicted for others; None where it does not say."""
    checkpoint: float = 0.0
    """When all of it last saved its work (annotation ``LAST_CHECKPOINT``), seconds since the epoch; 0 without one."""
    native: NativeGroup | None = None
    """What a native PodGroup says besides; None for all other jobs."""
    barred: tuple[str, ...] = ()
    """Keys of jobs that it evicts nothing of for now, because they took from each other in turn."""
    gang: str = ""
    """The owner that its pods were found by, as ``JobSet train``; empty where they were not found by owners."""
    made_for: str = ""
    """What its PodGroup was made for, as ``ReplicaSet web-5d9``; empty where somebody named the PodGroup."""
    said_by_pods: tuple[str, ...] = ()
    """Annotations that its pods have themselves, of those that say how the job is scheduled: they go before those of
    the owner. Of jobs whose PodGroup follows from pods and their owner."""

    @property
    def follows(self) -> bool:
        """Whether its PodGroup follows from pods and their owner, so that changes belong there."""
        return self.implicit or self.made

    @property
    def scheduling_condition(self) -> Condition | None:
        """The condition that says whether it was scheduled; None without one."""
        return next((one for one in self.conditions if one.kind in STATED), None)

    @property
    def leaves_whole(self) -> bool:
        """Whether its pods are evicted together or not at all (``disruptionMode`` of native PodGroups)."""
        return self.native is not None and self.native.whole


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
        "waiting_job",
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
        self.waiting_job: WaitingJob | Literal[False] | None = False
        """What ``kinds.waiting_job`` has found of it; False before it was asked."""

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
        other.waiting_job = False
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

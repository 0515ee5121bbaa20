"""job-limits: how many jobs run at once in a queue, of a user or a namespace in it, and of a user in the cluster.

A job runs while it holds a node: its pods are bound or running, or got their nodes in this session. One that would
exceed a limit waits, and no pod is evicted for it. A limit that is lowered evicts nobody, and a job that runs may get
more pods whatever the limits say. A queue states its limits by annotations, which count for all queues below it as
well; the arguments count for the job's own queue where it states none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueued, PlacementListener, Plugin, SessionContext
from vsched.framework.points.levers import ArgumentLever, argument_edit
from vsched.framework.points.runs import StartLimit
from vsched.framework.points.terms import QueueTerm
from vsched.framework.refusal import Refusal
from vsched.model.jobs.job import Job
from vsched.model.jobs.runs import RunClass, class_of
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above
from vsched.plugins.words import jobs as words

TOO_MANY_JOBS = "TooManyRunningJobs"
MORE_JOBS = 100
"""How many more jobs ``explain`` tries to allow."""
Jobs = Annotated[int, msgspec.Meta(ge=0)]


class JobLimitsArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The limits of queues that state none; None for no limit."""

    max_running_jobs: Jobs | None = None
    """Jobs in a queue."""
    max_running_jobs_per_user: Jobs | None = None
    """Jobs of a user in a queue; jobs that name no user are not limited."""
    max_running_jobs_per_namespace: Jobs | None = None
    """Jobs of a namespace in a queue."""
    max_running_jobs_of_user: Jobs | None = None
    """Jobs of a user in the cluster."""


class Scope(NamedTuple):
    """Whose jobs a limit counts."""

    queue: str = ""
    """With the queues below it; empty for the cluster."""
    namespace: str = ""
    user: str = ""


class JobLimit(NamedTuple):
    """How many jobs of a scope may run."""

    scope: Scope
    most: int


class JobLimits(Plugin[JobLimitsArgs], StartLimit, JobEnqueued, PlacementListener):
    """Lets jobs wait while as many run as may."""

    name = "job-limits"
    args_type = JobLimitsArgs
    terms = frozenset({QueueTerm.RUNNING_JOBS})

    def open(self, context: SessionContext) -> None:
        """Count the running jobs of each scope that has a limit; the cost follows the number of holders."""
        self._queues = context.snapshot.queues
        self._jobs = context.jobs
        self._runs = context.snapshot.runs
        self._limits: dict[RunClass, tuple[JobLimit, ...]] = {}
        self._placed: Counter[str] = Counter()
        """By job: the tasks that got a node in this session, less those that lost theirs."""
        self._running: Counter[Scope] = Counter()
        self._admitted: Counter[Scope] | None = None
        """Jobs that were admitted and hold no node; None until somebody asks."""
        if self.args == JobLimitsArgs() and not any(_states(queue) for queue in self._queues.values()):
            return
        for kind, runs in context.snapshot.runs.items():
            for limit in self._limits_of(kind):
                self._running[limit.scope] += len(runs)

    def start_limit(self, job: JobView, *, admitting: bool = False) -> Refusal | None:
        """The refusal by the first scope that has as many jobs as it may."""
        limits = self._limits_of(class_of(job.job))
        if not limits or self._held(job.job):
            return None
        waiting = self._count_admitted() if admitting else None
        for scope, most in limits:
            running = self._running[scope]
            if running + (0 if waiting is None else waiting[scope]) >= most:
                message = words.runs_enough_jobs(running, most, **scope._asdict())
                return Refusal(TOO_MANY_JOBS, message, code=Code.RUNNING_JOBS, subject=scope.queue, lasting=not most)
        return None

    def starts_left(self, job: JobView) -> Mapping[Hashable, int]:
        """What each scope of the job has left."""
        return {scope: most - self._running[scope] for scope, most in self._limits_of(class_of(job.job))}

    def running_within(self, job: JobView) -> Sequence[str]:
        """The running jobs of the first scope that has as many as it may."""
        for limit in self._limits_of(class_of(job.job)):
            if self._running[limit.scope] >= limit.most:
                counting = (runs for kind, runs in self._runs.items() if limit in self._limits_of(kind))
                return sorted(run.job for runs in counting for run in runs)
        return ()

    def job_enqueued(self, job: JobView) -> None:
        """Count an admitted job."""
        if self._admitted is not None:
            self._shift(self._admitted, job.job, 1)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Count a job that got its first node."""
        if not self._held(job.job):
            self._shift(self._running, job.job, 1)
        self._placed[job.key] += 1

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Stop counting a job that lost its last node."""
        self._placed[job.key] -= 1
        if not self._held(job.job):
            self._shift(self._running, job.job, -1)

    def argument_levers(self) -> Iterator[ArgumentLever]:
        """Higher limits."""
        for argument in msgspec.structs.fields(self.args):
            most: int | None = getattr(self.args, argument.name)
            if most is not None:
                yield ArgumentLever(partial(_raised, argument.encode_name, most), MORE_JOBS, max(1, most))

    def _held(self, job: Job) -> int:
        """How many nodes a job's tasks have."""
        return job.allocated_count + self._placed[job.key]

    def _shift(self, counts: Counter[Scope], job: Job, by: int) -> None:
        for limit in self._limits_of(class_of(job)):
            counts[limit.scope] += by

    def _count_admitted(self) -> Counter[Scope]:
        if self._admitted is None:
            self._admitted = Counter()
            for job in self._jobs.values():
                if job.phase == Phase.INQUEUE and not self._held(job.job):
                    self._shift(self._admitted, job.job, 1)
        return self._admitted

    def _limits_of(self, kind: RunClass) -> tuple[JobLimit, ...]:
        """The limits that hold for a job of this class, those of its own queue first."""
        found = self._limits.get(kind)
        if found is None:
            found = self._limits[kind] = tuple(self._stated(kind))
        return found

    def _stated(self, kind: RunClass) -> Iterator[JobLimit]:
        args, user = self.args, kind.user
        queue = self._queues.get(kind.queue)
        if queue is not None:
            for one in (queue, *above(queue, self._queues.get, rooted=True)):
                own = one is queue
                jobs, per_user = one.limits.running_jobs, one.limits.running_jobs_per_user
                jobs = args.max_running_jobs if own and jobs is None else jobs
                per_user = args.max_running_jobs_per_user if own and per_user is None else per_user
                if jobs is not None:
                    yield JobLimit(Scope(one.name), jobs)
                if per_user is not None and user:
                    yield JobLimit(Scope(one.name, user=user), per_user)
                if own and args.max_running_jobs_per_namespace is not None:
                    yield JobLimit(Scope(one.name, kind.namespace), args.max_running_jobs_per_namespace)
        if args.max_running_jobs_of_user is not None and user:
            yield JobLimit(Scope(user=user), args.max_running_jobs_of_user)


def _states(queue: Queue) -> bool:
    limits = queue.limits
    return limits.running_jobs is not None or limits.running_jobs_per_user is not None


def _raised(key: str, most: int, step: int) -> dict[str, object]:
    """The edit that allows so many more jobs."""
    return dict(argument_edit(JobLimits.name, key, most + step))

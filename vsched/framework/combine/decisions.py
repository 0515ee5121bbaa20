"""What may be: the answers of all plugins on one job, or on what one queue or namespace may hold."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import inf

from vsched.framework.codes import Code
from vsched.framework.combine.tiers import PluginTiers, PolicyLayout
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import (
    Allocatable,
    BindAnnotations,
    ClaimLimit,
    JobCondition,
    JobEnqueued,
    JobReady,
    JobValid,
    NamespaceLimit,
    Overused,
    Preemptive,
)
from vsched.framework.points.runs import RunLimit, StartLimit
from vsched.framework.policy import Policy
from vsched.framework.refusal import Refusal
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.amounts.resources import Amounts, times
from vsched.model.jobs.spec import Condition
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


class PluginDecisions(PluginTiers):
    """The combined decisions: all must agree, or any one is enough, or the first answer counts."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace, layout: PolicyLayout | None = None) -> None:
        super().__init__(policy, registry, trace, layout)
        self._valid = self.taking_part(JobValid)
        self._ready = self.taking_part(JobReady)
        self._stating = self.taking_part(JobCondition)
        self._overused = self.taking_part(Overused)
        self._allocatable = self.taking_part(Allocatable)
        self._annotating = self.taking_part(BindAnnotations)
        points = self._layout.points
        self.limits_starts = StartLimit in points
        """Whether any plugin limits which jobs may start."""
        self.limits_amounts_elsewhere = ClaimLimit in points or NamespaceLimit in points
        """Whether any plugin limits namespaces, or what the claims of a queue ask for."""

    @property
    def limits_runs(self) -> bool:
        """Whether any plugin limits how long jobs run."""
        return RunLimit in self._layout.points

    @property
    def conditions_by_job_alone(self) -> bool:
        """Whether the conditions of a job follow from the job alone."""
        return not self.limits_runs and JobCondition not in self._layout.looking_around

    def job_valid(self, job: JobView) -> Refusal | None:
        """Why the job is not valid: the first refusal; None where it is valid."""
        for plugin in self._valid:
            refusal = plugin.job_valid(job)
            if refusal is not None:
                return refusal
        return None

    def job_ready(self, job: JobView) -> bool:
        """Whether the job's placements may be bound."""
        for plugin in self._ready:  # noqa: SIM110  # asked twice for each task: generators would take twice as long
            if not plugin.job_ready(job):
                return False
        return True

    def start_limit(self, job: JobView, *, admitting: bool = False) -> Refusal | None:
        """Why a job may not start, whatever room there is: the first refusal; None where it may."""
        for plugin in self.taking_part(StartLimit):
            refusal = plugin.start_limit(job, admitting=admitting)
            if refusal is not None:
                return refusal
        return None

    def starts_left(self, job: JobView) -> dict[Hashable, int]:
        """How many more jobs may start, by each limit on running jobs that counts this one."""
        return {
            (at, limit): left
            for at, plugin in enumerate(self.taking_part(StartLimit))
            for limit, left in plugin.starts_left(job).items()
        }

    def running_within(self, job: JobView) -> list[str]:
        """Keys of the running jobs that the limits count which refuse this one, sorted."""
        return sorted({key for one in self.taking_part(StartLimit) for key in one.running_within(job)})

    def overdue(self) -> list[str]:
        """Keys of the running jobs that have to end now, sorted."""
        return sorted({key for one in self.taking_part(RunLimit) for key in one.overdue()})

    def next_end(self) -> float:
        """When the next running job has to end, seconds since the epoch; infinite for none."""
        return min([one.next_end() for one in self.taking_part(RunLimit)], default=inf)

    def run_condition(self, job: JobView) -> Condition | None:
        """The condition about the end of a job's run where it changes; the first answer."""
        for one in self.taking_part(RunLimit):
            found = one.run_condition(job)
            if found is not None:
                return found
        return None

    def tasks_missing(self, job: JobView) -> int:
        """A lower bound on the tasks to place before the job can be ready."""
        missing = 0
        for plugin in self._ready:
            found = plugin.tasks_missing(job)
            if found > missing:
                missing = found
        return missing

    def job_condition(self, job: JobView) -> Condition | None:
        """The condition to write to the PodGroup; the first plugin's answer, None where there is none."""
        for plugin in self._stating:
            condition = plugin.job_condition(job)
            if condition is not None:
                return condition
        return None

    def overused(self, queue: Queue) -> bool:
        """Whether the queue must get nothing more in this cycle."""
        for plugin in self._overused:  # noqa: SIM110  # as above
            if plugin.overused(queue):
                return True
        return False

    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """The first refusal of one more request in the queue; None where all plugins agree."""
        for plugin in self._allocatable:
            refusal = plugin.allocatable(queue, request)
            if refusal is not None:
                return refusal
        return None

    def room_above(self, queue: Queue, column: int) -> dict[str, int]:
        """How much more of a resource each queue above may hold: the least of all plugins."""
        found: dict[str, int] = {}
        for plugin in self._allocatable:
            for name, room in plugin.room_above(queue, column).items():
                found[name] = min(room, found.get(name, room))
        return found

    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """The first refusal of ``count`` more pods in the namespace, whatever the queue."""
        for plugin in self.taking_part(NamespaceLimit):
            refusal = plugin.namespace_limit(namespace, shape, count)
            if refusal is not None:
                return refusal
        return None

    def claim_limit(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """The first refusal of what the ResourceClaims of these tasks ask for together; None where all agree."""
        if not self.taking_part(ClaimLimit):
            return None
        claiming = [task for task in tasks if task.claims is not None and task.claims.devices]
        for plugin in self.taking_part(ClaimLimit) if claiming else ():
            refusal = plugin.claim_limit(queue, claiming)
            if refusal is not None:
                return refusal
        return None

    def grantable(self, queue: Queue, task: Task) -> Refusal | None:
        """The first refusal of one more task in the queue, by the limits of queue and namespace."""
        refusal = self.allocatable(queue, task.shape.request)
        if refusal is not None or not self.limits_amounts_elsewhere:
            return refusal
        return self.namespace_limit(task.namespace, task.shape) or self.claim_limit(queue, (task,))

    def grantable_together(self, queue: Queue, tasks: Sequence[Task], count: int) -> Refusal | None:
        """The first refusal of ``count`` of these tasks, which have one shape.

        Limits on claims only count where ``count`` is all of them, because claims differ from task to task.
        """
        task, claiming = tasks[0], tasks if len(tasks) == count else ()
        request = task.shape.request if count == 1 else times(task.shape.request, count)
        return (
            self.allocatable(queue, request)
            or self.namespace_limit(task.namespace, task.shape, count)
            or self.claim_limit(queue, claiming)
        )

    def slot_limit(self, queue: Queue, task: Task) -> Refusal | None:
        """The refusal of one more best-effort pod: only limits on its pod slot count, and slots that are kept free."""
        refusal = self.allocatable(queue, task.shape.request)
        if refusal is not None and refusal.code in (Code.QUEUE_CAPABILITY, Code.QUEUE_SHARE):
            return refusal
        return self.namespace_limit(task.namespace, task.shape)

    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """Whether the queue may reclaim room from other queues for the request."""
        return all(plugin.preemptive(queue, request) for plugin in self.taking_part(Preemptive))

    def job_enqueued(self, job: JobView) -> None:
        """Tell the plugins with ``JobEnqueued`` that a job was admitted."""
        for plugin in self.taking_part(JobEnqueued):
            plugin.job_enqueued(job)

    def bind_annotations(self, task: Task) -> tuple[tuple[str, str], ...]:
        """The annotations that a task gets with its binding."""
        if not self._annotating:
            return ()
        return tuple(found for plugin in self._annotating for found in plugin.bind_annotations(task))

    def node_lock(self, task: Task) -> str:
        """The annotation by which a task's node is locked while it is bound; empty for none."""
        return next(filter(None, (plugin.node_lock(task) for plugin in self._annotating)), "")

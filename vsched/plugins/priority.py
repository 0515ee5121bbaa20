"""priority: higher priority first, among jobs, and among the sub-groups and tasks of a job."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import (
    JobOrder,
    JobStarving,
    JobState,
    NoArgs,
    Plugin,
    QueueScore,
    SessionContext,
    SubGroupOrder,
    TaskOrder,
)
from vsched.framework.points.terms import QueueTerm
from vsched.framework.points.victims import Preemptable, Purpose, Votes
from vsched.framework.subgroups import SubGroup
from vsched.framework.words.jobs import HIGHER_PRIORITY
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins.words import victims


class Priority(Plugin[NoArgs], JobOrder, SubGroupOrder, TaskOrder, QueueScore, Preemptable, JobStarving):
    """Orders jobs and tasks by priority, and lets higher priority preempt lower priority."""

    name = "priority"
    timeless = True
    terms = frozenset({QueueTerm.PRIORITY})
    votes_by_kind = True
    by_job_alone = True
    goes_first = HIGHER_PRIORITY

    def open(self, context: SessionContext) -> None:
        """Keep the jobs, to look up priorities of victims' jobs, and the range of priorities."""
        self._jobs = context.snapshot.jobs
        self._range = context.snapshot.priority_range
        self._lowest: dict[str, int] = {}
        """By job: the lowest priority of its tasks, computed at the first call."""

    def job_key(self, job: JobView) -> int:
        """Higher priority first."""
        return -job.priority

    def sub_group_key(self, group: SubGroup) -> int:
        """The sub-group with the task of the highest priority first."""
        return -group.priority

    def task_key(self, task: Task) -> int:
        """Higher priority first."""
        return -task.priority

    def queue_score(self, queue: Queue) -> float:
        """The queue's priority, scaled to 0 for the lowest and 1 for the highest; 0 where all are equal.

        PriorityClasses and queues of the cluster define the range. Classes that Kubernetes reserves for the system
        (above 1,000,000,000) count only if a queue has such a priority; else all other scores would be close to 0.
        """
        low, high = self._range
        return (queue.priority - low) / (high - low) if high > low else 0.0

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Tasks of jobs of lower priority; within the evictor's own job, tasks of lower priority."""
        jobs = self._jobs
        key, own, least = evictor.job, jobs[evictor.job].priority, evictor.priority

        def agreed(candidates: Sequence[Task]) -> list[Task]:
            return [
                victim
                for victim in candidates
                if victim.job in jobs
                and (victim.priority < least if victim.job == key else jobs[victim.job].priority < own)
            ]

        def rules_out(job: JobState) -> bool:
            return job.key != key and job.priority >= own

        return Votes(agreed, victims.PRIORITY_NOT_LOWER, rules_out, self._class_of(evictor))

    def job_class(self, job: JobView) -> None:
        """Only the number of pods counts."""

    def _class_of(self, evictor: Task) -> Hashable:
        """The priority of the evictor's job; if it could preempt within its own job, also that job and its priority."""
        own = self._jobs[evictor.job]
        lowest = self._lowest.get(own.key)
        if lowest is None:
            lowest = self._lowest[own.key] = min(task.priority for task in own.tasks.values())
        return own.priority if lowest >= evictor.priority else (own.priority, own.key, evictor.priority)

    def job_starving(self, job: JobView) -> bool:
        """Whether some task is neither placed nor waiting for room."""
        return job.ready + job.waiting < len(job.job.tasks)

"""priority: higher priority first, among jobs and among the tasks of a job (reference 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.extension import JobOrder, JobStarving, NoArgs, Opening, Plugin, Preemptable, TaskOrder
from vsched.framework.jobs import JobView
from vsched.model.task import Task


class Priority(Plugin[NoArgs], JobOrder, TaskOrder, Preemptable, JobStarving):
    """Orders by priority, and lets the higher take from the lower."""

    name = "priority"

    def open(self, opening: Opening) -> None:
        """Keep the jobs, to look up whose priority a victim has."""
        self._jobs = opening.snapshot.jobs

    def job_key(self, job: JobView) -> int:
        """Higher priority first."""
        return -job.priority

    def task_key(self, task: Task) -> int:
        """Higher priority first."""
        return -task.priority

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Tasks of jobs of lower priority; within the preemptor's own job, tasks of lower priority."""
        own = self._jobs[preemptor.job].priority
        return [
            victim
            for victim in candidates
            if victim.job in self._jobs
            and (
                victim.priority < preemptor.priority
                if victim.job == preemptor.job
                else self._jobs[victim.job].priority < own
            )
        ]

    def job_starving(self, job: JobView) -> bool:
        """Some task is neither placed nor waiting for room."""
        return job.ready + job.waiting < len(job.job.tasks)

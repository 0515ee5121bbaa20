"""task-topology: places pods of some roles of a job together on a node, and pods of others apart.

The annotations ``volcano.sh/task-topology-*`` of a PodGroup say which. They are wishes: nothing waits for them. The
pods of the job form buckets, one for each node that they should share. A bucket's pods are placed one after the other;
a node's score is the number of the bucket's pods that are on it or still have room on it, less the pods on it that
should be elsewhere, in hundredths of the largest bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import PlacementListener, Plugin, SessionContext, SortKey, TaskOrder
from vsched.framework.points.nodes import TaskScore
from vsched.framework.points.terms import JobTerm
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Floats, Mask, NodeTable
from vsched.model.pods.task import Task
from vsched.plugins.pods.buckets import JobBuckets
from vsched.plugins.words import jobs as words


class TaskTopologyArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of task-topology."""

    weight: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(default=1, name="task-topology.weight")
    """Of the score; 0 leaves only the order of tasks."""


class TaskTopologyPlugin(Plugin[TaskTopologyArgs], TaskOrder, TaskScore, PlacementListener):
    """Orders the tasks of jobs by their buckets, and scores nodes by how much of a bucket they can hold."""

    name = "task-topology"
    terms = frozenset({JobTerm.TASK_TOPOLOGY})
    args_type = TaskTopologyArgs

    def open(self, context: SessionContext) -> None:
        """Buckets of a job are formed at the first question about it."""
        self._jobs = context.jobs
        self._rows = context.nodes.statics.row
        self._formed: dict[str, JobBuckets | None] = {}

    def task_key(self, task: Task) -> SortKey:
        """Tasks in buckets first, from the bucket in which most tasks wait."""
        buckets = self._buckets(task.job)
        return () if buckets is None else buckets.key(task)

    def scores_task(self, task: Task) -> bool:
        """Whether the task is in a bucket."""
        buckets = self._buckets(task.job)
        return buckets is not None and self.args.weight > 0 and buckets.bucket_of(task) is not None

    def task_score(self, task: Task, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """How much of the task's bucket each node holds and could hold."""
        buckets = self._buckets(task.job)
        scores = None if buckets is None else buckets.scores(task, nodes)
        if buckets is None or scores is None:
            return None
        scores *= self.args.weight * 100.0 / buckets.largest
        return scores

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Count one more of the bucket's tasks on the node."""
        self._move(job, task, row, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Count one less."""
        self._move(job, task, row, -1)

    def job_notes(self, job: Job) -> Iterator[str]:
        """Which roles the annotations name that the job does not have: then none of them counts."""
        if (unknown := _unknown_roles(job)) is not None:
            yield words.unknown_role(unknown[:40])

    def _move(self, job: JobView, task: Task, row: int, by: int) -> None:
        if job.spec.task_topology is not None:
            buckets = self._buckets(job.key)
            if buckets is not None:
                buckets.move(task, row, by)

    def _buckets(self, key: str) -> JobBuckets | None:
        """The buckets of a job; None where it has no wishes, or none that can be used, or is not worked on."""
        job = self._jobs.get(key)
        if job is None or job.spec.task_topology is None:
            return None
        if key not in self._formed:
            known = _unknown_roles(job.job) is None
            tasks = job.job.tasks.values()
            self._formed[key] = JobBuckets(job.spec.task_topology, tasks, self._rows) if known else None
        return self._formed[key]


def _unknown_roles(job: Job) -> str | None:
    """The first role by name that the annotations of a job name and that it does not have; None where it has all."""
    wished = job.spec.task_topology
    if wished is None:
        return None
    known = {task.role for task in job.tasks.values()}.union(role for role, _ in job.spec.min_task_member)
    return min(wished.roles - known, default=None)

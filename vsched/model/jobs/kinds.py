"""The kinds of waiting jobs: jobs of a kind differ in names and ages alone, and all of their pods wait for nodes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vsched.model.jobs.job import Job, JobSpec
from vsched.model.pods.order import in_order
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task


class WaitingPodKind(NamedTuple):
    """What pods of a waiting job have in common."""

    shape: Shape
    role: str
    priority: int
    priority_class: str
    preempts: bool
    preemptable: bool
    spared: bool
    labels: PodLabels | None
    """None where no sub-groups of the job are made of them."""


class JobKind(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """Equal for jobs that differ in names and ages alone."""

    spec: JobSpec
    """Without name and age."""
    priority: int
    user: str
    tasks: tuple[tuple[WaitingPodKind, int], ...]
    """Runs of equal pods and their lengths, in the order of ``WaitingJob.tasks``."""


class WaitingJob(NamedTuple):
    """A job all of whose pods wait."""

    kind: JobKind
    tasks: tuple[Task, ...]
    """Its pods by the index at the end of their names, then by age and name. In this order, pods of jobs of one kind
    correspond to each other."""

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The different shapes of its pods."""
        return tuple(dict.fromkeys([kind.shape for kind, _ in self.kind.tasks]))


def waiting_job(job: Job) -> WaitingJob | None:
    """What a job has in common with others, worked out once if it is frozen; None for a job without a kind.

    That is a job of which some pod does not wait, or is special: it has a gate, a nominated node, or a claim. A job
    without pods has a kind only as long as it waits to be admitted.
    """
    if not job.frozen:
        return _waiting_job(job)
    if job.waiting_job is False:
        job.waiting_job = _waiting_job(job)
    return job.waiting_job


def tasks_of(job: Job) -> tuple[Task, ...]:
    """The tasks of a job that has a kind, in the order of ``WaitingJob.tasks``."""
    found = job.waiting_job or waiting_job(job)
    assert found, "it has a kind"
    return found.tasks


def _waiting_job(job: Job) -> WaitingJob | None:
    count = len(job.pending)
    if count != len(job.tasks) or (not count and job.spec.phase not in (Phase.PENDING, "")):
        return None
    if job.nominated or job.gated or job.awaiting or job.reserving or job.unplaceable or job.claiming:
        return None
    tasks = tuple(in_order(job.pending.values()))
    spec, by_labels = job.spec, bool(job.spec.sub_groups)
    runs: list[tuple[WaitingPodKind, int]] = []
    for task in tasks:
        kind = _pod_kind(task, by_labels)
        if runs and runs[-1][0] == kind:
            runs[-1] = kind, runs[-1][1] + 1
        else:
            runs.append((kind, 1))
    plain = msgspec.structs.replace(
        spec, name="", uid="", created=0.0, conditions=(), written_phase="", written_for="", gang="", made_for=""
    )
    return WaitingJob(JobKind(plain, job.priority, job.user, tuple(runs)), tasks)


def _pod_kind(task: Task, by_labels: bool) -> WaitingPodKind:
    return WaitingPodKind(
        task.shape,
        task.role,
        task.priority,
        task.priority_class,
        task.preempts,
        task.preemptable,
        task.spared,
        task.labels if by_labels else None,
    )

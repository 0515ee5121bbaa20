"""The kinds of waiting jobs: jobs of a kind differ in names and ages alone, and all of their pods wait for nodes."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.task import Task, in_order


class WaitingPodKind(msgspec.Struct, frozen=True, gc=False):
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


class WaitingJob(msgspec.Struct, frozen=True, gc=False):
    """A job all of whose pods wait."""

    kind: JobKind
    tasks: tuple[Task, ...]
    """Its pods by the index at the end of their names, then by age and name. In this order, pods of jobs of one kind
    correspond to each other."""

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The different shapes of its pods."""
        return tuple(dict.fromkeys([kind.shape for kind, _ in self.kind.tasks]))


def waiting_job(spec: JobSpec, priority: int, user: str, pods: Iterable[Task]) -> WaitingJob:
    """What a job has in common with others, from what it states and its pods."""
    tasks = tuple(in_order(pods))
    by_labels = bool(spec.sub_groups)
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
    return WaitingJob(JobKind(plain, priority, user, tuple(runs)), tasks)


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

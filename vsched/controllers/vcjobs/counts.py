"""How many pods of a vcjob are in which phase (reference 7.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from vsched.controllers.vcjobs.spec import Dependency, TaskSpec, VcJob
from vsched.controllers.vcjobs.view import PodState

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
"""Phases of pods; any other counts as unknown."""
ENDED = frozenset({SUCCEEDED, FAILED})
"""The phases of pods that a kill leaves alone, so that their logs can be read."""


class Counts(NamedTuple):
    """Pods by phase; those that are being deleted are terminating, whatever their phase."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    tasks: Mapping[str, Mapping[str, int]] = {}
    """By task and phase, without those that are terminating."""

    @property
    def alive(self) -> bool:
        """Whether any pod still holds resources, or is about to."""
        return self.terminating + self.pending + self.running > 0

    def of(self, task: str, phase: str) -> int:
        return self.tasks.get(task, {}).get(phase, 0)


def count(pods: Iterable[PodState], leaving: Container[str] = ()) -> Counts:
    """The counts of these pods; ``leaving`` are the names of pods that are about to be deleted."""
    tasks: dict[str, Counter[str]] = {}
    terminating = 0
    for pod in pods:
        if pod.deleting or pod.name in leaving:
            terminating += 1
        else:
            tasks.setdefault(pod.task, Counter())[pod.phase] += 1
    total = sum(tasks.values(), Counter[str]())
    return Counts(
        pending=total.pop(PENDING, 0),
        running=total.pop(RUNNING, 0),
        succeeded=total.pop(SUCCEEDED, 0),
        failed=total.pop(FAILED, 0),
        terminating=terminating,
        unknown=total.total(),
        tasks=tasks,
    )


def startable(job: VcJob, pods: Iterable[PodState]) -> list[TaskSpec]:
    """The tasks whose pods can be made: those that depend on no other, and those whose dependencies are up.

    A task is up once its ``minAvailable`` pods have succeeded, or run with all containers ready.
    """
    if all(task.dependency is None for task in job.tasks):
        return list(job.tasks)
    good = Counter(pod.task for pod in pods if _is_good(pod) and pod.version >= job.status.version)
    up = {task.name for task in job.tasks if good[task.name] >= task.min_available}
    return [task for task in job.tasks if _follows(task.dependency, up)]


def _is_good(pod: PodState) -> bool:
    return not pod.deleting and (pod.phase == SUCCEEDED or (pod.phase == RUNNING and pod.ready))


def _follows(dependency: Dependency | None, up: Container[str]) -> bool:
    if dependency is None:
        return True
    reached = (name in up for name in dependency.tasks)
    return all(reached) if dependency.every else any(reached)

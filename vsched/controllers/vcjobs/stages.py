"""``dependsOn``: which tasks of a vcjob can start, which never will, and the gang of those that can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

from msgspec.structs import replace

from vsched.controllers.vcjobs.counts import FAILED, RUNNING, SUCCEEDED, PodsByPhase
from vsched.controllers.vcjobs.spec import Dependency, TaskSpec, VcJob
from vsched.controllers.vcjobs.view import VcjobPod, VcjobView


def startable(job: VcJob, pods: Iterable[VcjobPod]) -> tuple[TaskSpec, ...]:
    """The tasks whose pods can be made: those that depend on none, those whose dependencies are up, and those begun.

    A task is up once its ``minAvailable`` pods have succeeded, or run with all containers ready. One that has begun
    gets lost pods again, though what it depends on is no longer up: dependencies are about the start.
    """
    if not has_stages(job):
        return job.tasks
    current = [pod for pod in pods if (pod.ended or not pod.deleting) and pod.version >= job.status.version]
    good = Counter(pod.task for pod in current if _is_good(pod))
    up = {task.name for task in job.tasks if good[task.name] >= task.min_available}
    begun = {pod.task for pod in current}
    return tuple(
        task for task in job.tasks if task.dependency is None or task.name in begun or _holds(task.dependency, up)
    )


def has_stages(job: VcJob) -> bool:
    """Whether some tasks wait for others."""
    return any(task.dependency is not None for task in job.tasks)


def gang_of(view: VcjobView) -> VcJob:
    """The job as its PodGroup sees it: without tasks that still wait for others, and without pods that have succeeded
    and are gone.

    There are no pods of these. A gang that counted them would never be whole: the tasks that others wait for would not
    start, and a pod that is evicted would not start again.
    """
    job, pods = view.job, view.pods.values()
    gone = Counter(pod.task for pod in pods if pod.gone and pod.phase == SUCCEEDED)
    if not gone and not has_stages(job):
        return job
    begun = {task.name for task in startable(job, pods)} | {pod.task for pod in pods}
    tasks = [task for task in job.tasks if task.name in begun]
    minimum = min(job.min_available, sum(task.min_available for task in tasks))
    left = tuple(_without(task, gone[task.name]) for task in tasks)
    return replace(job, tasks=left, min_available=max(0, minimum - gone.total()))


def _without(task: TaskSpec, pods: int) -> TaskSpec:
    return replace(task, replicas=task.replicas - pods, min_available=max(0, task.min_available - pods))


def never_started(job: VcJob, counts: PodsByPhase) -> list[str]:
    """The tasks that wait for others which can no longer be up: all of their pods have ended, too few of them well."""
    dead: set[str] = {task.name for task in job.tasks if _has_failed(task, counts)}
    waiting = [task for task in job.tasks if task.dependency is not None and task.name not in counts.tasks]
    found: list[str] = []
    while True:
        more = [task.name for task in waiting if task.name not in dead and not _can_hold(task.dependency, dead)]
        if not more:
            return found
        found += more
        dead.update(more)


def _is_good(pod: VcjobPod) -> bool:
    return pod.phase == SUCCEEDED or (pod.phase == RUNNING and pod.ready)


def _has_failed(task: TaskSpec, counts: PodsByPhase) -> bool:
    succeeded = counts.of(task.name, SUCCEEDED)
    return succeeded + counts.of(task.name, FAILED) >= task.replicas and succeeded < task.min_available


def _holds(dependency: Dependency, up: Container[str]) -> bool:
    reached = (name in up for name in dependency.tasks)
    return all(reached) if dependency.every else any(reached)


def _can_hold(dependency: Dependency | None, dead: Container[str]) -> bool:
    if dependency is None:
        return True
    left = (name not in dead for name in dependency.tasks)
    return all(left) if dependency.every else any(left)

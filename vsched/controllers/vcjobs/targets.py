"""Which pods the status of a vcjob explains away: those that a kill or a restart in part has outdated.

A kill raises the version of the job, which its pods carry as an annotation. A restart in part keeps the version. The
message of the status names what it restarts (``task NAME``, ``pod NAME``, ``partition TASK/NUMBER``), and the old pods
are those whose annotation says a lower retry count. So every process finds the same pods again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vsched.controllers.vcjobs.spec import JobAction, JobStatus, VcJob
from vsched.controllers.vcjobs.states import PARTIAL
from vsched.controllers.vcjobs.view import ActionRequest, VcjobPod

_TASK, _POD, _PARTITION = "task", "pod", "partition"
_KINDS = {JobAction.RESTART_TASK: _TASK, JobAction.RESTART_POD: _POD, JobAction.RESTART_PARTITION: _PARTITION}
_END = ": "


class RestartTarget(NamedTuple):
    """What a restart in part restarts."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def target_of(request: ActionRequest) -> RestartTarget | None:
    """What the request restarts in part; None where it names nothing."""
    kind = _KINDS[request.action]
    name = {
        _TASK: request.task,
        _POD: request.pod,
        _PARTITION: f"{request.task}/{request.partition}" if request.partition else "",
    }[kind]
    return RestartTarget(kind, name) if name else None


def targets_with(pod: VcjobPod) -> tuple[RestartTarget, ...]:
    """The targets that would restart this pod."""
    return (
        RestartTarget(_TASK, pod.task),
        RestartTarget(_POD, pod.name),
        RestartTarget(_PARTITION, f"{pod.task}/{pod.partition}"),
    )


def message_of(targets: Iterable[RestartTarget], why: str) -> str:
    """The message of the status: ``targets_of`` reads it."""
    return f"{', '.join(str(target) for target in targets)}{_END}{why}"


def targets_of(status: JobStatus) -> tuple[RestartTarget, ...]:
    """What the last restart of the job restarts; nothing where it was a restart of the whole job."""
    if status.reason not in PARTIAL:
        return ()
    named, _, _ = status.message.partition(_END)
    words = [part.split(" ") for part in named.split(", ")]
    return tuple(RestartTarget(word[0], word[1]) for word in words if len(word) == 2 and word[0] in _KINDS.values())


class Outdated(NamedTuple):
    """The pods of a vcjob that are to go, by what its spec and its status say."""

    version: int
    retries: int
    tasks: frozenset[str]
    pods: frozenset[str]
    partitions: frozenset[str]
    replicas: dict[str, int]

    def killed(self, pod: VcjobPod) -> bool:
        """Whether a kill or a restart has outdated the pod."""
        if pod.version < self.version:
            return True
        if pod.retries >= self.retries:
            return False
        return pod.task in self.tasks or pod.name in self.pods or f"{pod.task}/{pod.partition}" in self.partitions

    def surplus(self, pod: VcjobPod) -> bool:
        """Whether the spec no longer wants the pod."""
        return pod.index >= self.replicas.get(pod.task, 0)


def outdated(job: VcJob, status: JobStatus) -> Outdated:
    """Which pods are to go under this status."""
    targets = targets_of(status)

    def named(kind: str) -> frozenset[str]:
        return frozenset(target.name for target in targets if target.kind == kind)

    replicas = {task.name: task.replicas for task in job.tasks}
    return Outdated(status.version, status.retries, named(_TASK), named(_POD), named(_PARTITION), replicas)

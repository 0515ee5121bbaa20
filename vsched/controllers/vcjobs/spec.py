"""A vcjob with every default filled in: what the decisions about it go by."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import msgspec


class JobEvent(StrEnum):
    """What can happen to a job, a task or a pod."""

    ANY = "*"
    POD_PENDING = "PodPending"
    POD_RUNNING = "PodRunning"
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    UNKNOWN = "Unknown"
    TASK_COMPLETED = "TaskCompleted"
    TASK_FAILED = "TaskFailed"
    OUT_OF_SYNC = "OutOfSync"
    COMMAND_ISSUED = "CommandIssued"
    JOB_UPDATED = "JobUpdated"


class JobAction(StrEnum):
    """What is done about an event, or because a Command asks for it."""

    ABORT_JOB = "AbortJob"
    RESTART_JOB = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE_JOB = "TerminateJob"
    COMPLETE_JOB = "CompleteJob"
    RESUME_JOB = "ResumeJob"
    SYNC_JOB = "SyncJob"
    ENQUEUE_JOB = "EnqueueJob"


class JobPhase(StrEnum):
    """The phase of a vcjob; ``NEW`` until the controller has seen it."""

    NEW = ""
    PENDING = "Pending"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


class VcjobPolicy(msgspec.Struct, frozen=True):
    """An action for events, or for an exit code."""

    action: JobAction
    events: frozenset[JobEvent] = frozenset()
    exit_code: int | None = None
    timeout_seconds: float = 0.0
    """How long the event has to last before the action is taken."""


class VcjobTopology(msgspec.Struct, frozen=True):
    """``networkTopology``."""

    mode: str = "hard"
    highest_tier: int | None = None
    highest_tier_name: str = ""


class Dependency(msgspec.Struct, frozen=True):
    """``dependsOn``: the tasks that have to be up before the pods of a task are made."""

    tasks: tuple[str, ...]
    every: bool = True
    """Whether all of them have to be; else any one."""


class Partitions(msgspec.Struct, frozen=True):
    """``partitionPolicy``."""

    total: int
    size: int
    minimum: int = 0
    topology: VcjobTopology | None = None


class TaskSpec(msgspec.Struct, frozen=True):
    """A task of a vcjob."""

    name: str
    replicas: int
    min_available: int
    template: dict[str, Any]
    """The pod template as JSON data: ``metadata`` and ``spec``. Never changed in place."""
    policies: tuple[VcjobPolicy, ...] = ()
    topology_policy: str = ""
    max_retry: int = 3
    dependency: Dependency | None = None
    partitions: Partitions | None = None


class VcjobVolume(msgspec.Struct, frozen=True):
    """A volume that all pods of a vcjob mount."""

    mount_path: str
    claim_name: str = ""
    claim: dict[str, Any] | None = None
    """The spec of a claim that is to be made; None where the claim is there."""


class JobStatus(msgspec.Struct, frozen=True):
    """What the status of a vcjob says that decisions need."""

    phase: JobPhase = JobPhase.NEW
    reason: str = ""
    message: str = ""
    since: float = 0.0
    """When the phase began, in seconds since the epoch."""
    version: int = 0
    retries: int = 0
    controlled: tuple[tuple[str, str], ...] = ()
    """``controlledResources``: what plugins and volumes have made, sorted."""
    body: dict[str, Any] = {}
    """The whole status as JSON data, without what is zero or empty; never changed in place."""


class Default(NamedTuple):
    """A field that an object leaves out, and its value."""

    path: tuple[str | int, ...]
    value: Any

    def as_operation(self) -> dict[str, Any]:
        """An operation of a JSON patch (RFC 6902) that adds it."""
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in self.path)
        return {"op": "add", "path": "".join(f"/{part}" for part in parts), "value": self.value}


class VcJob(msgspec.Struct, frozen=True):
    """A vcjob."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: float
    tasks: tuple[TaskSpec, ...]
    min_available: int
    queue: str = "default"
    scheduler_name: str = ""
    max_retry: int = 3
    min_success: int | None = None
    ttl_seconds: int | None = None
    priority_class: str = ""
    volumes: tuple[VcjobVolume, ...] = ()
    plugins: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names and arguments, sorted by name."""
    policies: tuple[VcjobPolicy, ...] = ()
    topology: VcjobTopology | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deleting: bool = False
    generation: int = 0
    refusals: tuple[str, ...] = ()
    """Why the job cannot be run as it is written, one line each; nothing is made of such a job."""
    defaults: tuple[Default, ...] = ()
    """What a new job leaves out and is yet to be written into it."""
    status: JobStatus = JobStatus()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def podgroup(self) -> str:
        """The name of its PodGroup."""
        return f"{self.name}-{self.uid}"

    @property
    def replicas(self) -> int:
        """The pods of all tasks."""
        return sum(task.replicas for task in self.tasks)

"""The fields that vsched reads of Volcano's Job (``batch.volcano.sh/v1alpha1``, vcjob for short)."""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.api.base import NO_BYTES, ApiObject, Raw, Timestamp, Wire


class LifecyclePolicy(Wire):
    """What is to be done when something happens."""

    action: str = ""
    event: str = ""
    events: list[str] | None = None
    exit_code: int | None = None
    timeout: str | None = None


class DependsOn(Wire):
    """The tasks that have to come first."""

    name: list[str] | None = None
    iteration: str = ""


class JobTopology(Wire):
    """How near to each other pods have to be."""

    mode: str | None = None
    highest_tier_allowed: int | None = None
    highest_tier_name: str | None = None


class PartitionPolicy(Wire):
    """The parts into which the pods of a task are split."""

    total_partitions: int = 0
    partition_size: int = 0
    min_partitions: int = 0
    network_topology: JobTopology | None = None


class VolcanoTask(Wire):
    """A task: pods that are made from one template."""

    name: str = ""
    replicas: int = 0
    min_available: int | None = None
    template: Raw = NO_BYTES
    policies: list[LifecyclePolicy] | None = None
    topology_policy: str = ""
    max_retry: int | None = None
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None


class JobVolume(Wire):
    """A claim that all pods of a job mount."""

    mount_path: str = ""
    volume_claim_name: str = ""
    volume_claim: Raw = NO_BYTES


class VolcanoJobSpec(Wire):
    """The spec of a vcjob, as it is written."""

    scheduler_name: str = ""
    min_available: int | None = None
    queue: str = ""
    max_retry: int | None = None
    min_success: int | None = None
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    running_estimate: str | None = None
    volumes: list[JobVolume] | None = None
    plugins: dict[str, list[str] | None] | None = None
    policies: list[LifecyclePolicy] | None = None
    network_topology: JobTopology | None = None
    tasks: list[VolcanoTask] | None = None


class JobState(Wire):
    """The phase of a vcjob."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None


class VolcanoJobStatus(Wire):
    """The status of a vcjob."""

    state: JobState = msgspec.field(default_factory=JobState)
    min_available: int = 0
    task_status_count: dict[str, Any] | None = None
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    version: int = 0
    retry_count: int = 0
    running_duration: str | None = None
    controlled_resources: dict[str, str] | None = None
    conditions: list[dict[str, Any]] | None = None


class VolcanoJob(ApiObject):
    """batch.volcano.sh/v1alpha1 Job."""

    spec: VolcanoJobSpec = msgspec.field(default_factory=VolcanoJobSpec)
    status: VolcanoJobStatus = msgspec.field(default_factory=VolcanoJobStatus)

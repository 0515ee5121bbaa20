"""The fields that vsched reads of pods.

Affinity, resources, tolerations and the like stay raw: ``ingest.shape`` decodes them once for each distinct content.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.api.base import NO_BYTES, ApiObject, ObjectCondition, Raw, Timestamp, Wire


class Container(Wire):
    """A container of a pod, init container or not."""

    name: str = ""
    image: str | None = None
    resources: Raw = NO_BYTES
    ports: Raw = NO_BYTES
    restart_policy: str | None = None


class PodSpec(Wire):
    """The spec of a pod."""

    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    host_network: bool | None = None
    restart_policy: str | None = None
    active_deadline_seconds: int | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    scheduling_gates: list[dict[str, Any]] | None = None
    node_selector: Raw = NO_BYTES
    affinity: Raw = NO_BYTES
    tolerations: Raw = NO_BYTES
    topology_spread_constraints: Raw = NO_BYTES
    overhead: Raw = NO_BYTES
    resources: Raw = NO_BYTES
    volumes: Raw = NO_BYTES
    resource_claims: Raw = NO_BYTES
    scheduling_group: Raw = NO_BYTES
    eviction_responders: list[Raw] | None = None
    workload_ref: Raw = NO_BYTES


class ContainerStatus(Wire):
    """The status of a container; its allocated resources differ from the spec during an in-place resize."""

    name: str = ""
    state: Raw = NO_BYTES
    restart_count: int | None = None
    allocated_resources: Raw = NO_BYTES
    resources: Raw = NO_BYTES


class Terminated(Wire):
    """How a container ended."""

    exit_code: int | None = None
    finished_at: Timestamp | None = None


class ContainerState(Wire):
    """The part of a container's state that says when and how it ended."""

    terminated: Terminated | None = None


class PodStatus(Wire):
    """The status of a pod."""

    phase: str | None = None
    start_time: Timestamp | None = None
    nominated_node_name: str | None = None
    conditions: list[ObjectCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    resource_claim_statuses: Raw = NO_BYTES
    extended_resource_claim_status: Raw = NO_BYTES
    init_container_statuses: list[ContainerStatus] | None = None
    pod_ip: str | None = msgspec.field(default=None, name="podIP")


class Pod(ApiObject):
    """v1 Pod."""

    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)

"""The fields that vsched reads of Kubernetes' own PodGroups (``scheduling.k8s.io``), of all versions that have them."""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.api.base import NO_BYTES, ApiObject, ObjectCondition, Raw, Wire
from vsched.api.devices import PodClaimFields, PodClaimStatus


class GangFields(Wire):
    """The gang of a group: ``minCount`` pods, or ``minGroupCount`` groups of a CompositePodGroup."""

    min_count: int | None = None
    min_group_count: int | None = None


class GroupPolicy(Wire):
    """How the pods of a group are scheduled: exactly one of the two."""

    basic: dict[str, Any] | None = None
    gang: GangFields | None = None


class TopologyKey(Wire):
    """A node label that all pods of a group have to agree in."""

    key: str = ""


class GroupConstraints(Wire):
    """Constraints for a group as a whole."""

    topology: list[TopologyKey] | None = None


class WorkloadFields(Wire):
    """The Workload that a group was made for."""

    workload_name: str = ""


class TemplateFields(Wire):
    """The same in v1alpha2."""

    workload: WorkloadFields | None = None


class NativeSpec(Wire):
    """The spec of a PodGroup or a CompositePodGroup."""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadFields | None = None
    pod_group_template_ref: TemplateFields | None = None
    scheduling_policy: GroupPolicy | None = None
    scheduling_constraints: GroupConstraints | None = None
    resource_claims: list[PodClaimFields] | None = None
    disruption_mode: Raw = NO_BYTES
    """Text in v1alpha2, an object with one field later."""
    priority_class_name: str | None = None
    priority: int | None = None
    preemption_policy: str | None = None


class NativeStatus(Wire):
    """The status of a PodGroup or a CompositePodGroup."""

    conditions: list[ObjectCondition] | None = None
    resource_claim_statuses: list[PodClaimStatus] | None = None


class NativePodGroup(ApiObject):
    """scheduling.k8s.io PodGroup."""

    spec: NativeSpec = msgspec.field(default_factory=NativeSpec)
    status: NativeStatus = msgspec.field(default_factory=NativeStatus)
    api_version: str = ""
    """Objects in lists do not say it: whoever lists them sets it."""


class CompositePodGroup(ApiObject):
    """scheduling.k8s.io CompositePodGroup."""

    spec: NativeSpec = msgspec.field(default_factory=NativeSpec)
    status: NativeStatus = msgspec.field(default_factory=NativeStatus)
    api_version: str = ""


class SchedulingWorkload(ApiObject):
    """scheduling.k8s.io Workload: only the queue that its metadata names is read."""


class SchedulingGroup(Wire):
    """What a pod says of its group (``spec.schedulingGroup``)."""

    pod_group_name: str | None = None


def workload_of(spec: NativeSpec) -> str:
    """The name of the Workload that a group belongs to, empty where it names none."""
    if spec.workload_ref is not None:
        return spec.workload_ref.workload_name
    template = spec.pod_group_template_ref
    return "" if template is None or template.workload is None else template.workload.workload_name

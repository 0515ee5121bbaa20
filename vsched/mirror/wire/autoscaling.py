"""The fields that vsched reads of the kinds of node autoscalers."""

from __future__ import annotations

import msgspec

from vsched.mirror.wire.base import ApiObject, ObjectCondition, Wire


class PodTemplateRef(Wire):
    """Which PodTemplate."""

    name: str = ""


class PodSet(Wire):
    """Pods of one template."""

    pod_template_ref: PodTemplateRef = msgspec.field(default_factory=PodTemplateRef)
    count: int = 0


class ProvisioningRequestSpec(Wire):
    """The spec of a ProvisioningRequest."""

    pod_sets: list[PodSet] | None = None
    provisioning_class_name: str = ""


class ProvisioningRequestStatus(Wire):
    """The status of a ProvisioningRequest."""

    conditions: list[ObjectCondition] | None = None


class ProvisioningRequest(ApiObject):
    """autoscaling.x-k8s.io/v1 ProvisioningRequest."""

    spec: ProvisioningRequestSpec = msgspec.field(default_factory=ProvisioningRequestSpec)
    status: ProvisioningRequestStatus = msgspec.field(default_factory=ProvisioningRequestStatus)

"""The fields that vsched reads of the kinds of node autoscalers."""

from __future__ import annotations

import msgspec

from vsched.api.base import ApiObject, ObjectCondition, Wire
from vsched.api.objects import TaintFields


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


class ScalableRef(Wire):
    """A workload whose pods a CapacityBuffer keeps room for."""

    kind: str = ""
    name: str = ""


class CapacityBufferSpec(Wire):
    """The spec of a CapacityBuffer."""

    provisioning_strategy: str = ""
    pod_template_ref: PodTemplateRef | None = None
    scalable_ref: ScalableRef | None = None
    replicas: int | None = None


class CapacityBufferStatus(Wire):
    """The status of a CapacityBuffer."""

    conditions: list[ObjectCondition] | None = None
    replicas: int | None = None


class CapacityBuffer(ApiObject):
    """autoscaling.x-k8s.io/v1beta1 CapacityBuffer."""

    spec: CapacityBufferSpec = msgspec.field(default_factory=CapacityBufferSpec)
    status: CapacityBufferStatus = msgspec.field(default_factory=CapacityBufferStatus)


class NodeRequirement(Wire):
    """A requirement of the labels of a NodePool's nodes."""

    key: str
    operator: str
    values: list[str] | None = None


class NodeTemplateSpec(Wire):
    """What the nodes of a NodePool have to be."""

    requirements: list[NodeRequirement] | None = None
    taints: list[TaintFields] | None = None


class NodeTemplateMetadata(Wire):
    """The metadata of the nodes of a NodePool."""

    labels: dict[str, str] | None = None


class NodeTemplate(Wire):
    """What the nodes of a NodePool are made from."""

    metadata: NodeTemplateMetadata | None = None
    spec: NodeTemplateSpec | None = None


class NodePoolSpec(Wire):
    """The spec of a NodePool."""

    template: NodeTemplate
    limits: dict[str, str | int | float] | None = None


class NodePool(ApiObject):
    """karpenter.sh/v1 NodePool."""

    spec: NodePoolSpec

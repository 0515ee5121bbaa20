"""The fields that vsched reads of all kinds but pods and those of arbitration."""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.api.affinity import LabelSelector
from vsched.api.base import NO_BYTES, ApiObject, ObjectCondition, Raw, ResourceList, Wire


class TaintFields(Wire):
    """A taint of a node."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(Wire):
    """The spec of a node."""

    unschedulable: bool | None = None
    taints: list[TaintFields] | None = None


class ContainerImage(Wire):
    """An image that a node has."""

    names: list[str] | None = None
    size_bytes: int | None = None


class NodeStatus(Wire):
    """The status of a node."""

    allocatable: ResourceList | None = None
    capacity: ResourceList | None = None
    images: list[ContainerImage] | None = None


class Node(ApiObject):
    """v1 Node."""

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class NetworkTopologySpec(Wire):
    """The network topology that a gang requires or prefers."""

    mode: str | None = None
    highest_tier_allowed: int | None = None
    highest_tier_name: str | None = None


class SubGroupFields(Wire):
    """How pods of a gang form sub-groups: one entry of ``subGroupPolicy``."""

    name: str | None = None
    network_topology: NetworkTopologySpec | None = None
    sub_group_size: int | None = None
    min_sub_groups: int | None = None
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None


class PodGroupSpec(Wire):
    """The spec of a PodGroup."""

    min_member: int | None = None
    min_task_member: dict[str, int] | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    min_resources: ResourceList | None = None
    network_topology: NetworkTopologySpec | None = None
    sub_group_policy: list[SubGroupFields] | None = None


class PodGroupStatus(Wire):
    """The status of a PodGroup."""

    phase: str | None = None
    conditions: list[ObjectCondition] | None = None
    running: int | None = None
    succeeded: int | None = None
    failed: int | None = None


class PodGroup(ApiObject):
    """scheduling.volcano.sh/v1beta1 PodGroup."""

    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)


class Guarantee(Wire):
    """The guaranteed amounts of a queue."""

    resource: ResourceList | None = None


class NodeGroupTerms(Wire):
    """Names of node groups that a queue requires or prefers (to use, or not to use)."""

    required: list[str] | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[str] | None = msgspec.field(default=None, name="preferredDuringSchedulingIgnoredDuringExecution")


class QueueAffinity(Wire):
    """The affinity of a queue to node groups."""

    node_group_affinity: NodeGroupTerms | None = None
    node_group_anti_affinity: NodeGroupTerms | None = None


class QueueSpec(Wire):
    """The spec of a queue."""

    weight: int | None = None
    capability: ResourceList | None = None
    deserved: ResourceList | None = None
    guarantee: Guarantee | None = None
    reclaimable: bool | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    parent: str | None = None
    affinity: QueueAffinity | None = None
    dequeue_strategy: str | None = None
    extend_clusters: list[Any] | None = None
    type: str = ""


class QueueStatus(Wire):
    """The status of a queue."""

    state: str | None = None


class Queue(ApiObject):
    """scheduling.volcano.sh/v1beta1 Queue."""

    spec: QueueSpec = msgspec.field(default_factory=QueueSpec)
    status: QueueStatus = msgspec.field(default_factory=QueueStatus)


class Target(Wire):
    """The object that a command is about."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Command(ApiObject):
    """bus.volcano.sh/v1alpha1 Command."""

    action: str | None = None
    target: Target | None = None


class PriorityClass(ApiObject):
    """scheduling.k8s.io/v1 PriorityClass."""

    value: int = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


class NamespaceStatus(Wire):
    """The status of a namespace."""

    phase: str | None = None


class Namespace(ApiObject):
    """v1 Namespace."""

    status: NamespaceStatus = msgspec.field(default_factory=NamespaceStatus)


class QuotaSpec(Wire):
    """The spec of a quota: limits, and the pods they apply to."""

    hard: ResourceList | None = None
    scopes: list[str] | None = None
    scope_selector: dict[str, Any] | None = None


class QuotaStatus(Wire):
    """The status of a quota: limits in force, and usage."""

    hard: ResourceList | None = None
    used: ResourceList | None = None


class ResourceQuota(ApiObject):
    """v1 ResourceQuota."""

    spec: QuotaSpec = msgspec.field(default_factory=QuotaSpec)
    status: QuotaStatus = msgspec.field(default_factory=QuotaStatus)


class BudgetSpec(Wire):
    """The spec of a disruption budget."""

    selector: Raw = NO_BYTES
    unhealthy_pod_eviction_policy: str | None = None


class BudgetStatus(Wire):
    """The status of a disruption budget."""

    observed_generation: int | None = None
    disruptions_allowed: int | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disrupted_pods: dict[str, Any] | None = None


class PodDisruptionBudget(ApiObject):
    """policy/v1 PodDisruptionBudget."""

    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)


class SelectingSpec(Wire):
    """The selector of an object: a map of labels or a label selector, depending on its kind."""

    selector: Raw = NO_BYTES
    replicas: int | None = None
    """The wanted number of pods of a workload; Services have none."""
    pod_management_policy: Raw = NO_BYTES
    """Of StatefulSets: whether they make their pods one after another."""


class Selecting(ApiObject):
    """An object that selects pods by their labels."""

    spec: SelectingSpec = msgspec.field(default_factory=SelectingSpec)


class Service(Selecting):
    """v1 Service."""


class ReplicationController(Selecting):
    """v1 ReplicationController."""


class ReplicaSet(Selecting):
    """apps/v1 ReplicaSet."""


class StatefulSet(Selecting):
    """apps/v1 StatefulSet."""


class DaemonSet(ApiObject):
    """apps/v1 DaemonSet: only its annotations about the PodGroup of its pods are read."""


class Job(ApiObject):
    """batch/v1 Job: its annotations about the PodGroup of its pods, and its spec where they say that it is a gang."""

    spec: Raw = NO_BYTES


class WorkloadObject(ApiObject):
    """An object of a kind that only the table of workload kinds names; its paths are read from the whole object."""

    api_version: str = ""
    document: dict[str, Any] = msgspec.field(default_factory=dict, name="vsched/document")
    """All of it, as decoded from JSON."""

"""The fields vsched reads of API objects, as typed structs decoded straight from bytes; everything else is skipped.

Parts of a pod that only make sense together (affinity, resources, tolerations …) stay raw: ``ingest_shape`` decodes
them once per distinct content. Nothing here knows what a field means to a scheduler.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec

from vsched.errors import BadObject

Raw = msgspec.Raw
NO_BYTES = Raw()
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
ResourceList = dict[str, str | int | float]


class Wire(msgspec.Struct, rename="camel", gc=False):
    """Base of all structs here: camelCase on the wire."""


class OwnerReference(Wire):
    """Who owns an object."""

    uid: str = ""
    controller: bool | None = None


class Metadata(Wire):
    """The part of ``metadata`` that matters to scheduling."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class Container(Wire):
    """A container of a pod, init container or not."""

    name: str = ""
    image: str | None = None
    resources: Raw = NO_BYTES
    ports: Raw = NO_BYTES
    restart_policy: str | None = None


class PodSpec(Wire):
    """What a pod asks for."""

    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    host_network: bool | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    scheduling_gates: list[dict[str, Any]] | None = None
    node_selector: Raw = NO_BYTES
    affinity: Raw = NO_BYTES
    tolerations: Raw = NO_BYTES
    topology_spread_constraints: Raw = NO_BYTES
    overhead: Raw = NO_BYTES
    resources: Raw = NO_BYTES


class ObjectCondition(Wire):
    """A condition in the status of a pod or a PodGroup."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: Raw = NO_BYTES


class ContainerStatus(Wire):
    """What the kubelet has given a container: differs from the spec during an in-place resize."""

    name: str = ""
    allocated_resources: Raw = NO_BYTES
    resources: Raw = NO_BYTES


class PodStatus(Wire):
    """Where a pod is on its way."""

    phase: str | None = None
    start_time: Timestamp | None = None
    nominated_node_name: str | None = None
    conditions: list[ObjectCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(Wire):
    """v1 Pod."""

    metadata: Metadata
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class TaintFields(Wire):
    """A taint of a node."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(Wire):
    """What an administrator said about a node."""

    unschedulable: bool | None = None
    taints: list[TaintFields] | None = None


class ContainerImage(Wire):
    """An image that a node has."""

    names: list[str] | None = None
    size_bytes: int | None = None


class NodeStatus(Wire):
    """What a node has to give."""

    allocatable: ResourceList | None = None
    images: list[ContainerImage] | None = None


class Node(Wire):
    """v1 Node."""

    metadata: Metadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class PodGroupSpec(Wire):
    """What a gang needs."""

    min_member: int | None = None
    min_task_member: dict[str, int] | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    min_resources: ResourceList | None = None


class PodGroupStatus(Wire):
    """How far a gang has come."""

    phase: str | None = None
    conditions: list[ObjectCondition] | None = None
    running: int | None = None
    succeeded: int | None = None
    failed: int | None = None


class PodGroup(Wire):
    """scheduling.volcano.sh/v1beta1 PodGroup."""

    metadata: Metadata
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)


class Guarantee(Wire):
    """What a queue is never refused."""

    resource: ResourceList | None = None


class NodeGroupTerms(Wire):
    """Groups of nodes by name, that must or had better be (or not be) a queue's."""

    required: list[str] | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[str] | None = msgspec.field(default=None, name="preferredDuringSchedulingIgnoredDuringExecution")


class QueueAffinity(Wire):
    """Where a queue's pods belong."""

    node_group_affinity: NodeGroupTerms | None = None
    node_group_anti_affinity: NodeGroupTerms | None = None


class QueueSpec(Wire):
    """A queue's claims."""

    weight: int | None = None
    capability: ResourceList | None = None
    deserved: ResourceList | None = None
    guarantee: Guarantee | None = None
    reclaimable: bool | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    parent: str | None = None
    affinity: QueueAffinity | None = None


class QueueStatus(Wire):
    """Whether a queue takes work."""

    state: str | None = None


class Queue(Wire):
    """scheduling.volcano.sh/v1beta1 Queue."""

    metadata: Metadata
    spec: QueueSpec = msgspec.field(default_factory=QueueSpec)
    status: QueueStatus = msgspec.field(default_factory=QueueStatus)


class Target(Wire):
    """Which object a command is about."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Command(Wire):
    """bus.volcano.sh/v1alpha1 Command."""

    metadata: Metadata
    action: str | None = None
    target: Target | None = None


class PriorityClass(Wire):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: Metadata
    value: int = 0
    global_default: bool | None = None


class Namespace(Wire):
    """v1 Namespace."""

    metadata: Metadata


class QuotaSpec(Wire):
    """Hard limits, and which pods they are for."""

    hard: ResourceList | None = None
    scopes: list[str] | None = None
    scope_selector: dict[str, Any] | None = None


class QuotaStatus(Wire):
    """The limits in force, and what counts against them already."""

    hard: ResourceList | None = None
    used: ResourceList | None = None


class ResourceQuota(Wire):
    """v1 ResourceQuota."""

    metadata: Metadata
    spec: QuotaSpec = msgspec.field(default_factory=QuotaSpec)
    status: QuotaStatus = msgspec.field(default_factory=QuotaStatus)


class BudgetSpec(Wire):
    """Which pods a budget is about."""

    selector: Raw = NO_BYTES


class BudgetStatus(Wire):
    """How many evictions a budget allows, and which were granted and are on their way."""

    disruptions_allowed: int | None = None
    disrupted_pods: dict[str, Any] | None = None


class PodDisruptionBudget(Wire):
    """policy/v1 PodDisruptionBudget."""

    metadata: Metadata
    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)


class SelectingSpec(Wire):
    """Which pods an object means: a map of labels or a label selector, as its kind has it."""

    selector: Raw = NO_BYTES


class Selecting(Wire):
    """What selects pods by their labels."""

    metadata: Metadata
    spec: SelectingSpec = msgspec.field(default_factory=SelectingSpec)


class Service(Selecting):
    """v1 Service."""


class ReplicationController(Selecting):
    """v1 ReplicationController."""


class ReplicaSet(Selecting):
    """apps/v1 ReplicaSet."""


class StatefulSet(Selecting):
    """apps/v1 StatefulSet."""


class Malformed(Wire):
    """An object that could not be decoded: who it is, and one line that says what is wrong with it."""

    kind: str
    metadata: Metadata
    message: str


Object = (
    Pod
    | Node
    | PodGroup
    | Queue
    | PriorityClass
    | Namespace
    | ResourceQuota
    | PodDisruptionBudget
    | Selecting
    | Command
    | Malformed
)

KINDS: dict[str, type[Wire]] = {
    kind.__name__: kind
    for kind in (
        Pod,
        Node,
        PodGroup,
        Queue,
        PriorityClass,
        Namespace,
        ResourceQuota,
        PodDisruptionBudget,
        Service,
        ReplicationController,
        ReplicaSet,
        StatefulSet,
    )
}
"""Every kind the mirror keeps, by its name on the wire."""

GROUPS = {
    "PodGroup": "scheduling.volcano.sh",
    "Queue": "scheduling.volcano.sh",
    "PriorityClass": "scheduling.k8s.io",
    "PodDisruptionBudget": "policy",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
}
"""The API group of each kind that is not in the core group; others use the same names for other things."""

NAMESPACED = frozenset(
    {
        "Pod",
        "PodGroup",
        "ResourceQuota",
        "PodDisruptionBudget",
        "Service",
        "ReplicationController",
        "ReplicaSet",
        "StatefulSet",
    }
)
"""The kinds of ``KINDS`` that live in a namespace."""

HEEDED: dict[str, type[Wire]] = {"Command": Command}
"""Kinds that are acted upon and not mirrored, by name on the wire."""

_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in (KINDS | HEEDED).items()
}


class _Identity(Wire):
    """Just enough of any object to say which one it is."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Identified(Wire):
    metadata: _Identity = msgspec.field(default_factory=_Identity)


def decode(kind: str, data: bytes | msgspec.Raw) -> Object:
    """An object of ``kind`` (one of the two tables) from JSON; raises BadObject naming the object and the field."""
    try:
        return _DECODERS[kind].decode(data)  # type: ignore[no-any-return]  # the table maps a kind to its struct
    except msgspec.DecodeError as error:
        raise BadObject(f"{named(kind, _identity(data))}: {located(error)}") from None


def read(kind: str, data: bytes | msgspec.Raw) -> Object:
    """As ``decode``, but what cannot be used comes back as ``Malformed``, so that a stream goes on."""
    try:
        return decode(kind, data)
    except BadObject as error:
        return Malformed(kind, _identity(data), str(error))


def named(kind: str, metadata: Metadata) -> str:
    """``Kind namespace/name``, as every message begins."""
    name = metadata.name or "(no name)"
    return f"{kind} {metadata.namespace}/{name}" if metadata.namespace else f"{kind} {name}"


def located(error: msgspec.DecodeError, at: str = "") -> str:
    """msgspec's complaint with the field first: ``spec.weight: expected int, got str``."""
    text, _, path = str(error).partition(" - at `")
    text = text.replace("`", "").replace(" | null", "")
    path = path.rstrip("`").removeprefix("$").removeprefix(".")
    field = f"{at}.{path}" if at and path and not path.startswith("[") else at + path
    return f"{field}: {text[:1].lower()}{text[1:]}" if field else f"{text[:1].lower()}{text[1:]}"


def _identity(data: bytes | msgspec.Raw) -> Metadata:
    try:
        found = msgspec.json.decode(data, type=_Identified).metadata
    except msgspec.DecodeError:
        return Metadata()
    return Metadata(found.name, found.namespace, found.uid, found.resource_version)

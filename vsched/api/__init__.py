"""API objects as typed structs, decoded from bytes, with the fields that vsched reads; all others are skipped."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from vsched.api.arbitration import Allocation, Bucket, Consumer
from vsched.api.autoscaling import CapacityBuffer, NodePool, ProvisioningRequest
from vsched.api.base import Metadata, OwnerReference, Wire, check_names, complaint, located, named, uid_of
from vsched.api.batch import VolcanoJob
from vsched.api.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from vsched.api.evictions import Eviction
from vsched.api.flows import JobFlow, JobTemplate, VolcanoCronJob
from vsched.api.limits import check_limits
from vsched.api.native import CompositePodGroup, NativePodGroup, SchedulingWorkload
from vsched.api.objects import (
    Command,
    DaemonSet,
    Job,
    Namespace,
    Node,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    Queue,
    ReplicaSet,
    ReplicationController,
    ResourceQuota,
    Selecting,
    Service,
    StatefulSet,
    WorkloadObject,
)
from vsched.api.pods import Pod
from vsched.api.resources import RESOURCES, VCJOB, VOLCANO_CRON_JOB
from vsched.api.topology import HyperNode, NodeShard
from vsched.api.volumes import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from vsched.api.zones import NodeResourceTopology, Numatopology
from vsched.errors import UNREADABLE, BadObject, Beyond
from vsched.kube.watch import framing
from vsched.kube.watch.deltas import Delta
from vsched.kube.watch.mending import mended
from vsched.model.pods.claims import claim_key

__all__ = [
    "ARBITRATED",
    "KINDS",
    "NATIVE_POD_GROUP",
    "OWNERS",
    "RESOURCES",
    "VCJOB",
    "VOLCANO_CRON_JOB",
    "Allocation",
    "Bucket",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "CapacityBuffer",
    "Command",
    "CompositePodGroup",
    "Consumer",
    "DaemonSet",
    "DeviceClass",
    "DeviceTaintRule",
    "Eviction",
    "HyperNode",
    "Job",
    "JobFlow",
    "JobTemplate",
    "Malformed",
    "Metadata",
    "Namespace",
    "NativePodGroup",
    "Node",
    "NodePool",
    "NodeResourceTopology",
    "NodeShard",
    "Numatopology",
    "Object",
    "OwnerReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PriorityClass",
    "ProvisioningRequest",
    "Queue",
    "ReplicaSet",
    "ReplicationController",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ResourceSlice",
    "SchedulingWorkload",
    "Selecting",
    "Service",
    "StatefulSet",
    "StorageClass",
    "VolcanoCronJob",
    "VolcanoJob",
    "VolumeAttachment",
    "Workload",
    "WorkloadObject",
    "complaint",
    "decode",
    "identity_of",
    "kind_of",
    "named",
    "namespace_in",
    "read",
    "read_line",
    "read_workload",
    "uid_of",
]


class Malformed(Wire):
    """An object that could not be decoded: who it is, and one line that says what is wrong with it."""

    kind: str
    metadata: Metadata
    message: str


Workload = ReplicationController | ReplicaSet | StatefulSet | DaemonSet | Job
"""What makes pods of one kind, and may say how they belong together."""
OWNERS = frozenset(kind.__name__ for kind in get_args(Workload))
"""The names of these kinds: the mirror keeps them whatever the table of workload kinds says."""

Object = (
    Pod
    | Node
    | PodGroup
    | Queue
    | PriorityClass
    | Namespace
    | ResourceQuota
    | PodDisruptionBudget
    | Service
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | DaemonSet
    | Job
    | Consumer
    | Allocation
    | Bucket
    | PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
    | ResourceClaim
    | ResourceSlice
    | DeviceClass
    | HyperNode
    | DeviceTaintRule
    | NodeResourceTopology
    | Numatopology
    | Command
    | ResourceClaimTemplate
    | ProvisioningRequest
    | CapacityBuffer
    | NodePool
    | NodeShard
    | Eviction
    | NativePodGroup
    | CompositePodGroup
    | SchedulingWorkload
    | WorkloadObject
    | VolcanoJob
    | VolcanoCronJob
    | JobFlow
    | JobTemplate
    | Malformed
)

NATIVE_POD_GROUP = "PodGroup.scheduling.k8s.io"
"""Kubernetes' own kind of this name; ``PodGroup`` alone is Volcano's."""
_NAMES = {"NativePodGroup": NATIVE_POD_GROUP, "SchedulingWorkload": "Workload"}
"""The names of kinds whose structs are called otherwise."""

KINDS: dict[str, type[Wire]] = {
    name: kind for kind in get_args(Object) if (name := _NAMES.get(kind.__name__, kind.__name__)) in RESOURCES
}
"""Every kind the mirror keeps, by its name on the wire. Other API groups use some of the names for other things: a kind
whose name is taken has its API group after the name."""

ARBITRATED = frozenset({"Consumer", "Allocation", "Bucket"})
"""The kinds of ``KINDS`` that matter to arbitration alone."""

HEEDED: dict[str, type[Wire]] = {
    "Command": Command,
    "ResourceClaimTemplate": ResourceClaimTemplate,
    VCJOB: VolcanoJob,
    VOLCANO_CRON_JOB: VolcanoCronJob,
    "JobFlow": JobFlow,
    "JobTemplate": JobTemplate,
    "ProvisioningRequest": ProvisioningRequest,
    "CapacityBuffer": CapacityBuffer,
    "NodePool": NodePool,
    "NodeShard": NodeShard,
}
"""Kinds that are read and not mirrored, by name: controllers handle them, or manifests contain them."""

_WORKLOADS = msgspec.json.Decoder(WorkloadObject)
_UPON = frozenset(delta.value for delta in Delta)
_LINES: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(framing.ReadEvent[kind])  # type: ignore[valid-type]
    for name, kind in (KINDS | HEEDED).items()
}
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in (KINDS | HEEDED).items()
}


def identity_of(kind: str, metadata: Metadata) -> str:
    """The key of an object in the mirror: the uid of a pod, else the name, with the namespace if any."""
    if kind == "Pod":
        return uid_of(metadata)
    known = RESOURCES.get(kind)  # workloads of other kinds are in namespaces
    if known is not None and not known.namespaced:
        return metadata.name
    if kind == "ResourceClaim":
        return claim_key(metadata.namespace or "default", metadata.name)
    return f"{metadata.namespace or 'default'}/{metadata.name}"


def namespace_in(key: str) -> str:
    """The namespace in the key of an object that has one."""
    return key.partition("/")[0]


def kind_of(api_version: str, kind: str) -> str:
    """The name of a kind in the tables here."""
    qualified = f"{kind}.{api_version.rpartition('/')[0]}"
    return qualified if qualified in KINDS or qualified in HEEDED else kind


def decode(kind: str, data: bytes | msgspec.Raw) -> Object:
    """An object of ``kind`` (one of the two tables) from JSON; raises BadObject naming the object and the field."""
    try:
        found = _decoded(kind, data)
    except UNREADABLE as error:
        raise BadObject(f"{named(kind, _identity(data))}: {located(error, data=data)}") from None
    _check(kind, found)
    return found


def read(kind: str, data: bytes | msgspec.Raw) -> Object:
    """The same as ``decode``, but an invalid object is returned as ``Malformed``, so that a watch goes on."""
    try:
        return decode(kind, data)
    except BadObject as error:
        return Malformed(kind, _identity(data), str(error))


def read_line(kind: str, line: bytes) -> framing.ReadEvent[Any] | None:
    """A line of a watch with its object, in one pass over its bytes; None for what ``decode`` has to be asked about.

    That is everything unusual: objects that cannot be read as they are, bookmarks and errors.
    """
    decoder = _LINES.get(kind)
    if decoder is None:
        return None
    try:
        found: framing.ReadEvent[Any] = decoder.decode(line)
        if found.type not in _UPON:
            return None
        _check(kind, found.object)
    except (*UNREADABLE, BadObject):
        return None
    return found


def read_workload(kind: str, data: bytes) -> Object:
    """An object of a kind that only the table of workload kinds names; an invalid one is returned as ``Malformed``."""
    try:
        found = _WORKLOADS.decode(data)
        check_names(kind, found.metadata)
        found.document = msgspec.json.decode(data)
    except BadObject as error:
        return Malformed(kind, _identity(data), str(error))
    except UNREADABLE as error:
        identity = _identity(data)
        return Malformed(kind, identity, f"{named(kind, identity)}: {located(error, data=data)}")
    return found


def _decoded(kind: str, data: bytes | msgspec.Raw) -> Object:
    decoder = _DECODERS[kind]
    try:
        return decoder.decode(data)  # type: ignore[no-any-return]  # the table maps a kind to its struct
    except msgspec.ValidationError:
        raise
    except UNREADABLE:  # perhaps only in a field that nobody reads
        return decoder.decode(mended(bytes(data)))  # type: ignore[no-any-return]


def _check(kind: str, found: Object) -> None:
    """Raise BadObject for names that are none, and for more than is read of one object."""
    if kind == "Pod":
        return  # a pod on a node uses room, whatever its name; its names are checked later
    check_names(kind, found.metadata)
    try:
        check_limits(kind, found)
    except Beyond as error:
        raise Beyond(f"{named(kind, found.metadata)}: {error}") from None


def _identity(data: bytes | msgspec.Raw) -> Metadata:
    found = framing.identity_of(bytes(data))
    return Metadata(found.name, found.namespace, found.uid, found.resource_version)

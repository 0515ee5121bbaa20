"""The fields that vsched reads of the objects of arbitration and of storage.

What the arbitrator writes itself (Allocations, every status) stays raw, so that invalid content is only written again.
"""

from __future__ import annotations

import msgspec

from vsched.mirror.wire.base import NO_BYTES, ApiObject, ObjectCondition, Raw, ResourceList, Wire


class ShareSpec(Wire):
    """What a namespace or a group of namespaces may hold at most, and what is reserved for it."""

    hard: ResourceList | None = None
    reserved: ResourceList | None = None
    weight: int | None = None
    parent: str | None = None


class Consumer(ApiObject):
    """kube-arbitrator.incubator.k8s.io/v1 Consumer."""

    spec: ShareSpec = msgspec.field(default_factory=ShareSpec)
    status: Raw = NO_BYTES


class Bucket(ApiObject):
    """kube-arbitrator.incubator.k8s.io/v1 Bucket."""

    spec: ShareSpec = msgspec.field(default_factory=ShareSpec)
    status: Raw = NO_BYTES


class Allocation(ApiObject):
    """kube-arbitrator.incubator.k8s.io/v1 Allocation."""

    spec: Raw = NO_BYTES
    status: Raw = NO_BYTES


class AllocationSpec(Wire):
    """The spec of an Allocation."""

    deserved: ResourceList | None = None
    hard: ResourceList | None = None
    reserved: ResourceList | None = None


class ArbitrationStatus(Wire):
    """The status of a Consumer, a Bucket or an Allocation; each has some of these fields."""

    observed_generation: int | None = None
    deserved: ResourceList | None = None
    allocated: ResourceList | None = None
    conditions: list[ObjectCondition] | None = None


class StorageAsked(Wire):
    """The resources of a claim."""

    requests: ResourceList | None = None


class VolumeClaimSpec(Wire):
    """The spec of a claim."""

    storage_class_name: str | None = None
    resources: StorageAsked = msgspec.field(default_factory=StorageAsked)


class VolumeClaimStatus(Wire):
    """What is allocated for a claim while it grows."""

    allocated_resources: ResourceList | None = None


class PersistentVolumeClaim(ApiObject):
    """v1 PersistentVolumeClaim."""

    spec: VolumeClaimSpec = msgspec.field(default_factory=VolumeClaimSpec)
    status: VolumeClaimStatus = msgspec.field(default_factory=VolumeClaimStatus)


class VolumeSpec(Wire):
    """The spec of a volume."""

    capacity: ResourceList | None = None
    storage_class_name: str | None = None


class VolumeStatus(Wire):
    """The status of a volume."""

    phase: str | None = None


class PersistentVolume(ApiObject):
    """v1 PersistentVolume."""

    spec: VolumeSpec = msgspec.field(default_factory=VolumeSpec)
    status: VolumeStatus = msgspec.field(default_factory=VolumeStatus)


class StorageClass(ApiObject):
    """storage.k8s.io/v1 StorageClass."""

    provisioner: str = ""


class CSIStorageCapacity(ApiObject):
    """storage.k8s.io/v1 CSIStorageCapacity: the free capacity of a class in one part of the cluster."""

    storage_class_name: str = ""
    capacity: str | int | float | None = None

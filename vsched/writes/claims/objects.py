"""Objects as transactions read them: the fields that writes depend on.

What the mirror reads as well has the mirror's types. What is copied stays raw.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.api.affinity import NodeSelector
from vsched.api.base import Metadata, Wire
from vsched.api.devices import FINALIZER, AllocationFields, ConsumerFields, ResourceClaimStatus
from vsched.api.resources import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, VOLUME_CLAIMS, VOLUMES
from vsched.api.volumes import ClaimReference, VolumeClaimSpec, VolumeClaimStatus, VolumeStatus
from vsched.kube.paths import ApiResource
from vsched.mirror.ingest.volumes import BIND_COMPLETED

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


class WrittenMetadata(Metadata):
    """``metadata`` with what writes depend on."""

    finalizers: list[str] | None = None

    def annotation(self, name: str) -> str:
        """An annotation; empty where there is none."""
        return (self.annotations or {}).get(name, "")


class ObjectRead(Wire):
    """Base of the objects here."""

    metadata: WrittenMetadata


# -- volumes


class VolumeClaimRead(ObjectRead):
    """A PersistentVolumeClaim."""

    spec: VolumeClaimSpec = msgspec.field(default_factory=VolumeClaimSpec)
    status: VolumeClaimStatus = msgspec.field(default_factory=VolumeClaimStatus)

    @property
    def volume(self) -> str:
        """The volume that it is bound to, or being bound to; empty where there is none."""
        return self.spec.volume_name or ""

    @property
    def is_bound(self) -> bool:
        """Whether the binding is complete."""
        return bool(self.volume and self.metadata.annotation(BIND_COMPLETED))


class VolumeAffinity(Wire):
    """``spec.nodeAffinity`` of a volume."""

    required: NodeSelector | None = None


class WrittenVolumeSpec(Wire):
    """The spec of a PersistentVolume."""

    claim_ref: ClaimReference | None = None
    node_affinity: VolumeAffinity | None = None


class VolumeRead(ObjectRead):
    """A PersistentVolume."""

    spec: WrittenVolumeSpec = msgspec.field(default_factory=WrittenVolumeSpec)
    status: VolumeStatus = msgspec.field(default_factory=VolumeStatus)


# -- devices


class RequestRead(Wire):
    """What a request of a claim says, or an alternative of one."""

    name: str = ""
    device_class_name: str = ""
    tolerations: list[Any] | None = None
    count: int | None = None


class RequestsRead(Wire):
    """A request of a claim."""

    name: str = ""
    exactly: RequestRead | None = None
    first_available: list[RequestRead] | None = None

    def named(self) -> list[tuple[str, RequestRead]]:
        """What results may refer to: the request, or each alternative as ``request/alternative``."""
        if self.exactly is not None:
            return [(self.name, self.exactly)]
        return [(f"{self.name}/{each.name}", each) for each in self.first_available or ()]


class ConfigRead(Wire):
    """An entry of ``config`` of a claim or a class."""

    requests: list[str] | None = None
    opaque: Any = None


class DevicesRead(Wire):
    """``spec.devices`` of a claim."""

    requests: list[RequestsRead] | None = None
    config: list[ConfigRead] | None = None


class DeviceClaimSpecRead(Wire):
    """The spec of a ResourceClaim."""

    devices: DevicesRead = msgspec.field(default_factory=DevicesRead)

    def requests(self) -> list[tuple[str, RequestRead]]:
        """All requests and alternatives, by the names that results have."""
        return [named for request in self.devices.requests or () for named in request.named()]


class DeviceClaimRead(ObjectRead):
    """A ResourceClaim."""

    spec: DeviceClaimSpecRead = msgspec.field(default_factory=DeviceClaimSpecRead)
    status: ResourceClaimStatus | None = None

    @property
    def allocation(self) -> AllocationFields | None:
        return None if self.status is None else self.status.allocation

    @property
    def consumers(self) -> list[ConsumerFields]:
        return [] if self.status is None else self.status.reserved_for or []

    @property
    def is_protected(self) -> bool:
        """Whether it has the finalizer that keeps it while it has devices."""
        return FINALIZER in (self.metadata.finalizers or ())


class DeviceClassSpecRead(Wire):
    """The spec of a DeviceClass."""

    config: list[ConfigRead] | None = None


class DeviceClassRead(ObjectRead):
    """A DeviceClass."""

    spec: DeviceClassSpecRead = msgspec.field(default_factory=DeviceClassSpecRead)


# -- pods


class ResourcesRead(Wire):
    """``resources`` of a container."""

    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class ContainerRead(Wire):
    """A container of a pod."""

    name: str = ""
    restart_policy: str | None = None
    resources: ResourcesRead = msgspec.field(default_factory=ResourcesRead)


class PodSpecRead(Wire):
    """The spec of a pod."""

    node_name: str | None = None
    containers: list[ContainerRead] | None = None
    init_containers: list[ContainerRead] | None = None


class MappingRead(Wire):
    """Which request of the claim serves an extended resource of a container."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedStatusRead(Wire):
    """``status.extendedResourceClaimStatus`` of a pod."""

    resource_claim_name: str = ""
    request_mappings: list[MappingRead] | None = None


class PodStatusRead(Wire):
    """The status of a pod."""

    extended_resource_claim_status: ExtendedStatusRead | None = None


class PodRead(ObjectRead):
    """A pod."""

    spec: PodSpecRead = msgspec.field(default_factory=PodSpecRead)
    status: PodStatusRead = msgspec.field(default_factory=PodStatusRead)


def kind_of(read: type[ObjectRead]) -> tuple[str, ApiResource]:
    """What a type is called, and where the API server has it."""
    return _KINDS[read]


_KINDS: dict[type[ObjectRead], tuple[str, ApiResource]] = {
    VolumeClaimRead: ("PersistentVolumeClaim", VOLUME_CLAIMS),
    VolumeRead: ("PersistentVolume", VOLUMES),
    DeviceClaimRead: ("ResourceClaim", RESOURCE_CLAIMS),
    DeviceClassRead: ("DeviceClass", DEVICE_CLASSES),
    PodRead: ("Pod", PODS),
}

"""PersistentVolumeClaims, volumes and free storage capacity: pure functions of one object each; raise BadObject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vsched.errors import BadObject, BadQuantity
from vsched.mirror import wire
from vsched.mirror.wire.base import ResourceList
from vsched.model.amounts.counted import STORAGE, parse_counted
from vsched.model.shared import shared

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""The old way to name a class; it takes precedence over the field, as in Kubernetes."""
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_LOST_PHASES = ("Released", "Failed")
"""Phases of volumes that no claim can use any more."""

_NONE: Mapping[str, str] = {}


class VolumeClaim(NamedTuple):
    """What a PersistentVolumeClaim asks for."""

    storage_class: str
    """Empty where it names none."""
    asked: int
    """Bytes."""
    leaving: bool
    """Is being deleted."""


class Volume(NamedTuple):
    """A volume, or free capacity."""

    storage_class: str
    size: int
    """Bytes."""


def volume_claim_of(found: wire.PersistentVolumeClaim) -> VolumeClaim:
    """A claim with its request, or with what is allocated for it while it grows, whichever is more."""
    metadata, spec = found.metadata, found.spec
    name = wire.named("PersistentVolumeClaim", metadata)
    asked = _storage(spec.resources.requests, f"{name}: spec.resources.requests")
    granted = _storage(found.status.allocated_resources, f"{name}: status.allocatedResources")
    return VolumeClaim(
        _class_of(metadata, spec.storage_class_name), max(asked, granted), metadata.deletion_timestamp is not None
    )


def volume_of(found: wire.PersistentVolume) -> Volume | None:
    """A volume, None where no claim can use it any more."""
    size = _storage(found.spec.capacity, f"{wire.named('PersistentVolume', found.metadata)}: spec.capacity")
    if found.status.phase in _LOST_PHASES:
        return None
    return Volume(_class_of(found.metadata, found.spec.storage_class_name), size)


def capacity_of(found: wire.CSIStorageCapacity) -> Volume:
    """The free capacity of a storage class in one part of the cluster; 0 where the object does not say."""
    if found.capacity is None:
        return Volume(shared(found.storage_class_name), 0)
    return Volume(
        shared(found.storage_class_name),
        _bytes(found.capacity, f"{wire.named('CSIStorageCapacity', found.metadata)}: capacity"),
    )


def is_static(found: wire.StorageClass) -> bool:
    """Whether the class has no provisioner."""
    return found.provisioner == NO_PROVISIONER


def _class_of(metadata: wire.Metadata, field: str | None) -> str:
    return shared((metadata.annotations or _NONE).get(CLASS_ANNOTATION, field or ""))


def _storage(resources: ResourceList | None, at: str) -> int:
    quantity = (resources or {}).get("storage")
    return 0 if quantity is None else _bytes(quantity, f"{at}.storage")


def _bytes(quantity: str | float, at: str) -> int:
    try:
        return parse_counted(STORAGE, quantity)
    except BadQuantity as error:
        raise BadObject(f"{at}{str(error).removeprefix(STORAGE)}") from None

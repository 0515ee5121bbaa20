"""The fields that vsched reads of volumes: claims, volumes, storage classes, and what CSI drivers say of nodes."""

from __future__ import annotations

import msgspec

from vsched.api.base import NO_BYTES, ApiObject, Raw, ResourceList, Wire

Quantity = str | int | float


class StorageAsked(Wire):
    """The resources of a claim."""

    requests: ResourceList | None = None


class VolumeClaimSpec(Wire):
    """The spec of a claim."""

    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    resources: StorageAsked = msgspec.field(default_factory=StorageAsked)
    access_modes: list[str] | None = None
    volume_mode: str | None = None
    volume_name: str | None = None
    selector: Raw = NO_BYTES


class VolumeClaimStatus(Wire):
    """The status of a claim, with what is allocated for it while it grows."""

    phase: str | None = None
    allocated_resources: ResourceList | None = None


class PersistentVolumeClaim(ApiObject):
    """v1 PersistentVolumeClaim."""

    spec: VolumeClaimSpec = msgspec.field(default_factory=VolumeClaimSpec)
    status: VolumeClaimStatus = msgspec.field(default_factory=VolumeClaimStatus)


class ClaimReference(Wire):
    """The claim that a volume is for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeTopology(Wire):
    """The nodes that reach a volume."""

    required: Raw = NO_BYTES


class CSISource(Wire):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""


class VolumeSpec(Wire):
    """The spec of a volume. Sources of in-tree plugins stay raw: only their disk's name is read."""

    capacity: ResourceList | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    access_modes: list[str] | None = None
    volume_mode: str | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeTopology | None = None
    csi: CSISource | None = None
    aws_elastic_block_store: Raw = NO_BYTES
    azure_disk: Raw = NO_BYTES
    azure_file: Raw = NO_BYTES
    cinder: Raw = NO_BYTES
    gce_persistent_disk: Raw = NO_BYTES
    portworx_volume: Raw = NO_BYTES
    vsphere_volume: Raw = NO_BYTES


class VolumeStatus(Wire):
    """The status of a volume."""

    phase: str | None = None


class PersistentVolume(ApiObject):
    """v1 PersistentVolume."""

    spec: VolumeSpec = msgspec.field(default_factory=VolumeSpec)
    status: VolumeStatus = msgspec.field(default_factory=VolumeStatus)


class InTreeVolume(Wire):
    """What the volumes of in-tree plugins call their disk."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    pd_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    volume_path: str = ""
    share_name: str = ""


class TopologyExpression(Wire):
    """One label of such a term."""

    key: str
    values: list[str] | None = None


class TopologyTerm(Wire):
    """One term of ``allowedTopologies``: each label must have one of the values."""

    match_label_expressions: list[TopologyExpression] | None = None


class StorageClass(ApiObject):
    """storage.k8s.io/v1 StorageClass."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm] | None = None


class CSIDriverSpec(Wire):
    """The spec of a CSIDriver."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(ApiObject):
    """storage.k8s.io/v1 CSIDriver."""

    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class DriverCount(Wire):
    """How many volumes of a driver a node can attach."""

    count: int | None = None


class CSINodeDriver(Wire):
    """A driver that runs on a node."""

    name: str
    allocatable: DriverCount | None = None


class CSINodeSpec(Wire):
    """The spec of a CSINode."""

    drivers: list[CSINodeDriver] | None = None


class CSINode(ApiObject):
    """storage.k8s.io/v1 CSINode; it has the name of its node."""

    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIStorageCapacity(ApiObject):
    """storage.k8s.io/v1 CSIStorageCapacity: the free capacity of a class in one part of the cluster."""

    storage_class_name: str = ""
    node_topology: Raw = NO_BYTES
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class AttachedSource(Wire):
    """What is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire):
    """The spec of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: AttachedSource = msgspec.field(default_factory=AttachedSource)


class VolumeAttachment(ApiObject):
    """storage.k8s.io/v1 VolumeAttachment."""

    spec: VolumeAttachmentSpec = msgspec.field(default_factory=VolumeAttachmentSpec)


class ClaimSource(Wire):
    """``persistentVolumeClaim`` of a pod's volume."""

    claim_name: str = ""


class ClaimedVolume(Wire):
    """One of a pod's volumes, as far as it is a claim."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Raw = NO_BYTES

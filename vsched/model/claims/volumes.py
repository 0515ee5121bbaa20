"""Volumes: what PersistentVolumeClaims ask for, what PersistentVolumes offer, and what limits them on a node."""

from __future__ import annotations

import msgspec

from vsched.model.marks import NodeName, Opaque, Uid, Value, Word
from vsched.model.pods.shape import NodeTerm, Selector

NO_PROVISIONER = "kubernetes.io/no-provisioner"
"""The provisioner of classes whose volumes are made by people."""
ONCE_POD = "ReadWriteOncePod"
"""The access mode of volumes that one pod may use at a time."""


class VolumeClaim(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim: as the watch shows it, plus what was decided and the watch does not show yet."""

    key: str
    """``namespace/name``."""
    uid: Uid
    storage_class: str = ""
    """Empty where it names none."""
    request: int = 0
    """Bytes."""
    modes: tuple[Word, ...] = ()
    """Access modes."""
    block: bool = False
    """Whether the volume is a block device; otherwise it is a file system."""
    selector: Selector | None = None
    volume: str = ""
    """``spec.volumeName``; also a static volume that was chosen for it, or whose ``claimRef`` names it, and that is not
    bound yet."""
    bound: bool = False
    """Whether the binding is complete (``spec.volumeName`` and the annotation ``bind-completed``)."""
    selected_node: NodeName = ""
    """The node for which a volume is being made; empty where none was chosen."""
    lost: bool = False
    """Whether its phase is ``Lost``: the volume is gone."""
    deleting: bool = False
    owner: Uid = ""
    """The uid of the pod that it was made for (a generic ephemeral volume); empty where there is none."""
    allocated: int = 0
    """``status.allocatedResources``, bytes: more than ``request`` while the volume grows; for arbitration alone."""
    attributes_class: str = ""
    """``spec.volumeAttributesClassName``: a static volume must have the same."""


class Volume(msgspec.Struct, frozen=True):
    """A PersistentVolume."""

    name: str
    storage_class: str = ""
    capacity: int = 0
    """Bytes."""
    modes: tuple[Word, ...] = ()
    block: bool = False
    available: bool = True
    """Whether its phase is ``Available`` (or not set yet) and it is not being deleted, so that a claim may get it."""
    claim: str = ""
    """``claimRef`` as ``namespace/name``; empty where nobody has it."""
    claim_uid: Uid = ""
    """The uid in ``claimRef``; empty for a volume that an administrator reserved for a claim by name."""
    affinity: tuple[NodeTerm, ...] | None = None
    """``nodeAffinity.required``: any one term must hold; None where every node reaches the volume."""
    labels: dict[str, Value] = {}
    driver: str = ""
    """The CSI driver, or that which a volume of an in-tree plugin is migrated to; empty for other volumes."""
    handle: Opaque = ""
    """The driver's name of the volume."""
    attributes_class: str = ""
    """``spec.volumeAttributesClassName``."""
    spent: bool = False
    """Whether its phase is ``Released`` or ``Failed``: no claim can use it any more."""


class StorageClass(msgspec.Struct, frozen=True):
    """A StorageClass."""

    name: str
    provisioner: str
    waits: bool = False
    """Whether its mode is ``WaitForFirstConsumer``."""
    topologies: tuple[NodeTerm, ...] = ()
    """``allowedTopologies``: any one term must hold; empty where every node will do."""

    @property
    def provisions(self) -> bool:
        """Whether volumes of the class can be made on demand."""
        return self.provisioner != NO_PROVISIONER


class CSIDriver(msgspec.Struct, frozen=True):
    """A CSIDriver."""

    name: str
    tracks_capacity: bool = False
    """``spec.storageCapacity``: volumes are only made where a CSIStorageCapacity says that there is enough."""
    required: bool = False
    """``spec.preventPodSchedulingIfMissing``: nodes without the driver do not take pods that need it."""


class StorageCapacity(msgspec.Struct, frozen=True):
    """A CSIStorageCapacity: how much storage of a class is free on some nodes."""

    key: str
    """``namespace/name``."""
    storage_class: str
    nodes: Selector | None = None
    """Selects the nodes by labels; None selects no node."""
    capacity: int | None = None
    """Free bytes; None where the driver does not say (treated as none, as Kubernetes does)."""
    largest: int | None = None
    """``maximumVolumeSize``: the largest volume in bytes; None where only the capacity counts."""


class Attachment(msgspec.Struct, frozen=True):
    """A VolumeAttachment: a volume that is attached to a node, or is being attached or detached."""

    name: str
    node: NodeName
    driver: str
    volume: str = ""
    """The PersistentVolume."""

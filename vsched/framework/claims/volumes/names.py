"""Volumes as nodes attach them: by CSI driver, and by the driver's name of the volume."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from vsched.framework.claims.volumes.static import VolumeNeed
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import Attachment, StorageClass, Volume, VolumeClaim
from vsched.model.pods.task import Task

MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""Provisioners of in-tree plugins, and the CSI drivers that do their work."""


class Attachable(NamedTuple):
    """A volume as a node attaches it."""

    driver: str
    handle: str
    """The driver's name of the volume; empty where it is not known."""
    stands_for: str = ""
    """Where the handle is not known: the claim that the volume is made for, or the name of the volume."""


class AttachNames:
    """Names the volumes of claims, as far as a limit could count them."""

    def __init__(self, catalogue: VolumeCatalogue, drivers: Collection[str]) -> None:
        """``drivers`` are those whose volumes count."""
        self._claims, self._volumes, self._classes = catalogue.claims, catalogue.volumes, catalogue.classes
        self._drivers = drivers

    def mentioned(self, task: Task) -> Collection[str]:
        """The keys of the claims that a task names, each once."""
        volumes = task.claims.volumes if task.claims is not None else ()
        if len(volumes) == 1:
            return (f"{task.namespace}/{volumes[0].claim}",)
        return dict.fromkeys([f"{task.namespace}/{volume.claim}" for volume in volumes])

    def claims_of(self, mentioned: Collection[str]) -> list[VolumeClaim]:
        """The claims of these keys that exist."""
        known = self._claims
        return [claim for key in mentioned if (claim := known.get(key)) is not None]

    def of_task(self, task: Task) -> list[Attachable]:
        """The volumes that a pod on a node uses, each once."""
        names = dict.fromkeys([self.of_claim(claim) for claim in self.claims_of(self.mentioned(task))])
        return [name for name in names if name is not None]

    def of_claim(self, claim: VolumeClaim) -> Attachable | None:
        """The volume of a claim, or that which is made for it; None where it does not count."""
        volume = self._volumes.get(claim.volume) if claim.volume else None
        if volume is not None:
            return self.of_volume(volume)
        storage_class = self._classes.get(claim.storage_class)
        return None if storage_class is None else self.to_be_made(storage_class, claim)

    def of_need(self, claim: VolumeClaim, need: VolumeNeed) -> Attachable | None:
        """The volume reserved for a claim that waits for its first pod, or one that is made for it."""
        if need.reserved:
            return self.of_volume(self._volumes[need.reserved])
        return self.to_be_made(self._classes[claim.storage_class], claim)

    def of_volume(self, volume: Volume) -> Attachable | None:
        """A volume that exists; None where it does not count."""
        return Attachable(volume.driver, volume.handle) if volume.driver in self._drivers else None

    def to_be_made(self, storage_class: StorageClass, claim: VolumeClaim) -> Attachable | None:
        """A volume that is to be made for a claim; None where it does not count."""
        driver = MIGRATED.get(storage_class.provisioner, storage_class.provisioner)
        return Attachable(driver, "", claim.key) if driver in self._drivers else None

    def of_attachment(self, attachment: Attachment) -> Attachable | None:
        """The volume of a VolumeAttachment; None where it does not count."""
        found = self._volumes.get(attachment.volume)
        if found is not None:
            return self.of_volume(found)
        # The volume is gone, or it is one without a PersistentVolume.
        stands_for = attachment.volume or attachment.name
        return Attachable(attachment.driver, "", stands_for) if attachment.driver in self._drivers else None

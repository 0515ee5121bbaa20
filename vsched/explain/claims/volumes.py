"""Puts volume claims into words: what they ask for, and what has become of them."""

from __future__ import annotations

from vsched.explain.claims.places import places
from vsched.framework.words.lists import counted
from vsched.model.amounts.quantity import format_bytes
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import NO_PROVISIONER, VolumeClaim
from vsched.model.pods.claims import PodVolume
from vsched.model.pods.task import Task


def claim_of(task: Task, volume: PodVolume, found: VolumeCatalogue) -> VolumeClaim | None:
    """The claim of a pod's volume; None where it does not exist."""
    return found.claims.get(f"{task.namespace}/{volume.claim}")


def asks(claim: VolumeClaim | None) -> str:
    """``100Gi of class fast, ReadWriteOnce``."""
    if claim is None:
        return ""
    kind = f" of class {claim.storage_class}" if claim.storage_class else ""
    modes = f", {', '.join(claim.modes)}" if claim.modes else ""
    return f"{format_bytes(claim.request)}{kind}{modes}"


def state(task: Task, volume: PodVolume, claim: VolumeClaim | None, found: VolumeCatalogue) -> tuple[str, bool]:
    """What has become of the claim, and whether the pod can use it somewhere."""
    if claim is None:
        return ("is not made yet" if volume.ephemeral else "does not exist"), False
    if volume.ephemeral and claim.owner != task.uid:
        return "was not made for this pod", False
    if claim.lost:
        return "is lost: its volume is gone", False
    if claim.deleting:
        return "is being deleted", False
    if claim.bound:
        return _bound(claim, found)
    if claim.volume:
        return f"PersistentVolume {claim.volume} is chosen but not bound yet", True
    if claim.selected_node:
        return f"a volume is being made for node {claim.selected_node}", True
    return _unbound(claim, found)


def is_lasting(volume: PodVolume, claim: VolumeClaim | None, found: VolumeCatalogue) -> bool:
    """Whether a claim that cannot be used stays so until somebody makes or changes an object."""
    if claim is None:
        return not volume.ephemeral
    if claim.bound:
        return claim.volume not in found.volumes
    return bool(claim.storage_class) and claim.storage_class not in found.classes


def _bound(claim: VolumeClaim, found: VolumeCatalogue) -> tuple[str, bool]:
    volume = found.volumes.get(claim.volume)
    if volume is None:
        return f"is bound to PersistentVolume {claim.volume}, which does not exist", False
    where = places(volume.affinity)
    return f"is bound to PersistentVolume {claim.volume}" + (f", usable {where}" if where else ""), True


def _unbound(claim: VolumeClaim, found: VolumeCatalogue) -> tuple[str, bool]:
    if not claim.storage_class:
        return "is not bound: it names no storage class and no volume without a class is free", False
    kind = found.classes.get(claim.storage_class)
    if kind is None:
        return f"cannot be bound: StorageClass {claim.storage_class} does not exist", False
    if not kind.waits:
        return f"is not bound: the volume controller binds claims of class {kind.name} before pods are placed", False
    of_class = found.available.get(claim.storage_class, ())
    there = sum(one.capacity >= claim.request for one in of_class)
    large = " large enough" if there < len(of_class) else ""
    free = f"{counted(there, 'volume of its class is', 'volumes of its class are')} free{large and ' and'}{large}"
    if kind.provisioner == NO_PROVISIONER:
        return f"gets a volume with the pod's node: {free}", True
    where = places(kind.topologies or None)
    made = f"can be made {where}" if where else "can be made"
    return f"gets a volume with the pod's node: one {made}" + (f", {free}" if there else ""), True

"""Puts volume claims into words: what they ask for, and what has become of them."""

from __future__ import annotations

from vsched.explain.claims import words
from vsched.explain.claims.places import places
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
    kind = words.of_storage_class(claim.storage_class) if claim.storage_class else ""
    modes = f", {', '.join(claim.modes)}" if claim.modes else ""
    return f"{format_bytes(claim.request)}{kind}{modes}"


def state(task: Task, volume: PodVolume, claim: VolumeClaim | None, found: VolumeCatalogue) -> tuple[str, bool]:
    """What has become of the claim, and whether the pod can use it somewhere."""
    if claim is None:
        return (words.NOT_MADE_YET if volume.ephemeral else words.DOES_NOT_EXIST), False
    if volume.ephemeral and claim.owner != task.uid:
        return words.NOT_MADE_FOR_THIS_POD, False
    if claim.lost:
        return words.VOLUME_LOST, False
    if claim.deleting:
        return words.BEING_DELETED, False
    if claim.bound:
        return _bound(claim, found)
    if claim.volume:
        return words.volume_chosen(claim.volume), True
    if claim.selected_node:
        return words.volume_being_made(claim.selected_node), True
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
        return words.bound_to_lost_volume(claim.volume), False
    return words.bound_to(claim.volume, places(volume.affinity)), True


def _unbound(claim: VolumeClaim, found: VolumeCatalogue) -> tuple[str, bool]:
    if not claim.storage_class:
        return words.NO_VOLUME_WITHOUT_CLASS, False
    kind = found.classes.get(claim.storage_class)
    if kind is None:
        return words.lost_storage_class(claim.storage_class), False
    if not kind.waits:
        return words.bound_before_placing(kind.name), False
    of_class = found.available.get(claim.storage_class, ())
    there = sum(one.capacity >= claim.request for one in of_class)
    free = words.free_volumes(there, large=there < len(of_class))
    if kind.provisioner == NO_PROVISIONER:
        return words.gets_volume(free), True
    where = places(kind.topologies or None)
    return words.gets_new_volume(where, free if there else ""), True

"""Why volumes keep a pod waiting: of nodes in the words of kube-scheduler, of claims in our own, which name them."""

from __future__ import annotations

from collections.abc import Container

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.model.claims.volumes import VolumeClaim
from vsched.model.pods.claims import PodVolume
from vsched.model.pods.task import Task

IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
TOO_MANY = "node(s) exceed max volume count"
NO_DRIVER = "{driver} CSI driver is not installed on the node"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"
NO_STORAGE = "node(s) did not have enough free storage"
OTHER_ZONE = "node(s) had no available volume zone"
VOLUME_GONE = "PersistentVolumeClaim {name} is bound to a PersistentVolume that does not exist"
UNBOUND = "PersistentVolumeClaim {name} is not bound yet"
NAMES_NO_CLASS = (
    "PersistentVolumeClaim {name} is not bound: it names no StorageClass, and no PersistentVolume is for it"
)
NO_CLASS = "PersistentVolumeClaim {name} cannot be bound: StorageClass {storage_class} does not exist"
NOT_FOUND = "PersistentVolumeClaim {name} does not exist"
NOT_MADE = "PersistentVolumeClaim {name} is not made yet by the ephemeral volume controller"
LOST = "PersistentVolumeClaim {name} is lost: its PersistentVolume {volume} does not exist"
DELETING = "PersistentVolumeClaim {name} is being deleted"
NOT_OWNED = "PVC {claim} was not created for pod {pod} (pod is not owner)"

NAMES_MAX = 2
"""The most claims that are named; others are counted."""
CLAIM_REFUSED = "VolumeClaim"
"""The reason of a task whose claim cannot be used on any node."""


def refused(message: str, claim: str) -> Refusal:
    """The refusal of a task for one of its claims (``namespace/name``)."""
    return Refusal(CLAIM_REFUSED, message, code=Code.CLAIM, subject=claim)


def not_there(task: Task, volume: PodVolume, known: Container[str]) -> Refusal:
    """The refusal of a task one of whose claims is not among the ``known``; it names all that people have to make."""
    key = f"{task.namespace}/{volume.claim}"
    if volume.ephemeral:
        return refused(NOT_MADE.format(name=volume.claim), key)
    own = task.claims.volumes if task.claims is not None else ()
    gone = [one.claim for one in own if not one.ephemeral and f"{task.namespace}/{one.claim}" not in known]
    if len(gone) == 1:
        return refused(NOT_FOUND.format(name=gone[0]), key)
    names = gone if len(gone) == NAMES_MAX else [*gone[:NAMES_MAX], f"{len(gone) - NAMES_MAX} more"]
    return refused(f"PersistentVolumeClaims {', '.join(names[:-1])} and {names[-1]} do not exist", key)


def unbound(claim: VolumeClaim, *, has_class: bool) -> Refusal:
    """The refusal of a task whose claim is not bound, and will not be for the task."""
    name = claim.key.partition("/")[2]
    if not claim.storage_class and not claim.volume:
        return refused(NAMES_NO_CLASS.format(name=name), claim.key)
    if has_class or not claim.storage_class:
        return refused(UNBOUND.format(name=name), claim.key)
    return refused(NO_CLASS.format(name=name, storage_class=claim.storage_class), claim.key)


def unusable(task: Task, volume: PodVolume, claim: VolumeClaim) -> Refusal | None:
    """Why a claim that exists cannot be used by the task, whatever its volume; None where it can."""
    if claim.lost:
        return refused(LOST.format(name=volume.claim, volume=claim.volume), claim.key)
    if claim.deleting:
        return refused(DELETING.format(name=volume.claim), claim.key)
    if volume.ephemeral and claim.owner != task.uid:
        return refused(NOT_OWNED.format(claim=claim.key, pod=task.key), claim.key)
    return None

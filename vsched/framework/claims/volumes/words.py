"""Why volumes keep a pod waiting: of claims in our own words, which name them.

Of nodes they are kube-scheduler's, and most stand in ``framework/words/nodes.py``.
"""

from __future__ import annotations

from collections.abc import Container

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.model.claims.volumes import VolumeClaim
from vsched.model.pods.claims import PodVolume
from vsched.model.pods.task import Task

NAMES_MAX = 2
"""The most claims that are named; others are counted."""
CLAIM_REFUSED = "VolumeClaim"
"""The reason of a task whose claim cannot be used on any node."""


def no_driver(driver: str) -> str:
    """A node cannot attach its volumes."""
    return f"{driver} CSI driver is not installed on the node"


def volume_gone(claim: str) -> str:
    """It is bound, and its volume is not there."""
    return f"PersistentVolumeClaim {claim} is bound to a PersistentVolume that does not exist"


def refused(message: str, claim: str) -> Refusal:
    """The refusal of a task for one of its claims (``namespace/name``)."""
    return Refusal(CLAIM_REFUSED, message, code=Code.CLAIM, subject=claim)


def not_there(task: Task, volume: PodVolume, known: Container[str]) -> Refusal:
    """The refusal of a task one of whose claims is not among the ``known``; it names all that people have to make."""
    key = f"{task.namespace}/{volume.claim}"
    if volume.ephemeral:
        return refused(f"PersistentVolumeClaim {volume.claim} is not made yet by the ephemeral volume controller", key)
    own = task.claims.volumes if task.claims is not None else ()
    gone = [one.claim for one in own if not one.ephemeral and f"{task.namespace}/{one.claim}" not in known]
    if len(gone) == 1:
        return refused(f"PersistentVolumeClaim {gone[0]} does not exist", key)
    names = gone if len(gone) == NAMES_MAX else [*gone[:NAMES_MAX], f"{len(gone) - NAMES_MAX} more"]
    return refused(f"PersistentVolumeClaims {', '.join(names[:-1])} and {names[-1]} do not exist", key)


def unbound(claim: VolumeClaim, *, has_class: bool) -> Refusal:
    """The refusal of a task whose claim is not bound, and will not be for the task."""
    name = claim.key.partition("/")[2]
    if not claim.storage_class and not claim.volume:
        why = "it names no StorageClass, and no PersistentVolume is for it"
        return refused(f"PersistentVolumeClaim {name} is not bound: {why}", claim.key)
    if has_class or not claim.storage_class:
        return refused(f"PersistentVolumeClaim {name} is not bound yet", claim.key)
    why = f"StorageClass {claim.storage_class} does not exist"
    return refused(f"PersistentVolumeClaim {name} cannot be bound: {why}", claim.key)


def unusable(task: Task, volume: PodVolume, claim: VolumeClaim) -> Refusal | None:
    """Why a claim that exists cannot be used by the task, whatever its volume; None where it can."""
    if claim.lost:
        why = f"its PersistentVolume {claim.volume} does not exist"
        return refused(f"PersistentVolumeClaim {volume.claim} is lost: {why}", claim.key)
    if claim.deleting:
        return refused(f"PersistentVolumeClaim {volume.claim} is being deleted", claim.key)
    if volume.ephemeral and claim.owner != task.uid:
        return refused(f"PVC {claim.key} was not created for pod {task.key} (pod is not owner)", claim.key)
    return None

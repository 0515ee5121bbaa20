"""Claims that a pod cannot use as they are: not there, being deleted, made for another pod, or without a volume."""

from __future__ import annotations

from collections.abc import Container

from vsched.framework.claims.volumes import words
from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.model.claims.volumes import VolumeClaim
from vsched.model.pods.claims import PodVolume
from vsched.model.pods.task import Task

CLAIM_REFUSED = "VolumeClaim"
"""The reason of a task whose claim cannot be used on any node."""


def refused(message: str, claim: str) -> Refusal:
    """The refusal of a task for one of its claims (``namespace/name``)."""
    return Refusal(CLAIM_REFUSED, message, code=Code.CLAIM, subject=claim)


def not_there(task: Task, volume: PodVolume, known: Container[str]) -> Refusal:
    """The refusal of a task one of whose claims is not among the ``known``."""
    key = f"{task.namespace}/{volume.claim}"
    if volume.ephemeral:
        return refused(words.not_made(volume.claim), key)
    own = task.claims.volumes if task.claims is not None else ()
    gone = [one.claim for one in own if not one.ephemeral and f"{task.namespace}/{one.claim}" not in known]
    return refused(words.not_found(gone), key)


def unbound(claim: VolumeClaim, *, has_class: bool) -> Refusal:
    """The refusal of a task whose claim is not bound, and will not be for the task."""
    name = claim.key.partition("/")[2]
    if not claim.storage_class and not claim.volume:
        return refused(words.names_no_class(name), claim.key)
    if has_class or not claim.storage_class:
        return refused(words.not_bound(name), claim.key)
    return refused(words.no_class(name, claim.storage_class), claim.key)


def unusable(task: Task, volume: PodVolume, claim: VolumeClaim) -> Refusal | None:
    """Why a claim that exists cannot be used by the task, whatever its volume; None where it can."""
    if claim.lost:
        return refused(words.lost(volume.claim, claim.volume), claim.key)
    if claim.deleting:
        return refused(words.deleting(volume.claim), claim.key)
    if volume.ephemeral and claim.owner != task.uid:
        return refused(words.not_owner(claim.key, task.key), claim.key)
    return None

"""Pods whose claims need objects that the scheduler cannot read: they wait, and their refusal names these."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.framework.words import jobs as words
from vsched.model.pods.task import Task

OF_VOLUMES = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
"""Kinds without which nothing is known of volume claims. Without the others only limits are not known."""
OF_DEVICES = ("ResourceClaim", "ResourceSlice", "DeviceClass")
"""The same for ResourceClaims."""
UNREAD = "ClaimsUnread"
"""The reason of such a refusal, for programs."""


def why_unread(task: Task, kinds: Mapping[str, str]) -> Refusal | None:
    """The refusal of a task whose claims need one of these kinds, which cannot be read; None where it needs none."""
    if not kinds or task.claims is None:
        return None
    needed = (*(OF_VOLUMES if task.claims.volumes else ()), *(OF_DEVICES if task.claims.devices else ()))
    for kind in needed:
        if kind in kinds:
            return Refusal(UNREAD, words.claims_unread(kind, kinds[kind]), code=Code.CLAIM)
    return None

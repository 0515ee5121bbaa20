"""What a cycle decides about claims when it places a pod, or when it cannot."""

from __future__ import annotations

import msgspec

from vsched.model import words
from vsched.model.claims.devices import AllocationResult, ClaimConsumer
from vsched.model.marks import Sentence, Uid

NOT_HAD = words.NOT_HAD
"""How the message about a placement begins that was given back, with everything that its gang had reserved."""


class VolumeChoice(msgspec.Struct, frozen=True):
    """What becomes of a claim that waited for its first pod."""

    claim: str
    """``namespace/name``."""
    uid: Uid
    volume: str = ""
    """The static volume that it gets; empty: a volume is made on the pod's node."""


class DeviceChoice(msgspec.Struct, frozen=True):
    """The devices that a claim gets."""

    claim: str
    """``namespace/name``; empty for the claim that is made for the extended resources of the pod."""
    uid: Uid
    """Empty for the claim that is made."""
    allocation: AllocationResult
    """The results of the claim that is made have the name of the extended resource as their ``request``: the requests
    of that claim follow from the pod's containers, and are worked out when it is written."""


class ClaimPlan(msgspec.Struct, frozen=True):
    """What has to be written before a pod can be bound."""

    volumes: tuple[VolumeChoice, ...] = ()
    devices: tuple[DeviceChoice, ...] = ()
    """Only claims that get their devices in this cycle; of a job's pods that share a claim, the first one has it."""
    reserve: tuple[str, ...] = ()
    """``namespace/name`` of every ResourceClaim that must be reserved for the pod, or for its group."""
    wait: tuple[str, ...] = ()
    """``namespace/name`` of every PersistentVolumeClaim that must be bound before the pod is."""
    group: ClaimConsumer | None = None
    """The native PodGroup of the pod; None where no claim is reserved for it."""
    for_group: tuple[str, ...] = ()
    """Those of ``reserve`` that are reserved for the group, and so for all of its pods."""

    def consumer(self, key: str, uid: str, name: str) -> ClaimConsumer:
        """Whom a claim is reserved for when the pod of this uid and name uses it."""
        return self.group if self.group is not None and key in self.for_group else ClaimConsumer(uid, name)


class ClaimRelease(msgspec.Struct, frozen=True):
    """A claim that is reserved for waiting pods which cannot use it: it is given back, so that others can have it."""

    claim: str
    """``namespace/name``."""
    uid: Uid
    device: bool
    """True for a ResourceClaim (allocation and reservations are removed), False for a PersistentVolumeClaim (the node
    selected for it is)."""
    job: str
    """The key of the job whose pods wait."""
    reason: Sentence = ""

"""Reads resource claims and slices. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting, is_finished

CLAIMS = "resource.k8s.io/resourceclaims"
TEMPLATES = "resource.k8s.io/resourceclaimtemplates"
SLICES = "resource.k8s.io/resourceslices"
RULES = "resource.k8s.io/devicetaintrules"
API_VERSION = "resource.k8s.io/v1"
FINALIZER = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
GROUP_CLAIM_NAME = "resource.kubernetes.io/podgroup-claim-name"
CLAIM_CONTROLLER = "resource_claim"
"""The component of the Events of the controllers of claims."""
GROUPS = "scheduling.k8s.io/podgroups"


class DeviceKey(NamedTuple):
    """A device of the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


def allocation_of(claim: Obj) -> Obj | None:
    found: Obj | None = (claim.get("status") or {}).get("allocation")
    return found


def results_of(claim: Obj) -> list[Obj]:
    """The devices that are allocated to a claim, one entry for each."""
    allocation = allocation_of(claim) or {}
    return list((allocation.get("devices") or {}).get("results") or ())


def device_of(result: Obj) -> DeviceKey:
    return DeviceKey(result["driver"], result["pool"], result["device"])


def exclusive_devices(claim: Obj) -> Iterator[DeviceKey]:
    """The devices that a claim shares with no other."""
    return (device_of(each) for each in results_of(claim) if not each.get("adminAccess") and not each.get("shareID"))


def consumers_of(claim: Obj) -> list[Obj]:
    return list((claim.get("status") or {}).get("reservedFor") or ())


def is_reserved_for(claim: Obj, pod: Obj) -> bool:
    return any(each.get("uid") == pod["metadata"]["uid"] for each in consumers_of(claim))


def owner_of(claim: Obj, kind: str) -> Obj | None:
    """The owner reference to the object of this kind that a claim was made for."""
    for reference in claim["metadata"].get("ownerReferences") or ():
        if reference.get("controller") and reference.get("kind") == kind:
            return dict(reference)
    return None


def is_done(pod: Obj) -> bool:
    """Whether a pod needs its claims no more: it has ended, or it is deleted and was never on a node."""
    return is_finished(pod) or (is_deleting(pod) and not pod["spec"].get("nodeName"))

"""The claims that a pod names: PersistentVolumeClaims of its volumes, and ResourceClaims. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.apimachinery.meta.kinds import Obj

_EXTENDED = "extendedResourceClaimStatus"
EXTENDED_RESOURCES = ""
"""Stands for the claim that a scheduler made for the extended resources of a pod, which has no name in its spec."""


def has_claims(pod: Obj) -> bool:
    """Whether the pod may name claims; false for most pods."""
    spec = pod["spec"]
    return bool(spec.get("volumes") or spec.get("resourceClaims")) or _EXTENDED in pod.get("status", ())


def volume_claims(pod: Obj) -> dict[str, str]:
    """The volumes of a pod that have a PersistentVolumeClaim, with the name of the claim."""
    found: dict[str, str] = {}
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found[volume["name"]] = volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            found[volume["name"]] = ephemeral_claim_name(pod, volume)
    return found


def ephemeral_volumes(pod: Obj) -> Iterator[Obj]:
    """The generic ephemeral volumes of a pod."""
    return (volume for volume in pod["spec"].get("volumes") or () if "ephemeral" in volume)


def ephemeral_claim_name(pod: Obj, volume: Obj) -> str:
    return f"{pod['metadata']['name']}-{volume['name']}"


def resource_claims(pod: Obj) -> dict[str, str | None]:
    """The entries of ``spec.resourceClaims`` and the names of their claims; None for one that is not made yet.

    An entry that needs no claim is left out.
    """
    status = pod.get("status") or {}
    made = {each["name"]: each.get("resourceClaimName") for each in status.get("resourceClaimStatuses") or ()}
    found: dict[str, str | None] = {}
    for entry in pod["spec"].get("resourceClaims") or ():
        name = entry["name"]
        if entry.get("resourceClaimName"):
            found[name] = entry["resourceClaimName"]
        elif name not in made:
            found[name] = None
        elif made[name]:
            found[name] = made[name]
    extended = (status.get(_EXTENDED) or {}).get("resourceClaimName")
    if extended:
        found[EXTENDED_RESOURCES] = extended
    return found


def is_owned_by(obj: Obj, owner: Obj) -> bool:
    """Whether the owner is the controller of the object, as of claims that were made for it."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(each.get("controller") and each.get("uid") == owner["metadata"]["uid"] for each in owners)

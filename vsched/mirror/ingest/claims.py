"""The claims that a pod names; raises BadObject naming the field."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.api.base import NO_BYTES
from vsched.api.devices import ExtendedClaimStatus, PodClaimFields, PodClaimStatus
from vsched.api.pods import Pod
from vsched.api.volumes import ClaimedVolume
from vsched.mirror.ingest.bounds import CLAIMS_MAX, read
from vsched.mirror.ingest.rules import decoded
from vsched.model.names import shared
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume, claim_key

_NONE: Mapping[str, str | None] = {}


def claims_of(pod: Pod) -> PodClaims | None:
    """The claims of a pod in the order of its spec, None where it has none."""
    spec, status = pod.spec, pod.status
    volumes = () if spec.volumes is NO_BYTES else _volumes(pod)
    devices = () if spec.resource_claims is NO_BYTES else _devices(pod)
    extended = "" if status.extended_resource_claim_status is NO_BYTES else _extended(pod)
    return PodClaims(volumes, devices, extended) if volumes or devices or extended else None


def _volumes(pod: Pod) -> tuple[PodVolume, ...]:
    data = bytes(pod.spec.volumes)
    if data.find(b'"persistentVolumeClaim"') < 0 and data.find(b'"ephemeral"') < 0:
        return ()  # Nearly all pods have volumes, and most of them no claims. ``in`` takes four times as long.
    found = []
    for volume in decoded(pod.spec.volumes, list[ClaimedVolume], "spec.volumes") or ():
        if volume.persistent_volume_claim is not None:
            found.append(PodVolume(shared(volume.persistent_volume_claim.claim_name)))
        elif bytes(volume.ephemeral) not in (b"", b"null"):
            found.append(PodVolume(f"{pod.metadata.name}-{volume.name}", ephemeral=True))
    read(found, CLAIMS_MAX, "spec.volumes")
    return tuple(found)


def _devices(pod: Pod) -> tuple[PodDevices, ...]:
    fields = decoded(pod.spec.resource_claims, list[PodClaimFields], "spec.resourceClaims") or ()
    read(fields, CLAIMS_MAX, "spec.resourceClaims")
    made = _made(pod) if any(not each.resource_claim_name for each in fields) else _NONE
    namespace = pod.metadata.namespace or "default"
    return tuple(
        PodDevices(
            shared(each.name),
            claim_key(namespace, name) if (name := each.resource_claim_name or made.get(each.name)) else "",
            "" if each.resource_claim_name else shared(each.resource_claim_template_name or ""),
            not each.resource_claim_name and made.get(each.name, "") is None,
        )
        for each in fields
    )


def _made(pod: Pod) -> Mapping[str, str | None]:
    """The claims made from templates, by name in the pod; None where the template asks for none."""
    at = "status.resourceClaimStatuses"
    found = decoded(pod.status.resource_claim_statuses, list[PodClaimStatus], at) or ()
    read(found, CLAIMS_MAX, at)
    return {each.name: each.resource_claim_name for each in found}


def _extended(pod: Pod) -> str:
    at = "status.extendedResourceClaimStatus"
    found = decoded(pod.status.extended_resource_claim_status, ExtendedClaimStatus, at)
    return "" if found is None else found.resource_claim_name

"""The claims that a pod names."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from vsched.model.marks import Uid


class PodVolume(msgspec.Struct, frozen=True):
    """A volume of a pod that is a claim."""

    claim: str
    """The name of the PersistentVolumeClaim, in the pod's namespace."""
    ephemeral: bool = False
    """Whether the claim is made for this pod and must be owned by it (a generic ephemeral volume)."""


class PodDevices(msgspec.Struct, frozen=True):
    """An entry of ``spec.resourceClaims``."""

    name: str
    """The name within the pod."""
    claim: str = ""
    """``namespace/name`` of the ResourceClaim; empty where it is made from a template and is not there yet."""
    template: str = ""
    """The name of the ResourceClaimTemplate; empty where the pod names a claim."""
    none: bool = False
    """Whether ``status.resourceClaimStatuses`` says that no claim is needed."""
    group: Uid = ""
    """The uid of the native PodGroup that has an entry like it: then the claim is reserved for the group, not for the
    pod, and one that is made from a template is made for the group. Empty for claims of the pod itself."""

    @property
    def claim_name(self) -> str:
        """The name of the ResourceClaim, without its namespace."""
        return self.claim.partition("/")[2]


@lru_cache(maxsize=1024)
def claim_key(namespace: str, name: str) -> str:
    """``namespace/name``. A pod and its claim, which come one soon after the other, have one string for it."""
    return f"{namespace}/{name}"


class PodClaims(msgspec.Struct, frozen=True, cache_hash=True):
    """The claims of a pod, in the order of its spec. Empty parts mean that it has none of the kind."""

    volumes: tuple[PodVolume, ...] = ()
    devices: tuple[PodDevices, ...] = ()
    extended: str = ""
    """The name of the ResourceClaim that a scheduler made for its extended resources; empty where there is none."""

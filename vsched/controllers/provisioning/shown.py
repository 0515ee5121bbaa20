"""What is shown of node autoscalers: nodes that are asked for, and room that they keep ready."""

from __future__ import annotations

import msgspec

from vsched import api
from vsched.controllers.provisioning.records import words_of


class Buffer(msgspec.Struct, frozen=True):
    """A CapacityBuffer."""

    namespace: str
    name: str
    pods: int
    """For how many pods it keeps room."""
    of: str
    """What these pods are like: ``PodTemplate/NAME`` or ``KIND/NAME``."""
    strategy: str
    state: str
    """``provisioned``, ``not provisioned``, or ``new`` where its autoscaler has not said anything."""
    message: str = ""


class LatestRequest(msgspec.Struct, frozen=True):
    """The latest ProvisioningRequest of a gang."""

    gang: str
    request: str
    state: str
    attempt: int
    message: str = ""
    retry_at: float = 0.0
    """When nodes are asked for again, seconds since the epoch; 0 for never."""
    kept_until: float = 0.0
    """Until when the nodes that come are kept for the gang, seconds since the epoch; 0 where none are."""
    called: str = ""
    """How people know the gang; empty where by its key."""


class AutoscalingShown(msgspec.Struct, frozen=True):
    """All that is shown."""

    asks: bool
    """Whether nodes are asked for by ProvisioningRequests."""
    requests: tuple[LatestRequest, ...] = ()
    buffers: tuple[Buffer, ...] = ()


def buffer_of(item: api.Object) -> Buffer | None:
    """A CapacityBuffer; None for what cannot be read."""
    if not isinstance(item, api.CapacityBuffer):
        return None
    spec, status, metadata = item.spec, item.status, item.metadata
    of = f"PodTemplate/{spec.pod_template_ref.name}" if spec.pod_template_ref is not None else ""
    if spec.scalable_ref is not None:
        of = f"{spec.scalable_ref.kind}/{spec.scalable_ref.name}"
    said = {one.type: one for one in status.conditions or ()}
    found = said.get("Provisioning") or said.get("Provisioned") or said.get("ReadyForProvisioning")
    done = found is not None and found.status == "True" and found.type != "ReadyForProvisioning"
    return Buffer(
        metadata.namespace,
        metadata.name,
        status.replicas if status.replicas is not None else spec.replicas or 0,
        of,
        spec.provisioning_strategy,
        "new" if found is None else "provisioned" if done else "not provisioned",
        "" if done else words_of(found),
    )

"""What is read of ProvisioningRequests, and what a gang asks for."""

from __future__ import annotations

from typing import NamedTuple

from vsched import api
from vsched.api.base import ObjectCondition, moment_of
from vsched.mirror.ingest.metadata import created_of
from vsched.writes.bodies import ObjectReference

MANAGED_BY, VSCHED = "app.kubernetes.io/managed-by", "vsched"
GANG = "vsched.io/gang"
"""The annotation of a ProvisioningRequest with the key of its gang."""
SHAPE = "vsched.io/shape"
"""The annotation with a digest of what it asks for."""
ATTEMPT = "vsched.io/attempt"
"""The annotation that counts the requests for the same gang and shape, from 1 on."""
ENDED = ("Failed", "BookingExpired", "CapacityRevoked")
"""Conditions after which no nodes are on their way for a request."""
WORDS_MAX = 300
"""So many characters are kept of what the autoscaler says."""


class OwnRequest(NamedTuple):
    """A ProvisioningRequest that vsched made."""

    gang: str
    namespace: str
    name: str
    uid: str
    shape: str
    attempt: int
    created: float
    templates: tuple[str, ...]
    class_name: str
    provisioned: float = 0.0
    """Since when its nodes are provisioned, seconds since the epoch; 0 while they are not."""
    ended: float = 0.0
    """When it came to nothing, seconds since the epoch; 0 while it has not."""
    message: str = ""
    """What the autoscaler says."""


class PodShape(NamedTuple):
    """Pods of a gang that are alike."""

    pod: str
    """The name of one of them."""
    number: int
    """How many there are."""


class LackingGang(NamedTuple):
    """A gang that nodes are to be asked for."""

    key: str
    owner: ObjectReference
    """Its PodGroup."""
    shapes: tuple[PodShape, ...]
    shape: str
    """A digest of what the pods ask for."""


def request_of(item: api.Object) -> OwnRequest | None:
    """A ProvisioningRequest of ours; None for those of others, and for what cannot be read."""
    if not isinstance(item, api.ProvisioningRequest):
        return None
    metadata = item.metadata
    annotations = metadata.annotations or {}
    if (metadata.labels or {}).get(MANAGED_BY) != VSCHED or not annotations.get(GANG) or metadata.deletion_timestamp:
        return None
    attempt = annotations.get(ATTEMPT, "")
    conditions = {one.type: one for one in item.status.conditions or () if one.status == "True"}
    over = next((conditions[kind] for kind in ENDED if kind in conditions), None)
    return OwnRequest(
        annotations[GANG],
        metadata.namespace,
        metadata.name,
        metadata.uid,
        annotations.get(SHAPE, ""),
        int(attempt) if attempt.isdecimal() else 1,
        created_of(metadata),
        tuple(one.pod_template_ref.name for one in item.spec.pod_sets or ()),
        item.spec.provisioning_class_name,
        _since(conditions.get("Provisioned"), metadata),
        _since(over, metadata),
        _says(over, item.status.conditions or ()),
    )


def _since(found: ObjectCondition | None, metadata: api.Metadata) -> float:
    """Since when a condition is true; 0 where it is not."""
    return 0.0 if found is None else moment_of(found.last_transition_time) or created_of(metadata)


def _says(over: ObjectCondition | None, conditions: list[ObjectCondition] | tuple[()]) -> str:
    """What the autoscaler says: of the end, else why nothing is provisioned yet."""
    found = over or next((one for one in conditions if one.type == "Provisioned" and one.status != "True"), None)
    return words_of(found)


def words_of(found: ObjectCondition | None) -> str:
    """What the autoscaler says by a condition, in one line; empty without one."""
    return "" if found is None else " ".join((found.message or found.reason or "").split())[:WORDS_MAX]

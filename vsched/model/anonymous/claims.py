"""Rules for volumes, devices and the claims for them.

Names of device classes stay, like names of resources: quotas and pods name both in the same way.
"""

from __future__ import annotations

from typing import Any

from vsched.model.anonymous.rules import (
    Renaming,
    Rule,
    each,
    expression,
    name,
    node,
    pairs,
    parts,
    sentence,
    shared,
    text,
    uid,
    value,
    word,
)
from vsched.model.claims.devices import (
    AllocatedDevice,
    AllocationResult,
    ClaimConsumer,
    ClaimSpec,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceId,
    DeviceModel,
    DevicePool,
    DeviceRequest,
    DeviceSelector,
    DeviceSeries,
    DeviceTaint,
    DeviceTraits,
    Version,
)
from vsched.model.claims.plan import ClaimPlan, ClaimRelease, DeviceChoice, VolumeChoice
from vsched.model.claims.volumes import Attachment, CSIDriver, StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume


def request(renaming: Renaming, found: str) -> str:
    """The name of a request; that of an extended resource, which has a domain, stays."""
    return found if "." in found else name(renaming, found)


def attribute(renaming: Renaming, found: Any) -> Any:
    """The value of an attribute: texts and versions are names, numbers and flags stay."""
    return value(renaming, found) if isinstance(found, str) else parts(renaming, found)


_QUANTITIES = pairs(name)
_COUNTERS = pairs(name, _QUANTITIES)
_CONDITIONS = dict.fromkeys(("binding_conditions", "binding_failures"), each(name))

CLAIM_RULES: dict[type, dict[str, Rule]] = {
    # claims of pods
    PodClaims: {"volumes": parts, "devices": parts, "extended": name},
    PodVolume: {"claim": name},
    PodDevices: {"name": name, "claim": name, "template": name, "group": uid},
    # volumes
    VolumeClaim: {
        "key": name,
        "uid": uid,
        "storage_class": name,
        "modes": each(word),
        "selector": parts,
        "volume": name,
        "selected_node": node,
        "owner": uid,
        "attributes_class": name,
    },
    Volume: {
        "name": name,
        "storage_class": name,
        "modes": each(word),
        "claim": name,
        "claim_uid": uid,
        "affinity": parts,
        "labels": pairs(name, value),
        "driver": name,
        "handle": text,
        "attributes_class": name,
    },
    StorageClass: {"name": name, "provisioner": name, "topologies": parts},
    CSIDriver: {"name": name},
    StorageCapacity: {"key": name, "storage_class": name, "nodes": parts},
    Attachment: {"name": name, "node": node, "driver": name, "volume": name},
    # devices
    DeviceClass: {"name": word, "selectors": parts, "extended_resource": word},
    DeviceSelector: {"expression": expression},
    DevicePool: {"driver": name, "name": value, "devices": parts, "counters": _COUNTERS, "problem": sentence},
    Device: {
        "id": parts,
        "model": shared,
        "node": node,
        "traits": shared,
    },
    DeviceTraits: {
        "nodes": parts,
        "taints": parts,
        "consumes": _COUNTERS,
        "policies": pairs(name),
        **_CONDITIONS,
    },
    DeviceId: {"driver": name, "pool": value, "device": name},
    DeviceModel: {"series": shared, "values": each(attribute)},
    DeviceSeries: {"driver": name, "names": each(name), "capacity": _QUANTITIES},
    Version: {"text": name},
    DeviceTaint: {"taint": parts},
    # claims of devices
    DeviceClaim: {
        "key": name,
        "uid": uid,
        "spec": shared,
        "allocation": parts,
        "consumers": parts,
        "failed": name,
        "owner": uid,
    },
    ClaimSpec: {"requests": parts, "constraints": parts},
    DeviceRequest: {
        "name": name,
        "device_class": word,
        "selectors": parts,
        "mode": word,
        "tolerations": parts,
        "capacity": _QUANTITIES,
    },
    DeviceConstraint: {"attribute": name, "requests": each(name)},
    ClaimConsumer: {"uid": uid, "name": name, "resource": word, "group": word},
    AllocationResult: {"devices": parts, "nodes": parts},
    AllocatedDevice: {
        "request": request,
        "device": parts,
        "share": uid,
        "consumed": _QUANTITIES,
        "tolerations": parts,
        **_CONDITIONS,
    },
    # decisions
    ClaimPlan: {
        "volumes": parts,
        "devices": parts,
        "reserve": each(name),
        "wait": each(name),
        "group": parts,
        "for_group": each(name),
    },
    VolumeChoice: {"claim": name, "uid": uid, "volume": name},
    DeviceChoice: {"claim": name, "uid": uid, "allocation": parts},
    ClaimRelease: {"claim": name, "uid": uid, "job": name, "reason": sentence},
}

"""What an external provisioner makes for a claim: the volume, where it can be used, and what it takes. Pure.

Parameters of the storage class say how the pretended provisioner behaves.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.meta.objects import duration_seconds
from vsched.cel import quantities
from vsched.errors import BadInput
from vsched.sim.controllers.volumes.objects import (
    PROVISIONED_BY,
    asked_size,
    claim_reference,
    size_of,
)

DELAY = "provisioner.vsched.io/delay"
"""How long it takes to make a volume, such as ``2s``."""
FAIL = "provisioner.vsched.io/fail"
"""Have provisioning fail with this message."""
FAIL_NODES = "provisioner.vsched.io/fail-nodes"
"""Have it fail only for claims with one of these selected nodes, separated by commas."""
TOPOLOGY = "provisioner.vsched.io/topology"
"""The node label that says where a volume can be used; by default that of the driver on the node, or the zone."""
CAPACITY = "provisioner.vsched.io/capacity"
"""Attribute of a volume: the CSIStorageCapacity (``namespace/name``) that it was taken from."""
ZONE = "topology.kubernetes.io/zone"

Segment = tuple[tuple[str, str], ...]
"""Labels of the nodes that can use a volume; empty for all nodes."""


@dataclass(frozen=True, slots=True)
class ProvisioningRefused(Exception):
    """A volume cannot be made; the message is that of the Event."""

    message: str


def delay_of(storage_class: Obj, default_seconds: float) -> float:
    """How long provisioning takes; raises ProvisioningRefused for a parameter that is no duration."""
    text = _parameters(storage_class).get(DELAY)
    if text is None:
        return default_seconds
    try:
        return duration_seconds(text)
    except BadInput as error:
        raise ProvisioningRefused(f"parameter {DELAY}: {error}") from None


def check_fails(storage_class: Obj, node: str) -> None:
    """Raises ProvisioningRefused if the parameters of the class say so for claims of this node."""
    parameters = _parameters(storage_class)
    nodes = [each.strip() for each in parameters.get(FAIL_NODES, "").split(",") if each.strip()]
    if (FAIL in parameters or nodes) and (not nodes or node in nodes):
        raise ProvisioningRefused(parameters.get(FAIL) or f"no volume can be made for node {node}")


def _parameters(storage_class: Obj) -> dict[str, str]:
    return storage_class.get("parameters") or {}


def topology_keys(storage_class: Obj, csi_node: Obj | None, capacity: Obj | None = None) -> tuple[str, ...]:
    """The labels of nodes that say where a volume can be used; ``capacity`` is what it is taken from."""
    asked = _parameters(storage_class).get(TOPOLOGY)
    if asked:
        return (asked,)
    for driver in ((csi_node or {}).get("spec") or {}).get("drivers") or ():
        if driver["name"] == storage_class["provisioner"] and driver.get("topologyKeys"):
            return tuple(driver["topologyKeys"])
    place = ((capacity or {}).get("nodeTopology") or {}).get("matchLabels")
    if place:
        return tuple(place)
    terms = storage_class.get("allowedTopologies") or ()
    keys = {each["key"]: None for term in terms for each in term.get("matchLabelExpressions") or ()}
    return tuple(keys) or (ZONE,)


def segment_of(node: Obj, keys: Sequence[str]) -> Segment:
    """Where volumes that are made for a node can be used; labels that the node has not do not count."""
    labels = node["metadata"].get("labels") or {}
    return tuple((key, labels[key]) for key in keys if key in labels)


def is_allowed(storage_class: Obj, labels: Mapping[str, str]) -> bool:
    """Whether nodes with these labels are in the allowedTopologies of the class."""
    terms = storage_class.get("allowedTopologies")
    return not terms or any(
        all(labels.get(each["key"]) in each["values"] for each in term.get("matchLabelExpressions") or ())
        for term in terms
    )


def choose_segment(storage_class: Obj, claim: Obj, segments: Iterable[Segment]) -> Segment:
    """Where to make a volume for a claim without a node: any place that is allowed, in turn by the claim's uid."""
    allowed = sorted(segment for segment in segments if is_allowed(storage_class, dict(segment)))
    if not allowed:
        if storage_class.get("allowedTopologies"):
            raise ProvisioningRefused("error generating accessibility requirements: no topology key found on any node")
        return ()
    return allowed[zlib.crc32(claim["metadata"]["uid"].encode()) % len(allowed)]


def capacity_for(claim: Obj, labels: Mapping[str, str], capacities: Iterable[Obj]) -> Obj:
    """The CSIStorageCapacity that a volume for nodes with these labels is taken from.

    Raises ProvisioningRefused if none has room.
    """
    found = [each for each in capacities if matches_label_selector(each.get("nodeTopology"), labels)]
    size = asked_size(claim)
    for each in sorted(found, key=lambda each: each["metadata"]["name"]):
        largest = each.get("maximumVolumeSize")
        if (largest is None or quantities.amount(largest) >= size) and free_of(each) >= size:
            return each
    raise ProvisioningRefused("rpc error: code = ResourceExhausted desc = not enough free storage")


def free_of(capacity: Obj) -> Decimal:
    return quantities.amount(capacity.get("capacity", "0"))


def with_free(capacity: Obj, amount: Decimal) -> Obj:
    """The CSIStorageCapacity with another amount, which is written in the style of the old one."""
    difference = amount - free_of(capacity)
    return {**capacity, "capacity": quantities.total([capacity.get("capacity", "0"), str(difference)])}


def volume_for(claim: Obj, storage_class: Obj, segment: Segment, capacity: Obj | None) -> Obj:
    """The volume that is made for a claim."""
    name, driver = volume_name(claim), storage_class["provisioner"]
    attributes = {}
    if capacity is not None:
        attributes[CAPACITY] = f"{capacity['metadata']['namespace']}/{capacity['metadata']['name']}"
    spec: Obj = {
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "accessModes": claim["spec"]["accessModes"],
        "claimRef": claim_reference(claim),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "storageClassName": storage_class["metadata"]["name"],
        "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
        "csi": {"driver": driver, "volumeHandle": name, **({"volumeAttributes": attributes} if attributes else {})},
    }
    if storage_class.get("mountOptions"):
        spec["mountOptions"] = storage_class["mountOptions"]
    if segment:
        expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in segment]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    metadata = {"name": name, "annotations": {PROVISIONED_BY: driver}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def volume_name(claim: Obj) -> str:
    return f"pvc-{claim['metadata']['uid']}"


def taken_from(volume: Obj) -> tuple[str, Decimal]:
    """The CSIStorageCapacity (``namespace/name``) that a volume was taken from, and how much; empty for none."""
    attributes = (volume["spec"].get("csi") or {}).get("volumeAttributes") or {}
    return attributes.get(CAPACITY, ""), size_of(volume)

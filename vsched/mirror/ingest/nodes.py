"""Nodes to the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vsched import api
from vsched.api.base import ResourceList
from vsched.errors import BadObject
from vsched.mirror.ingest.amounts import amounts_of
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.bounds import IMAGES_MAX, LABELS_MAX, TAINTS_MAX, bounded, read
from vsched.mirror.ingest.device_overlaps import overlap_of
from vsched.mirror.ingest.deviceshare import HANDSHAKE, REGISTER, node_devices_of, offered_by
from vsched.mirror.ingest.metadata import BOOLEANS, created_of, naming, scheduling_annotations
from vsched.mirror.ingest.words import nodes as words
from vsched.model.amounts.quantity import MOST
from vsched.model.amounts.resources import NOTHING, Amounts, ResourceAxis, plus
from vsched.model.deviceshare.records import NodeDevices
from vsched.model.names import shared
from vsched.model.nodes.table import NodeAttributes, Taint

OVERSUBSCRIPTION = "volcano.sh/oversubscription"
OVERSUBSCRIBED = {
    "volcano.sh/oversubscription-cpu": ("cpu", "m"),
    "volcano.sh/oversubscription-memory": ("memory", ""),
}
"""Annotations with lent amounts, milli-cores and bytes: the resource, and the suffix that makes the number one."""

READ_ELSEWHERE = (OVERSUBSCRIPTION, REGISTER, HANDSHAKE)
"""Beginnings of annotations that are no attributes: device plugins write theirs every half minute."""

_NONE: Mapping[str, str] = {}


class NodeFacts(NamedTuple):
    """A node's attributes and what it has to give."""

    attributes: NodeAttributes
    allocatable: Amounts
    devices: tuple[NodeDevices, ...] = ()
    """Its shared devices."""


def node_of(node: api.Node, axis: ResourceAxis, remarks: Remarks | None = None) -> NodeFacts:
    """What a Node says; raises BadObject. ``remarks`` gets a line for devices that cannot be read or count twice."""
    metadata, spec = node.metadata, node.spec
    with naming("Node", metadata):
        read(metadata.labels, LABELS_MAX, "metadata.labels")
        read(spec.taints, TAINTS_MAX, "spec.taints")
        bounded(sum(len(image.names or ()) for image in node.status.images or ()), IMAGES_MAX, "status.images")
        remarks = [] if remarks is None else remarks
        devices = node_devices_of(node, remarks)
        offered = node.status.allocatable
        if devices:
            offered = {**(offered or {}), **offered_by(devices, offered or {})}
            overlap = overlap_of(node, devices)
            if overlap:
                remarks.append(overlap)
        allocatable = amounts_of(axis, offered, "status.allocatable")
        lent = _oversubscribed(metadata, axis)
    attributes = NodeAttributes(
        name=shared(metadata.name),
        labels={shared(key): shared(value) for key, value in (metadata.labels or _NONE).items()},
        taints=tuple(Taint(taint.key, taint.value or "", taint.effect) for taint in spec.taints or ()),
        unschedulable=bool(spec.unschedulable),
        images={
            shared(name): image.size_bytes or 0 for image in node.status.images or () for name in image.names or ()
        },
        annotations={
            key: value for key, value in scheduling_annotations(metadata) if not key.startswith(READ_ELSEWHERE)
        },
        created=created_of(metadata),
    )
    amounts = plus(allocatable, lent) if lent else allocatable
    return NodeFacts(attributes, tuple((column, min(value, MOST)) for column, value in amounts), devices)


def _oversubscribed(metadata: api.Metadata, axis: ResourceAxis) -> Amounts:
    if BOOLEANS.get((metadata.labels or _NONE).get(OVERSUBSCRIPTION, "")) is not True:
        return NOTHING
    annotations = metadata.annotations or _NONE
    lent: ResourceList = {}
    for key, (resource, suffix) in OVERSUBSCRIBED.items():
        text = annotations.get(key)
        if text is not None:
            if not text.isdecimal():
                raise BadObject(words.annotation_not_whole(key, text))
            lent[resource] = text + suffix
    return amounts_of(axis, lent, "metadata.annotations")

"""Groups of equal nodes, as a YAML description has them; ``vsched cluster --help`` shows one with every key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from vsched.apimachinery.manifests.documents import Manifest
from vsched.apimachinery.meta.kinds import Obj
from vsched.errors import BadInput

DEFAULT_CAPACITY = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "512Gi", "pods": "110"}
DEFAULT_ZONES = ("zone-a", "zone-b", "zone-c")
REGION = "local"
MAX_NODES = 100_000

VOLUME_LIMITS = "vsched.io/volume-limits"
"""Annotation of a node: ``csi.example.com=8``, several separated by commas."""
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """Nodes that differ only in name and zone."""

    count: int
    prefix: str = "node-"
    start: int = 0
    """The number of the first one."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    taints: list[Obj] = field(default_factory=list)
    capacity: dict[str, str] = field(default_factory=dict)
    """Overrides the default of 32 cpu, 128Gi and 110 pods."""
    allocatable: dict[str, str] = field(default_factory=dict)
    """Overrides the capacity."""
    volumes: dict[str, str] = field(default_factory=dict)
    """How many volumes of each CSI driver can be attached to a node; a CSINode says so."""
    zones: list[str] = field(default_factory=lambda: list(DEFAULT_ZONES))
    """Taken in turn; empty for nodes without a zone."""


def entries_of(document: Manifest) -> Iterator[tuple[str, Obj]]:
    """The groups and Nodes of a document, with their places."""
    content: Any = document.obj
    if isinstance(content, dict) and content.get("kind") in ("List", "NodeList"):
        content = content.get("items")
    if isinstance(content, dict) and isinstance(content.get("groups"), list):
        content = content["groups"]
    listed = isinstance(content, list)
    for index, entry in enumerate(content if listed else [content]):
        where = f"{document.where}[{index}]" if listed else document.where
        if not isinstance(entry, dict):
            raise BadInput(f"{where}: expected a group of nodes (a mapping with count) or a Node, found {entry!r}")
        yield where, entry


def group_of(where: str, entry: Obj) -> FleetGroup:
    """A group of nodes as a mapping describes it; raises BadInput with the place of what is wrong."""
    known = {each.name for each in fields(FleetGroup)}
    for name in entry:
        if name not in known:
            raise BadInput(f"{where}: unknown key {name!r}: expected some of {', '.join(sorted(known))}")
    count = entry.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_NODES:
        raise BadInput(f"{where}: count is {count!r}: expected a number from 0 to {MAX_NODES}")
    start = entry.get("start", 0)
    if not isinstance(start, int) or start < 0:
        raise BadInput(f"{where}: start is {start!r}: expected a number from 0 on")
    zones = entry.get("zones", list(DEFAULT_ZONES))
    if not isinstance(zones, list) or not all(isinstance(zone, str) for zone in zones):
        raise BadInput(f"{where}: zones is {zones!r}: expected a list of names")
    maps = {
        name: _texts(f"{where}: {name}", entry.get(name))
        for name in ("labels", "annotations", "capacity", "allocatable", "volumes")
    }
    for driver, most in maps["volumes"].items():
        if not most.isdecimal():
            raise BadInput(f"{where}: volumes: {driver} is {most!r}: expected a number of volumes")
    taints = [_taint(f"{where}: taints[{index}]", each) for index, each in enumerate(_list(where, entry.get("taints")))]
    return FleetGroup(count, str(entry.get("prefix", "node-")), start, taints=taints, zones=zones, **maps)


def _texts(where: str, value: Any) -> dict[str, str]:
    """A mapping of plain values, as texts; YAML reads quantities such as 32 as numbers."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or any(isinstance(each, (dict, list)) for each in value.values()):
        raise BadInput(f"{where}: expected a mapping of plain values, found {value!r}")
    return {str(key): _text(each) for key, each in value.items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list(where: str, value: Any) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise BadInput(f"{where}: taints is {value!r}: expected a list")
    return value or []


def _taint(where: str, value: Any) -> Obj:
    """``key=value:Effect`` as kubectl writes it, or the object."""
    taint = value
    if isinstance(value, str):
        left, _, effect = value.rpartition(":")
        key, _, text = left.partition("=")
        taint = {"key": key, **({"value": text} if text else {}), "effect": effect}
    if not isinstance(taint, dict) or not taint.get("key") or taint.get("effect") not in _EFFECTS:
        raise BadInput(f"{where}: {value!r}: expected key=value:Effect with an effect of {', '.join(_EFFECTS)}")
    return taint


def node_of(group: FleetGroup, index: int) -> Obj:
    """A node of a group, as it is before a kubelet tells of it."""
    name = f"{group.prefix}{group.start + index}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "sim",
    }
    if group.zones:
        labels["topology.kubernetes.io/region"] = REGION
        labels["topology.kubernetes.io/zone"] = group.zones[index % len(group.zones)]
    metadata: Obj = {"name": name, "labels": {**labels, **group.labels}}
    annotations = dict(group.annotations)
    if group.volumes:
        annotations[VOLUME_LIMITS] = ",".join(f"{driver}={count}" for driver, count in group.volumes.items())
    if annotations:
        metadata["annotations"] = annotations
    capacity = {**DEFAULT_CAPACITY, **group.capacity}
    node: Obj = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}}
    if group.taints:
        node["spec"]["taints"] = group.taints
    node["status"] = {"capacity": capacity, "allocatable": {**capacity, **group.allocatable}}
    return node

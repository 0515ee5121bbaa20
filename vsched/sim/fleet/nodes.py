"""Fleets: the nodes of an embedded cluster, from a number or from a YAML description.

A description is a list (or several documents) of groups and of plain Node objects; ``vsched cluster --help`` shows one
with every key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import utc_now
from vsched.errors import BadInput
from vsched.sim.controllers.nodes.kubelet import Addresses
from vsched.sim.controllers.nodes.node_status import ready_status
from vsched.sim.controllers.pod_usage import usage_problem
from vsched.sim.controllers.volumes.csi_nodes import VOLUME_LIMITS, volume_limits
from vsched.sim.manifests import Manifest, read_documents

DEFAULT_CAPACITY = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "512Gi", "pods": "110"}
DEFAULT_ZONES = ("zone-a", "zone-b", "zone-c")
REGION = "local"
MAX_NODES = 100_000

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


def uniform_fleet(count: int) -> list[Obj]:
    """So many nodes with the defaults."""
    if not 0 <= count <= MAX_NODES:
        raise BadInput(f"{count} nodes: expected 0 to {MAX_NODES}")
    return fleet([FleetGroup(count)])


def fleet(groups: list[FleetGroup], now: datetime | None = None) -> list[Obj]:
    """The Node manifests of all groups, with their kubelets up."""
    moment, address = now or utc_now(), Addresses(172, 16, 16)
    return [_node(group, index, address(), moment) for group in groups for index in range(group.count)]


def read_fleet(path: Path, now: datetime | None = None) -> list[Obj]:
    """The nodes of a file; raises BadInput with file and place for an invalid one."""
    nodes: list[Obj] = []
    found = [each for document in read_documents(path) for each in entries_of(document)]
    if not found:
        raise BadInput(f"{path}: nothing in it (expected groups of nodes, or Nodes)")
    for where, entry in found:
        if entry.get("kind") == "Node":
            nodes.append(_plain_node(where, entry))
        else:
            nodes += fleet([group_of(where, entry)], now)
    _no_doubles(path, nodes)
    return nodes


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
    _check_volumes(where, maps["volumes"], maps["annotations"])
    if problem := usage_problem({"metadata": {"annotations": maps["annotations"]}}):
        raise BadInput(f"{where}: {problem}")
    taints = [_taint(f"{where}: taints[{index}]", each) for index, each in enumerate(_list(where, entry.get("taints")))]
    return FleetGroup(count, str(entry.get("prefix", "node-")), start, taints=taints, zones=zones, **maps)


def _check_volumes(where: str, volumes: dict[str, str], annotations: dict[str, str]) -> None:
    for driver, most in volumes.items():
        if not most.isdecimal():
            raise BadInput(f"{where}: volumes: {driver} is {most!r}: expected a number of volumes")
    if VOLUME_LIMITS in annotations:
        try:
            volume_limits(annotations[VOLUME_LIMITS])
        except BadInput as error:
            raise BadInput(f"{where}: annotation {VOLUME_LIMITS}: {error}") from None


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


def _node(group: FleetGroup, index: int, address: str, now: datetime) -> Obj:
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
    node["status"] = ready_status(node, address, "v1.36.2", now)
    return node


def _plain_node(where: str, entry: Obj) -> Obj:
    metadata = entry.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise BadInput(f"{where}: a Node without metadata.name")
    return {"apiVersion": "v1", **entry, "spec": entry.get("spec") or {}}


def _no_doubles(path: Path, nodes: list[Obj]) -> None:
    seen: set[str] = set()
    for node in nodes:
        name = node["metadata"]["name"]
        if name in seen:
            raise BadInput(f"{path}: two nodes are called {name!r}: give the groups different prefixes or starts")
        seen.add(name)

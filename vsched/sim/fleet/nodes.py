"""Fleets: the nodes of an embedded cluster, from a number or from a YAML description.

A description is a list (or several documents) of groups and of plain Node objects; ``vsched cluster --help`` shows one
with every key.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from vsched.apimachinery.manifests.documents import read_documents
from vsched.apimachinery.manifests.node_groups import (
    MAX_NODES,
    VOLUME_LIMITS,
    FleetGroup,
    entries_of,
    group_of,
    node_of,
)
from vsched.apimachinery.manifests.node_pools import PoolDescription, pool_of
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import utc_now
from vsched.errors import BadInput
from vsched.sim.controllers.nodes.kubelet import Addresses
from vsched.sim.controllers.nodes.node_status import ready_status
from vsched.sim.controllers.pod_usage import usage_problem
from vsched.sim.controllers.volumes.csi_nodes import volume_limits


def uniform_fleet(count: int) -> list[Obj]:
    """So many nodes with the defaults."""
    if not 0 <= count <= MAX_NODES:
        raise BadInput(f"{count} nodes: expected 0 to {MAX_NODES}")
    return fleet([FleetGroup(count)])


def fleet(groups: list[FleetGroup], now: datetime | None = None) -> list[Obj]:
    """The Node manifests of all groups, with their kubelets up."""
    moment, address = now or utc_now(), Addresses(172, 16, 16)
    return [_ready(node_of(group, index), address(), moment) for group in groups for index in range(group.count)]


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
            group = group_of(where, entry)
            check_annotations(where, group.annotations)
            nodes += fleet([group], now)
    _no_doubles(path, nodes)
    return nodes


def check_annotations(where: str, annotations: Mapping[str, str]) -> None:
    """Raise BadInput for annotations that say something wrong to the embedded cluster."""
    if VOLUME_LIMITS in annotations:
        try:
            volume_limits(annotations[VOLUME_LIMITS])
        except BadInput as error:
            raise BadInput(f"{where}: annotation {VOLUME_LIMITS}: {error}") from None
    if problem := usage_problem({"metadata": {"annotations": annotations}}):
        raise BadInput(f"{where}: {problem}")


def _ready(node: Obj, address: str, now: datetime) -> Obj:
    return {**node, "status": ready_status(node, address, "v1.36.2", now)}


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


def read_pools(path: Path) -> tuple[PoolDescription, ...]:
    """The pools of a file; raises BadInput with file and place for an invalid one."""
    found = [each for document in read_documents(path) for each in entries_of(document)]
    if not found:
        raise BadInput(f"{path}: nothing in it (expected a list of node pools)")
    pools = tuple(pool_of(where, entry) for where, entry in found)
    for (where, _), pool in zip(found, pools, strict=True):
        check_annotations(where, pool.templates[0]["metadata"].get("annotations") or {})
    names = [pool.name for pool in pools]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path}: two pools are called {name!r}")
    return pools

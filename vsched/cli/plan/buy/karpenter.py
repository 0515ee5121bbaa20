"""Karpenter's NodePools (``karpenter.sh/v1``) as pools, where what they say is enough to know their nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vsched.api.autoscaling import NodePoolSpec
from vsched.cli.plan.buy import words
from vsched.errors import BadInput, BadQuantity, why_unreadable
from vsched.explain.edits.nodes import PoolNode
from vsched.explain.menu.records import OfferedPool
from vsched.mirror.ingest.node_pools import pool_of
from vsched.model.amounts.resources import parse_amount
from vsched.model.deviceshare.records import NodeDevices
from vsched.model.nodes.pools import NodePool, PoolRequirement
from vsched.model.nodes.table import NodeAttributes, NodeTable
from vsched.model.snapshot import Snapshot

Obj = dict[str, Any]
NODE_POOL = "NodePool"
OWNER = "karpenter.sh/nodepool"
"""The label of nodes that a NodePool made."""
TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
OF_TYPE = ("kubernetes.io/os", "kubernetes.io/arch", "karpenter.k8s.aws/", "karpenter.azure.com/", TYPE)
"""Labels, or beginnings of labels, that all nodes of an instance type have."""
CPU, MEMORY = "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-memory"
GPUS, GPU_MAKER = "karpenter.k8s.aws/instance-gpu-count", "karpenter.k8s.aws/instance-gpu-manufacturer"
MIB = 1 << 20
POD_SLOTS = 110
TYPES_MAX = 8
"""The most instance types of one NodePool that are offered."""


def node_pools(where: str, found: Obj, snapshot: Snapshot) -> list[OfferedPool]:
    """A pool for each instance type of a NodePool whose nodes are known; raises BadInput with the place."""
    name = (found.get("metadata") or {}).get("name")
    if not isinstance(name, str) or not name:
        raise BadInput(words.no_name(where))
    if found.get("apiVersion") != "karpenter.sh/v1":
        raise BadInput(words.other_version(where, name, found.get("apiVersion")))
    try:
        spec = msgspec.convert(found.get("spec"), NodePoolSpec)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: NodePool {name}: spec: {why_unreadable(error)}") from None
    return pools_of(where, pool_of(name, spec), snapshot)


def pools_of(where: str, found: NodePool, snapshot: Snapshot) -> list[OfferedPool]:
    """The same of a NodePool that was read."""
    name, asked = found.name, _values(found.requirements)
    labels = found.labels | {key: values[0] for key, values in asked.items() if len(values) == 1} | {OWNER: name}
    kinds = _kinds(asked, snapshot, name)
    if not kinds:
        return [OfferedPool(name, NODE_POOL, problem=words.REQUIREMENTS_SAY_NOT)]
    rows = [row for row, one in enumerate(snapshot.nodes.statics.attributes) if one.labels.get(OWNER) == name]
    pools = []
    for title, of_type, amounts in kinds[:TYPES_MAX]:
        devices = devices_of(snapshot, of_type) if TYPE in of_type else ()
        zones = [{ZONE: zone} for zone in asked.get(ZONE, ())] or [{}]
        nodes = tuple(PoolNode(of_type | labels | zone, found.taints, amounts, devices) for zone in zones)
        room = _room(f"{where}: NodePool {name}", found.limits, snapshot.nodes, rows, amounts)
        pools.append(OfferedPool(name if len(kinds) == 1 else f"{name}/{title}", NODE_POOL, nodes, room=room))
    return pools


def devices_of(snapshot: Snapshot, labels: Mapping[str, str]) -> tuple[NodeDevices, ...]:
    """The shared devices of the first node with these labels that registers any; empty where there is none."""
    found, row_of = snapshot.device_shares.nodes, snapshot.nodes.statics.row
    rows = (row_of[name] for name in sorted(found) if name in row_of)
    attributes = snapshot.nodes.statics.attributes
    like = next((attributes[row].name for row in rows if labels.items() <= attributes[row].labels.items()), None)
    return () if like is None else found[like]


def _values(requirements: Sequence[PoolRequirement]) -> dict[str, tuple[str, ...]]:
    """The values that requirements with ``In`` allow, by key."""
    return {one.key: one.values for one in requirements if one.operator == "In" and one.values}


def _kinds(
    asked: Mapping[str, Sequence[str]], snapshot: Snapshot, name: str
) -> list[tuple[str, dict[str, str], dict[str, int]]]:
    """The instance types whose amounts are known: a name, the labels of the type, the amounts.

    They are known from nodes of the type, or from requirements that leave one number of cpus and one amount of memory.
    """
    table = snapshot.nodes
    found: dict[str, tuple[str, dict[str, str], dict[str, int]]] = {}
    for row, one in enumerate(table.statics.attributes):
        kind = one.labels.get(TYPE, "")
        of_pool, wanted = one.labels.get(OWNER) == name, kind in asked.get(TYPE, ())
        if kind and kind not in found and (wanted or (of_pool and TYPE not in asked)):
            amounts = {
                resource: int(table.allocatable[column, row]) for column, resource in enumerate(table.axis.names)
            }
            found[kind] = kind, _of_type(one), amounts
    if found:
        return [found[kind] for kind in sorted(found)]
    cpus, memory = asked.get(CPU, ()), asked.get(MEMORY, ())
    if len(cpus) != 1 or len(memory) != 1 or not (cpus[0].isdecimal() and memory[0].isdecimal()):
        return []
    amounts = {"cpu": int(cpus[0]) * 1000, "memory": int(memory[0]) * MIB, "pods": POD_SLOTS}
    gpus = asked.get(GPUS, ())
    if len(gpus) == 1 and gpus[0].isdecimal() and list(asked.get(GPU_MAKER, ())) == ["nvidia"]:
        amounts["nvidia.com/gpu"] = int(gpus[0]) * 1000
    return [("", {"kubernetes.io/os": "linux"}, amounts)]


def _of_type(one: NodeAttributes) -> dict[str, str]:
    return {key: value for key, value in one.labels.items() if key.startswith(OF_TYPE)}


def _room(
    where: str, limits: Mapping[str, object], table: NodeTable, rows: Sequence[int], each: Mapping[str, int]
) -> int | None:
    """How many more nodes of one kind the limits of a NodePool allow beside those at ``rows``; None for no limit."""
    rooms = []
    for resource, limit in limits.items():
        try:
            if resource == "nodes":
                rooms.append(int(str(limit)) - len(rows))
            elif each.get(resource):
                column = table.axis.find(resource)
                used = 0 if column is None else sum(int(table.allocatable[column, row]) for row in rows)
                rooms.append((parse_amount(resource, limit) - used) // each[resource])
        except (BadQuantity, ValueError) as error:
            raise BadInput(f"{where}: spec.limits: {error}") from None
    return max(0, min(rooms)) if rooms else None

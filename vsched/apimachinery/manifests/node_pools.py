"""Node pools: nodes that may be added, as a YAML description has them; ``vsched cluster --help`` shows one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from vsched.apimachinery.manifests.node_groups import MAX_NODES, group_of, node_of
from vsched.apimachinery.meta.kinds import Obj
from vsched.errors import BadInput
from vsched.model.amounts.durations import parse_duration

_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_OWN = ("name", "min", "max", "delay", "idle", "price", "outOfStock")
POOL = "vsched.io/node-pool"
"""The label of nodes that a pool added."""


@dataclass(frozen=True, slots=True)
class PoolDescription:
    """Nodes of one kind that can be added, and how many."""

    name: str
    templates: tuple[Obj, ...]
    """A Node for each zone; added nodes take them in turn."""
    least: int = 0
    """How many nodes it always has."""
    most: int = 10
    delay: float = 0.0
    """From the decision until a node is there, seconds."""
    idle: float | None = None
    """After how long a node without pods is removed, seconds; None for never."""
    price: float = 0.0
    """Of several pools the cheapest is taken, of equal ones the first."""
    out_of_stock: str = ""
    """Why no node can be had now; empty where nodes can be had."""

    def node(self, number: int) -> Obj:
        """The Node with this number, as it is created."""
        template = self.templates[number % len(self.templates)]
        name = f"{self.name}-{number}"
        labels = {**(template["metadata"].get("labels") or {}), "kubernetes.io/hostname": name, POOL: self.name}
        return {**template, "metadata": {**template["metadata"], "name": name, "labels": labels}}


def pool_of(where: str, entry: Obj) -> PoolDescription:
    """A pool as a mapping describes it; raises BadInput with the place of what is wrong."""
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise BadInput(f"{where}: name is {name!r}: expected the name of a pool")
    nodes = {key: value for key, value in entry.items() if key not in _OWN}
    for key in ("count", "prefix", "start"):
        if key in nodes:
            raise BadInput(f"{where}: {key} has no meaning for a pool: expected min and max, nodes are named after it")
    group = group_of(where, {"count": 1, **nodes})
    group = replace(group, labels={_INSTANCE_TYPE: name, **group.labels}, prefix=f"{name}-")
    zones = group.zones or [""]
    templates = [node_of(replace(group, zones=[zone] if zone else []), 0) for zone in zones]
    least, most = (_count(where, entry, key, default) for key, default in (("min", 0), ("max", 10)))
    if least > most:
        raise BadInput(f"{where}: min is {least}: expected at most max, {most}")
    idle = entry.get("idle")
    return PoolDescription(
        name,
        tuple(templates),
        least,
        most,
        _seconds(where, "delay", entry.get("delay", "0s")),
        None if idle is None else _seconds(where, "idle", idle),
        _price(where, entry.get("price", 0)),
        str(entry.get("outOfStock") or ""),
    )


def _count(where: str, entry: Obj, key: str, default: int) -> int:
    value = entry.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_NODES:
        raise BadInput(f"{where}: {key} is {value!r}: expected a number of nodes from 0 to {MAX_NODES}")
    return value


def _seconds(where: str, key: str, value: Any) -> float:
    seconds = parse_duration(str(value))
    if seconds is None or seconds < 0:
        raise BadInput(f"{where}: {key} is {value!r}: expected a time such as 30s or 5m")
    return seconds


def _price(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise BadInput(f"{where}: price is {value!r}: expected a number")
    return float(value)

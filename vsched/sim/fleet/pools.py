"""The node pools of an embedded cluster, from a YAML description; ``vsched cluster --help`` shows one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from vsched.apimachinery.meta.kinds import Obj
from vsched.errors import BadInput
from vsched.model.amounts.durations import parse_duration
from vsched.sim.controllers.autoscaling.pools import SimulatedPool
from vsched.sim.fleet.nodes import MAX_NODES, entries_of, fleet, group_of
from vsched.sim.manifests import read_documents

_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_OWN = ("name", "min", "max", "delay", "idle", "price", "outOfStock")


def read_pools(path: Path) -> tuple[SimulatedPool, ...]:
    """The pools of a file; raises BadInput with file and place for an invalid one."""
    found = [each for document in read_documents(path) for each in entries_of(document)]
    if not found:
        raise BadInput(f"{path}: nothing in it (expected a list of node pools)")
    pools = tuple(pool_of(where, entry) for where, entry in found)
    names = [pool.name for pool in pools]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path}: two pools are called {name!r}")
    return pools


def pool_of(where: str, entry: Obj) -> SimulatedPool:
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
    templates = [fleet([replace(group, zones=[zone] if zone else [])])[0] for zone in zones]
    least, most = (_count(where, entry, key, default) for key, default in (("min", 0), ("max", 10)))
    if least > most:
        raise BadInput(f"{where}: min is {least}: expected at most max, {most}")
    idle = entry.get("idle")
    return SimulatedPool(
        name,
        tuple(_as_added(template) for template in templates),
        least,
        most,
        _seconds(where, "delay", entry.get("delay", "0s")),
        None if idle is None else _seconds(where, "idle", idle),
        _price(where, entry.get("price", 0)),
        str(entry.get("outOfStock") or ""),
    )


def _as_added(template: Obj) -> Obj:
    """Without conditions: the kubelet of an added node gives it those."""
    status = {key: template["status"][key] for key in ("capacity", "allocatable")}
    return {**template, "status": status}


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

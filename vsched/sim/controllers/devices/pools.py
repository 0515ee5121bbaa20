"""What a pretended driver publishes: the devices of pools, as slices. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import orjson

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.controllers.devices.objects import API_VERSION

MOST_DEVICES, MOST_SPECIAL_DEVICES = 128, 64
"""Devices of a slice; fewer if any of them has taints or takes from counters."""
PUBLISHED_FOR = "vsched.io/published-for"
"""Annotation of the slices of this driver: the node that they are of; empty for the devices of all nodes."""
CONTENT = "vsched.io/published-content"
"""Annotation: a digest of what was published, so that changes by hand stay until the file changes."""


@dataclass(frozen=True, slots=True)
class DriverDevices:
    """Devices that a driver has on some nodes, or for all of them."""

    driver: str
    nodes: tuple[str, ...] = ("*",)
    """Names of nodes, with wildcards. Each of them has a pool of its own."""
    shared: bool = False
    """One pool, whose devices all nodes can use."""
    pool: str = ""
    """The name of the pool; by default that of its node."""
    devices: tuple[Obj, ...] = ()
    """As in the API; ``{node}`` in a text stands for the name of the node."""
    counters: tuple[Obj, ...] = ()
    binding_seconds: float = 0.05
    """How long the driver takes until the binding conditions of its devices hold."""
    binding_failure: str = ""
    """Have binding fail with this message."""

    def is_on(self, node: str) -> bool:
        """Whether a node has these devices of its own."""
        return not self.shared and any(fnmatchcase(node, pattern) for pattern in self.nodes)


@dataclass(frozen=True, slots=True)
class PoolSlices:
    """The slices of one pool, without generation and count."""

    driver: str
    pool: str
    specs: tuple[Obj, ...]

    def content(self, number: int) -> str:
        """A digest of one of the slices; it also changes with the number of slices."""
        data = orjson.dumps([self.specs[number], len(self.specs)], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(data).hexdigest()[:16]

    def name(self, number: int, node: str) -> str:
        parts = (node, self.driver, self.pool if self.pool != node else "", str(number))
        return "-".join(part for part in parts if part)


def slices_on(pools: Sequence[DriverDevices], node: str) -> list[PoolSlices]:
    """The slices of a node; with an empty name those of the devices that all nodes share."""
    found: dict[tuple[str, str], list[DriverDevices]] = {}
    for each in pools:
        if each.is_on(node) if node else each.shared:
            found.setdefault((each.driver, each.pool or node or "shared"), []).append(each)
    place: Obj = {"nodeName": node} if node else {"allNodes": True}
    return [
        PoolSlices(driver, pool, tuple({**part, **place, "driver": driver} for part in _parts(parts, node)))
        for (driver, pool), parts in found.items()
    ]


def _parts(pools: Sequence[DriverDevices], node: str) -> Iterator[Obj]:
    counters = [filled(each, {"node": node}) for pool in pools for each in pool.counters]
    devices = [filled(each, {"node": node}) for pool in pools for each in pool.devices]
    if counters:
        yield {"sharedCounters": counters}
    special = any(each.get("taints") or each.get("consumesCounters") for each in devices)
    most = MOST_SPECIAL_DEVICES if special else MOST_DEVICES
    for start in range(0, len(devices), most):
        yield {"devices": devices[start : start + most]}


def filled(value: Any, words: Mapping[str, str]) -> Any:
    """A copy in which ``{word}`` is replaced in every text and key."""
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(f"{{{word}}}", text)
        return value
    if isinstance(value, dict):
        return {filled(key, words): filled(each, words) for key, each in value.items()}
    return [filled(each, words) for each in value] if isinstance(value, list) else value


def slice_object(slices: PoolSlices, number: int, node: Obj | None, generation: int, now: str) -> Obj:
    """One of the slices of a pool; the node owns those of its own devices. Taints begin now."""
    name = node["metadata"]["name"] if node else ""
    metadata: Obj = {
        "name": slices.name(number, name),
        "annotations": {PUBLISHED_FOR: name, CONTENT: slices.content(number)},
    }
    if node is not None:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"], "controller": True}
        metadata["ownerReferences"] = [owner]
    spec = {**slices.specs[number]}
    if "devices" in spec:
        spec["devices"] = [_with_times(each, now) for each in spec["devices"]]
    spec["pool"] = {"name": slices.pool, "generation": generation, "resourceSliceCount": len(slices.specs)}
    return {"apiVersion": API_VERSION, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def _with_times(device: Obj, now: str) -> Obj:
    if not device.get("taints"):
        return device
    return {**device, "taints": [{"timeAdded": now, **each} for each in device["taints"]]}


def with_old_times(new: Obj, old: Obj) -> Obj:
    """A slice that replaces another: taints that were there before keep their time."""
    before = {
        (device["name"], each["key"], each.get("value", ""), each["effect"]): each.get("timeAdded")
        for device in old["spec"].get("devices") or ()
        for each in device.get("taints") or ()
    }
    devices = []
    for device in new["spec"].get("devices") or ():
        taints = [
            {**each, "timeAdded": before.get((device["name"], each["key"], each.get("value", ""), each["effect"]))
             or each["timeAdded"]}
            for each in device.get("taints") or ()
        ]  # fmt: skip
        devices.append({**device, "taints": taints} if taints else device)
    return {**new, "spec": {**new["spec"], "devices": devices}} if devices else new


def is_current(slice_: Obj, wanted: Obj) -> bool:
    """Whether a slice says what it should, whatever its generation."""
    found, given = slice_["metadata"], wanted["metadata"]
    same = (found.get("annotations") or {}).get(CONTENT) == given["annotations"][CONTENT]
    owners = [each.get("uid") for each in found.get("ownerReferences") or ()]
    return same and owners == [each["uid"] for each in given.get("ownerReferences") or ()]

"""The devices of an embedded cluster, from a YAML description of pools; ``vsched cluster --help`` shows one.

A description is a list of pools (or a mapping with ``pools``), of devices of plugins, and of plain ResourceSlices and
DeviceClasses, in one document or several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from vsched.apimachinery.manifests.documents import Manifest, read_documents
from vsched.apimachinery.meta.kinds import Obj
from vsched.errors import BadInput
from vsched.model.amounts.durations import parse_duration
from vsched.sim.controllers.devices.objects import API_VERSION
from vsched.sim.controllers.devices.plugins import PluginDevices
from vsched.sim.controllers.devices.pools import DriverDevices, filled
from vsched.sim.fleet.device_plugins import plugin_devices
from vsched.sim.fleet.places import Place

MOST_DEVICES = 10_000
KINDS = ("DeviceClass", "ResourceSlice", "ResourceClaimTemplate", "ResourceClaim")

Name = Annotated[str, msgspec.Meta(min_length=1)]
Value = bool | int | str
Attribute = Value | dict[str, Value]
Amount = str | int


class DeviceGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Devices of one driver, as the file has them."""

    driver: Name
    nodes: tuple[Name, ...] | None = None
    shared: bool = False
    pool: str = ""
    count: Annotated[int, msgspec.Meta(ge=0, le=MOST_DEVICES)] = 0
    prefix: str = "gpu-"
    attributes: dict[str, Attribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, Amount | dict[str, Any]] = msgspec.field(default_factory=dict)
    taints: tuple[str | dict[str, str], ...] = ()
    device: dict[str, Any] = msgspec.field(default_factory=dict)
    """Other fields of each device, as in the API."""
    devices: tuple[dict[str, Any], ...] = ()
    """Devices that differ: those of the names of ``count`` get these fields besides, others are more devices."""
    shared_counters: dict[str, dict[str, Amount]] = msgspec.field(default_factory=dict)
    class_: str | bool = msgspec.field(default=True, name="class")
    """The name of a DeviceClass to make for them; by default the name of the driver, ``false`` for none."""
    extended_resource_name: str = ""
    binding_delay: str = "50ms"
    binding_failure: str = ""


@dataclass(slots=True)
class DeviceDescription:
    """What a file describes."""

    pools: list[DriverDevices] = field(default_factory=list)
    plugins: list[PluginDevices] = field(default_factory=list)
    manifests: list[Manifest] = field(default_factory=list)


def read_devices(path: Path) -> DeviceDescription:
    """The pools and the objects of a file; raises BadInput with file, line and place for an invalid one."""
    found, classes = DeviceDescription(), dict[str, Obj]()
    documents = read_documents(path)
    for document in documents:
        for place, entry in _entries(document):
            where = Place(path, document, place)
            if isinstance(entry, dict) and "kind" in entry:
                found.manifests.append(_manifest(where, entry))
            elif isinstance(entry, dict) and "plugin" in entry:
                found.plugins.append(plugin_devices(where, entry))
            else:
                group = _group(where, entry)
                found.pools.append(_pool(where, group))
                name = group.driver if group.class_ is True else group.class_
                if name:
                    classes[name] = _class(name, group)
    if not (found.pools or found.plugins or found.manifests):
        expected = "pools of devices, devices of plugins, ResourceSlices or DeviceClasses"
        raise BadInput(f"{path}: nothing in it (expected {expected})")
    given = {each.obj["metadata"]["name"] for each in found.manifests if each.obj["kind"] == "DeviceClass"}
    made = [Manifest(each, f"{path}: class {name}") for name, each in classes.items() if name not in given]
    found.manifests = [*made, *found.manifests]
    return found


def _entries(document: Manifest) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    content = document.obj
    steps: tuple[str | int, ...] = ()
    if isinstance(content, dict) and "pools" in content and "kind" not in content:
        for key in content:
            if key != "pools":
                raise BadInput(f"{document.where}: unknown key {key!r}: expected pools")
        content, steps = content["pools"], ("pools",)
    if isinstance(content, dict) and str(content.get("kind", "")).endswith("List"):
        content, steps = content.get("items"), ("items",)
    if isinstance(content, list):
        yield from (((*steps, index), each) for index, each in enumerate(content))
    else:
        yield steps, content


def _manifest(where: Place, entry: Obj) -> Manifest:
    if entry["kind"] not in KINDS:
        raise where.bad(f"{entry['kind']!r} is not of devices: expected {', '.join(KINDS)}", "kind")
    metadata = entry.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise where.bad(f"a {entry['kind']} without metadata.name")
    line = where.line
    return Manifest(
        {"apiVersion": API_VERSION, **entry}, f"{where.path}, line {line} ({entry['kind']} {metadata['name']})"
    )


def _group(where: Place, entry: Any) -> DeviceGroup:
    group = where.convert(entry, DeviceGroup)
    if group.shared and group.nodes is not None:
        raise where.bad("expected without shared, whose devices all nodes can use", "nodes")
    if not group.count and not group.devices:
        raise where.bad("a pool without devices: expected count or devices")
    return group


def _pool(where: Place, group: DeviceGroup) -> DriverDevices:
    seconds = parse_duration(group.binding_delay)
    if seconds is None or seconds < 0:
        raise where.bad(f"{group.binding_delay!r} is not a duration: expected something like 2s", "bindingDelay")
    counters = tuple(
        {"name": name, "counters": {key: {"value": str(value)} for key, value in amounts.items()}}
        for name, amounts in group.shared_counters.items()
    )
    return DriverDevices(
        driver=group.driver,
        nodes=("*",) if group.nodes is None else group.nodes,
        shared=group.shared,
        pool=group.pool,
        devices=tuple(_devices(where, group)),
        counters=counters,
        binding_seconds=seconds,
        binding_failure=group.binding_failure,
    )


def _devices(where: Place, group: DeviceGroup) -> Iterator[Obj]:
    common: Obj = {"attributes": group.attributes, "capacity": group.capacity, "taints": group.taints}
    own: dict[str, Obj] = {}
    for index, each in enumerate(group.devices):
        if not isinstance(each.get("name"), str) or each["name"] in own:
            why = "two devices of one name" if each.get("name") in own else "a device without a name"
            raise where.bad(why, "devices", index)
        own[each["name"]] = each
    names = [f"{group.prefix}{number}" for number in range(group.count)]
    for number, name in enumerate([*names, *(name for name in own if name not in names)]):
        different = own.get(name, {})
        whole = {**common, **group.device, **different, "name": name}
        for part in ("attributes", "capacity"):
            whole[part] = {**common[part], **group.device.get(part, {}), **different.get(part, {})}
        taints = [_taint(where, each) for each in whole["taints"]]
        attributes = {key: _attribute(value) for key, value in whole["attributes"].items()}
        capacity = {
            key: value if isinstance(value, dict) else {"value": str(value)} for key, value in whole["capacity"].items()
        }
        device = {**whole, "attributes": attributes, "capacity": capacity, "taints": taints}
        yield filled({key: value for key, value in device.items() if value not in ({}, [], ())}, {"n": str(number)})


def _attribute(value: Attribute) -> Obj:
    """The value with its type: texts are strings, unless they are given as ``{version: 1.2.3}``."""
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}


def _taint(where: Place, value: str | dict[str, str]) -> Obj:
    taint: Any = value
    if isinstance(value, str):
        left, _, effect = value.rpartition(":")
        key, _, text = left.partition("=")
        taint = {"key": key, **({"value": text} if text else {}), "effect": effect}
    if not taint.get("key") or taint.get("effect") not in ("NoSchedule", "NoExecute", "None"):
        raise where.bad(f"{value!r}: expected key=value:Effect with an effect of NoSchedule, NoExecute, None", "taints")
    return dict(taint)


def _class(name: str, group: DeviceGroup) -> Obj:
    spec: Obj = {"selectors": [{"cel": {"expression": f"device.driver == '{group.driver}'"}}]}
    if group.extended_resource_name:
        spec["extendedResourceName"] = group.extended_resource_name
    return {"apiVersion": API_VERSION, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}

"""What pretended device plugins register for nodes, in annotations and amounts as Volcano's and HAMi's do it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import orjson

from vsched.sim.controllers.devices.pools import filled

VGPU, GPU = "vgpu", "gpu"
VGPU_NUMBER, VGPU_MEMORY, VGPU_CORES = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"
GPU_NUMBER, GPU_MEMORY = "volcano.sh/gpu-number", "volcano.sh/gpu-memory"
REGISTER, HANDSHAKE = "volcano.sh/node-vgpu-register", "volcano.sh/node-vgpu-handshake"
UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"
NPUS, NPU_RESOURCE = "Ascend", "huawei.com/"
"""Begins the names of plugins of NPUs, and those of the resources that they serve."""
NPU_REGISTER, NPU_HANDSHAKE = "hami.io/node-register-", "hami.io/node-handshake-"


@dataclass(frozen=True, slots=True)
class PluginDevices:
    """Equal devices that a device plugin has on some nodes."""

    plugin: str
    """``vgpu``, ``gpu``, a model of NPUs (``Ascend910B3``), or the name of a resource that counts whole devices."""
    nodes: tuple[str, ...] = ("*",)
    """Names of nodes, with wildcards."""
    count: int = 1
    type: str = "NVIDIA-GPU"
    memory: int = 0
    """MiB of each."""
    sharers: int = 10
    """How many containers may share one."""
    mode: str = "hami-core"
    uuid: str = "GPU-{node}-{n}"
    """``{n}`` stands for the number of the device on its node."""
    unhealthy: tuple[int, ...] = ()
    """Numbers on the node."""
    failure: str = ""
    """Why the plugin gives its devices to no pod; empty for plugins that work."""

    def is_on(self, node: str) -> bool:
        return any(fnmatchcase(node, pattern) for pattern in self.nodes)


class PluginDevice(NamedTuple):
    """One device of a node."""

    uuid: str
    number: int
    """On its node, among the devices of its plugin."""
    healthy: bool
    of: PluginDevices


class Registration(NamedTuple):
    """What the plugins of a node tell the API server."""

    annotations: dict[str, str]
    capacity: dict[str, int]
    allocatable: dict[str, int]
    """Unhealthy devices are left out."""

    @property
    def content(self) -> str:
        """A digest; empty where nothing is registered."""
        if not self.capacity:
            return ""
        return hashlib.sha256(orjson.dumps([*self], option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def devices_of(plugins: Sequence[PluginDevices], plugin: str, node: str) -> list[PluginDevice]:
    """The devices that a plugin has on a node."""
    return list(_devices(plugins, plugin, node))


def _devices(plugins: Sequence[PluginDevices], plugin: str, node: str) -> Iterator[PluginDevice]:
    number = 0
    for some in plugins:
        if some.plugin == plugin and some.is_on(node):
            for _ in range(some.count):
                uuid = filled(some.uuid, {"node": node, "n": str(number)})
                yield PluginDevice(uuid, number, number not in some.unhealthy, some)
                number += 1


def registration_of(plugins: Sequence[PluginDevices], node: str) -> Registration:
    """What the plugins register for a node."""
    found = Registration({}, {}, {})
    for name in dict.fromkeys(each.plugin for each in plugins if each.is_on(node)):
        devices = devices_of(plugins, name, node)
        found.annotations.update(_annotations(name, devices))
        found.capacity.update(_amounts(name, devices))
        found.allocatable.update(_amounts(name, [each for each in devices if each.healthy]))
    return found


def handshake_of(resource: str) -> str:
    """The annotation in which the plugin of a resource says that it is there; empty for those that do not."""
    if resource == VGPU_NUMBER:
        return HANDSHAKE
    chip = resource.removeprefix(NPU_RESOURCE)
    return NPU_HANDSHAKE + chip if chip != resource and chip.startswith(NPUS) else ""


def _annotations(plugin: str, devices: Iterable[PluginDevice]) -> dict[str, str]:
    if plugin == VGPU:
        return {REGISTER: "".join(map(_written, devices))}
    if plugin.startswith(NPUS):
        return {NPU_REGISTER + plugin: orjson.dumps([*map(_listed, devices)]).decode()}
    ill = [str(each.number) for each in devices if not each.healthy]
    return {UNHEALTHY: ",".join(ill)} if plugin == GPU and ill else {}


def _written(device: PluginDevice) -> str:
    """A vGPU, as its plugin writes it."""
    of, healthy = device.of, str(device.healthy).lower()
    return f"{device.uuid},{of.sharers},{of.memory},{of.type},{healthy},{of.mode}:"


def _listed(device: PluginDevice) -> dict[str, str | int | bool]:
    """An NPU, as its plugin writes it."""
    of = device.of
    return {
        "id": device.uuid,
        "index": device.number,
        "count": of.sharers,
        "devmem": of.memory,
        "type": of.plugin,
        "health": device.healthy,
    }


def _amounts(plugin: str, devices: Sequence[PluginDevice]) -> dict[str, int]:
    """The resources of the node that a plugin serves."""
    memory = sum(each.of.memory for each in devices)
    if plugin == VGPU:
        number = sum(each.of.sharers for each in devices)
        return {VGPU_NUMBER: number, VGPU_MEMORY: memory, VGPU_CORES: 100 * len(devices)}
    if plugin == GPU:
        return {GPU_NUMBER: len(devices), GPU_MEMORY: memory}
    if plugin.startswith(NPUS):
        return {NPU_RESOURCE + plugin: sum(each.of.sharers for each in devices)}
    return {plugin: len(devices)}

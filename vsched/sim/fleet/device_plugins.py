"""Devices that pretended device plugins register, as the file of devices has them."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from vsched.sim.controllers.devices.plugins import GPU, NPUS, VGPU, PluginDevices
from vsched.sim.fleet.places import Place

MOST_DEVICES = 64
"""Of one entry."""
OF_VGPUS, OF_PARTS = ("type", "mode"), ("sharers", "uuid")
"""What only devices of the plugin ``vgpu`` have, and what those have and NPUs."""
OF_SHARED = ("memory", "failure")
"""What devices have that pods are told by name."""
_RESOURCE = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_CHIP = re.compile(rf"{NPUS}[0-9A-Za-z-]+")
_SEPARATOR = re.compile(r"[,:;\[\]]")
"""What stands between fields in the annotations."""

Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_DEVICES)]


class PluginGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Equal devices of one plugin, as the file has them."""

    plugin: str
    nodes: tuple[Annotated[str, msgspec.Meta(min_length=1)], ...] = ("*",)
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_DEVICES)] = 1
    type: str = "NVIDIA-GPU"
    memory: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] = 0
    sharers: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    mode: str = "hami-core"
    uuid: str = "GPU-{node}-{n}"
    unhealthy: tuple[Number, ...] = ()
    failure: str = ""


def plugin_devices(where: Place, entry: dict[str, Any]) -> PluginDevices:
    """The devices that an entry describes; raises BadInput with its place."""
    group = where.convert(entry, PluginGroup)
    has_parts = group.plugin == VGPU or _CHIP.fullmatch(group.plugin) is not None
    if not (has_parts or group.plugin == GPU or _RESOURCE.fullmatch(group.plugin)):
        expected = "vgpu, gpu, a model of NPUs such as Ascend910B3, or a resource such as nvidia.com/gpu"
        raise where.bad(f"{group.plugin!r}: expected {expected}", "plugin")
    for name in OF_VGPUS:
        if name in entry and group.plugin != VGPU:
            raise where.bad("expected with the plugin vgpu only", name)
    for name in OF_PARTS:
        if name in entry and not has_parts:
            raise where.bad("expected with the plugin vgpu and with NPUs only", name)
    for name, text in (("type", group.type), ("mode", group.mode), ("uuid", group.uuid)):
        if not text or _SEPARATOR.search(text):
            raise where.bad(f"{text!r}: expected some letters, and none of , : ; [ ]", name)
    if group.plugin not in (VGPU, GPU) and not has_parts:
        for name in OF_SHARED:
            if name in entry:
                raise where.bad("expected with vgpu, gpu and NPUs only", name)
    elif group.plugin != VGPU and not group.memory:
        raise where.bad("devices without memory: expected how many MiB each has", "memory")
    return PluginDevices(**msgspec.structs.asdict(group))

"""The pretended device plugins give pods their devices: those that a scheduler has written down.

A pod that is about to start says which devices it gets, as Volcano's and HAMi's plugins expect it: vGPUs in
``volcano.sh/devices-to-allocate``, NPUs in ``hami.io/CHIP-devices-to-allocate``, GPUs in ``volcano.sh/gpu-index``. The
plugin looks whether it has them, and whether what is asked of them is left. This is stricter than real plugins are, so
that a scheduler that is wrong shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_finished
from vsched.model.amounts.quantity import parse_quantity
from vsched.sim.controllers.devices.fleet import DeviceFleet
from vsched.sim.controllers.devices.plugins import (
    GPU,
    GPU_MEMORY,
    GPU_NUMBER,
    NPU_RESOURCE,
    NPUS,
    VGPU,
    VGPU_MEMORY,
    VGPU_NUMBER,
    PluginDevice,
    devices_of,
)
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.start_checks import Admitted

INDEX, ASSIGNED = "volcano.sh/gpu-index", "volcano.sh/gpu-assigned"
GPU_LOCK = "gpu"
"""The annotation of nodes with which a scheduler locks a node until a pod has its GPUs."""
ALLOCATING, SUCCESS, FAILED = "allocating", "success", "failed"
LONG_AGO = str((1 << 64) - 1)
"""The time of pods that have their devices: plugins look for the oldest that has not."""
WHOLE = 100
MIG = "mig"


class Part(NamedTuple):
    """What a pod gets of one device."""

    device: str
    """Its uuid, or its number."""
    memory: int
    """MiB."""
    cores: int = 0
    """Per cent."""
    instance: str = ""
    """Of a GPU that is divided by MIG: the geometry and the position in it, as ``group2-3``."""


class DeviceAnnotations(NamedTuple):
    """The annotations by which a scheduler and a device plugin speak of a pod, and the lock of its node."""

    ids: str
    """What the pod has."""
    to_allocate: str
    """What of that it is still to get."""
    node: str
    phase: str
    time: str
    lock: str


def words_of(plugin: str) -> DeviceAnnotations:
    """The words of vGPUs, or of a model of NPUs."""
    if plugin == VGPU:
        ids, to_allocate, own, lock = "vgpu-ids-new", "devices-to-allocate", "volcano.sh/", "hamivgpu"
    else:
        ids, to_allocate = f"{plugin}-devices-allocated", f"{plugin}-devices-to-allocate"
        own, lock = "hami.io/", "hami.io/mutex.lock"
    return DeviceAnnotations(
        own + ids, own + to_allocate, f"{own}vgpu-node", f"{own}bind-phase", f"{own}vgpu-time", lock
    )


class PluginAllocation:
    """The admission of pods by device plugins."""

    def __init__(self, pod_index: PodIndex, fleet: DeviceFleet) -> None:
        self._pod_index = pod_index
        self._fleet = fleet

    def admit(self, pod: Obj, node: str) -> Admitted | None:
        """What the plugins make of a pod; None where it asks for nothing of theirs."""
        limits = _limits(pod) if self._fleet.plugins else set()
        if limits & {VGPU_NUMBER, VGPU_MEMORY}:
            return self._admit_assigned(VGPU, pod, node)
        if limits & {GPU_NUMBER, GPU_MEMORY}:
            return self._admit_gpus(pod, node)
        chips = (one.plugin for one in self._fleet.plugins if one.plugin.startswith(NPUS))
        chip = next((chip for chip in chips if NPU_RESOURCE + chip in limits), "")
        return self._admit_assigned(chip, pod, node) if chip else None

    def _admit_assigned(self, plugin: str, pod: Obj, node: str) -> Admitted:
        said, words = _annotations(pod), words_of(plugin)
        here = said.get(words.node) == node
        if here and said.get(words.phase) == SUCCESS:
            return Admitted()
        text = said.get(words.to_allocate, "")
        failure = f"no devices were assigned to the pod on node {node}"
        if here and said.get(words.phase) == ALLOCATING and text:
            failure = self._problem(plugin, pod, node)
        done = {words.time: LONG_AGO, words.phase: FAILED if failure else SUCCESS}
        left = {} if failure else {words.to_allocate: ";" * text.count(";")}
        return Admitted({**done, **left}, failure, words.lock)

    def _admit_gpus(self, pod: Obj, node: str) -> Admitted:
        failure = self._problem(GPU, pod, node) if _annotations(pod).get(INDEX) else "no GPU was assigned to the pod"
        return Admitted({} if failure else {ASSIGNED: "true"}, failure, GPU_LOCK)

    def _problem(self, plugin: str, pod: Obj, node: str) -> str:
        """Why a plugin cannot give the pod what it was assigned; empty where it can."""
        devices = {_name(each): each for each in devices_of(self._fleet.plugins, plugin, node)}
        held: dict[str, list[Part]] = {}
        for other in self._pod_index.on(node):
            if other["metadata"]["uid"] != pod["metadata"]["uid"] and not is_finished(other):
                for part in _parts(plugin, other):
                    held.setdefault(part.device, []).append(part)
        found = list(_parts(plugin, pod))
        if not found:
            return "what was assigned to the pod cannot be read"
        for part in found:
            held.setdefault(part.device, []).append(part)
        problems = (_unusable(devices.get(part.device), part.device, held[part.device]) for part in found)
        return next((why for why in problems if why), "")


def _unusable(device: PluginDevice | None, name: str, parts: Sequence[Part]) -> str:
    """Why a device cannot be used as these parts."""
    if device is None:
        return f"there is no device {name}"
    if device.of.failure:
        return device.of.failure
    if not device.healthy:
        return f"device {name} is unhealthy"
    memory, cores = sum(part.memory for part in parts), sum(part.cores for part in parts)
    if device.of.memory and memory > device.of.memory:
        return f"device {name} has {device.of.memory} MiB: {memory} are assigned"
    if cores > WHOLE:
        return f"device {name} has {WHOLE} per cent of its cores: {cores} are assigned"
    if device.of.plugin != GPU and len(parts) > device.of.sharers:
        return f"device {name} has room for {device.of.sharers} containers: {len(parts)} are assigned"
    return _wrongly_divided(device, name, parts)


def _wrongly_divided(device: PluginDevice, name: str, parts: Sequence[Part]) -> str:
    """Why a device cannot be divided so: by MIG into instances of one geometry, each given once, or not at all."""
    instances = [part.instance for part in parts]
    if device.of.mode != MIG:
        return f"device {name} is not divided by MIG" if any(instances) else ""
    if not all(instances):
        return f"device {name} is divided by MIG, and no instance is assigned"
    if len({one.rpartition("-")[0] for one in instances}) > 1:
        return f"device {name} has one geometry at a time: {', '.join(sorted(instances))} are assigned"
    return "" if len({*instances}) == len(instances) else f"an instance of device {name} is assigned twice"


def _name(device: PluginDevice) -> str:
    """As pods' annotations call it."""
    return str(device.number) if device.of.plugin == GPU else device.uuid


def _parts(plugin: str, pod: Obj) -> Iterator[Part]:
    """What a pod was assigned; nothing where that cannot be read."""
    said = _annotations(pod)
    if plugin == GPU:
        memory, number = _amount(pod, GPU_MEMORY), _amount(pod, GPU_NUMBER)
        for index in said.get(INDEX, "").split(","):
            if index.strip().isdecimal():
                yield Part(index.strip(), memory, WHOLE if number else 0)
        return
    for text in said.get(words_of(plugin).ids, "").replace(";", ":").split(":"):
        match text.split(","):
            case [uuid, _, memory_text, cores, *_] if memory_text.isdecimal() and cores.isdecimal():
                device, _, instance = uuid.partition("[")
                yield Part(device, int(memory_text), int(cores), instance.removesuffix("]"))


def _annotations(pod: Obj) -> Mapping[str, str]:
    return pod["metadata"].get("annotations") or {}


def _limits(pod: Obj) -> set[str]:
    """The resources that the pod's containers are limited in."""
    return {name for found in _limits_of(pod) for name in found}


def _amount(pod: Obj, resource: str) -> int:
    """The sum of the limits of the pod's containers."""
    return sum(parse_quantity(str(limits.get(resource, "0"))) for limits in _limits_of(pod))


def _limits_of(pod: Obj) -> Iterable[Mapping[str, str]]:
    return ((each.get("resources") or {}).get("limits") or {} for each in pod["spec"].get("containers") or ())

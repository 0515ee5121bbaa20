"""Shared devices: what nodes register, what pods ask for, and what pods hold.

Device plugins write the devices of a node into ``volcano.sh/node-vgpu-register``: for each of them
``uuid,sharers,MiB,type,healthy,mode`` and a colon; 0 sharers stand for no bound, and 0 MiB for memory that does not
count. HAMi's other two forms are read too: ``uuid,sharers,MiB,cores,type,numa,healthy``, and a JSON list. Devices of
the kind ``gpu`` follow from the capacity of the node. What cannot be read is left out, with a remark: the node and its
pods are used as if it were not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from vsched import api
from vsched.api.base import ResourceList
from vsched.api.pods import Container, Pod
from vsched.errors import UNREADABLE, BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.device_amounts import (
    TEXT_MAX,
    amount_of,
    container_limits,
    quantity_of,
    whole_of,
    words_of,
)
from vsched.mirror.ingest.device_kinds import problem_of
from vsched.mirror.ingest.metadata import BOOLEANS
from vsched.mirror.ingest.npus import npu_request_of, npus_in_full, npus_of, npus_offered_by
from vsched.mirror.ingest.words import devices as words
from vsched.model.amounts.resources import Amounts, ResourceAxis
from vsched.model.deviceshare.records import (
    DEVICES_MAX,
    GPU_MEMORY,
    GPU_NUMBER,
    MIG,
    VGPU_CORES,
    VGPU_MEMORY,
    VGPU_NUMBER,
    VGPU_PERCENT,
    WHOLE,
    DeviceAsk,
    DeviceKind,
    HeldPart,
    HeldParts,
    NodeDevices,
    SharedDevice,
    SharedDeviceRequest,
    assigned_name,
)
from vsched.model.names import shared

REGISTER, HANDSHAKE = "volcano.sh/node-vgpu-register", "volcano.sh/node-vgpu-handshake"
UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"
USE_TYPE, AVOID_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
USE_UUID, AVOID_UUID = "volcano.sh/vgpu-use-gpuuuid", "volcano.sh/vgpu-nouse-gpuuuid"
MODE = "volcano.sh/vgpu-mode"
GROUP_POLICY, SPREAD = "volcano.sh/vgpu-podgroup-policy", "spread"
WISHES = (USE_TYPE, AVOID_TYPE, USE_UUID, AVOID_UUID, MODE, GROUP_POLICY)
"""Annotations of pods about devices."""

UNBOUND_SHARERS = 1000
"""How many containers count as able to share a device that has no bound."""
CORES = WHOLE // 100
"""Thousandths of a device in one per cent of its cores."""
MODES = ("hami-core", "mps", MIG)
"""Other modes count as the first."""

_NONE: Mapping[str, str] = {}


class HamiDevice(msgspec.Struct):
    """A device in HAMi's JSON list. One that is ill has no field ``health``."""

    id: str
    count: int = 0
    devmem: int = 0
    devcore: int = 100
    type: str = ""
    numa: int = -1
    mode: str = ""
    health: bool = False


# -- nodes ----------------------------------------------------------------------------------------------------------


def node_devices_of(node: api.Node, remarks: Remarks) -> tuple[NodeDevices, ...]:
    """The devices of a node by kind; what cannot be read is left out, with a remark."""
    annotations, capacity = node.metadata.annotations or _NONE, node.status.capacity or {}
    found: list[NodeDevices] = []
    if GPU_MEMORY in capacity and GPU_NUMBER in capacity:
        try:
            found.append(_equal_devices(node.metadata.name, capacity, annotations.get(UNHEALTHY, "")))
        except BadObject as error:
            remarks.append(words.devices_left_out(error))
    npus = npus_of(node, remarks)
    if npus is not None:
        found.append(npus)
    text = annotations.get(REGISTER, "")
    if ":" in text and _is_there(annotations.get(HANDSHAKE), node.status.allocatable or {}):
        try:
            found.append(registered(node.metadata.name, text))
        except BadObject as error:
            remarks.append(words.devices_of_annotation_left_out(REGISTER, error))
    return tuple(found)


def _is_there(handshake: str | None, allocatable: ResourceList) -> bool:
    """Whether the device plugin is there. Newer ones shake no hands: then the kubelet's amounts tell."""
    if handshake is None:
        return str(allocatable.get(VGPU_NUMBER, "0")) != "0"
    return "Deleted" not in handshake


def registered(node: str, text: str) -> NodeDevices:
    """What the annotation ``volcano.sh/node-vgpu-register`` says; raises BadObject."""
    if len(text) > TEXT_MAX:
        raise BadObject(words.too_many_letters(len(text), TEXT_MAX))
    rows = list(_json(text) if text.lstrip().startswith("[") else _lines(text))
    if len(rows) > DEVICES_MAX:
        raise BadObject(words.too_many_devices(len(rows), DEVICES_MAX))
    if len({one.id for _, one in rows}) < len(rows):
        raise BadObject(words.ONE_UUID)
    mode = rows[-1][1].mode if rows else ""
    devices = tuple(
        SharedDevice(
            index,
            shared(one.id),
            shared(one.type),
            amount_of(one.devmem, "MiB"),
            amount_of(one.count, "sharers"),
            one.health,
            min(WHOLE, CORES * amount_of(one.devcore, "cores")),
            one.numa,
        )
        for index, one in rows
    )
    return NodeDevices(shared(node), DeviceKind.VGPU, mode if mode in MODES else MODES[0], devices)


def _json(text: str) -> Iterable[tuple[int, HamiDevice]]:
    try:
        return list(enumerate(msgspec.json.decode(text, type=list[HamiDevice])))
    except UNREADABLE:
        raise BadObject(words.no_list_of_devices(text[:40])) from None


def _lines(text: str) -> Iterable[tuple[int, HamiDevice]]:
    for index, line in enumerate(text.split(":")):
        if "," in line:
            yield index, _line(line.split(","))


def _line(fields: Sequence[str]) -> HamiDevice:
    match fields:
        case [uuid, sharers, memory, cores, kind, numa, healthy, *_] if cores.isdecimal():
            zone = whole_of(numa) if numa.isdecimal() else -1
            return HamiDevice(
                uuid, whole_of(sharers), whole_of(memory), whole_of(cores), kind, zone, "", _flag(healthy)
            )
        case [uuid, sharers, memory, kind, healthy, *mode]:
            return HamiDevice(
                uuid, whole_of(sharers), whole_of(memory), 100, kind, -1, mode[0] if mode else "", _flag(healthy)
            )
    raise BadObject(words.no_registered_device(",".join(fields)[:80]))


def _flag(text: str) -> bool:
    if text not in BOOLEANS:
        raise BadObject(words.no_bool(text[:40]))
    return BOOLEANS[text]


def _equal_devices(node: str, capacity: ResourceList, unhealthy: str) -> NodeDevices:
    """Devices of the kind ``gpu``: so many, with an equal share of the memory."""
    number, memory = (quantity_of(capacity, name, "status.capacity") for name in (GPU_NUMBER, GPU_MEMORY))
    if number > DEVICES_MAX:
        raise BadObject(words.too_many_gpus(GPU_NUMBER, number, DEVICES_MAX))
    ill = {word.strip() for word in unhealthy[:TEXT_MAX].split(",")}
    return NodeDevices(
        shared(node),
        DeviceKind.GPU,
        devices=tuple(
            SharedDevice(index, memory=memory // number, healthy=str(index) not in ill) for index in range(number)
        ),
    )


def offered_by(devices: Iterable[NodeDevices], stated: ResourceList) -> ResourceList:
    """What a node with these devices offers of vGPUs and of parts of NPUs: sums, as the requests of pods are.

    Whether a pod finds devices is decided for each device. The node's own numbers count only for ``vgpu-number``, where
    it states one: device plugins state the others in units of their own, or not at all.
    """
    offered: ResourceList = {}
    for found in devices:
        if found.kind == DeviceKind.NPU:
            offered |= npus_offered_by(found)
        if found.kind == DeviceKind.VGPU and found.devices:
            if VGPU_NUMBER not in stated:
                offered[VGPU_NUMBER] = sum(one.sharers or UNBOUND_SHARERS for one in found.devices)
            offered[VGPU_CORES] = sum(one.thousandths for one in found.devices) // CORES
            offered[VGPU_PERCENT] = 100 * len(found.devices)
            if all(one.memory for one in found.devices):
                offered[VGPU_MEMORY] = sum(one.memory for one in found.devices)
    return offered


# -- what pods ask for ----------------------------------------------------------------------------------------------


def wishes_of(metadata: api.Metadata) -> tuple[str | None, ...] | None:
    """The annotations of a pod about devices, in the order of ``WISHES``; None without annotations."""
    annotations = metadata.annotations
    return None if annotations is None else tuple(map(annotations.get, WISHES))


def device_request_of(pod: Pod) -> SharedDeviceRequest | None:
    """What a pod asks of shared devices, None where it asks for none. Raises BadObject."""
    containers = pod.spec.containers or ()
    if not any(b"volcano.sh/" in bytes(one.resources) for one in (*containers, *(pod.spec.init_containers or ()))):
        return npu_request_of(pod)
    request, problem = _request_of(pod, containers), problem_of(pod)
    if not problem:
        return request
    return replace(request or SharedDeviceRequest(DeviceKind.VGPU, (DeviceAsk(),)), problem=problem)


def _request_of(pod: Pod, containers: Sequence[Container]) -> SharedDeviceRequest | None:
    asks = [(number, ask) for number, one in enumerate(containers) for ask in _asks(one, f"spec.containers[{number}]")]
    if not asks:
        return _gpu_request(pod) or npu_request_of(pod)
    wishes = wishes_of(pod.metadata) or (None,) * len(WISHES)
    types, others, uuids, other_uuids = (words_of(text, at) for text, at in zip(wishes[:4], WISHES, strict=False))
    return SharedDeviceRequest(
        DeviceKind.VGPU,
        tuple(ask for _, ask in asks),
        tuple(number for number, _ in asks),
        types,
        () if wishes[0] is not None else others,
        uuids,
        other_uuids,
        (wishes[4] or "")[:40],
        spread=wishes[5] == SPREAD,
    )


def in_full(amounts: Amounts, request: SharedDeviceRequest, axis: ResourceAxis) -> Amounts:
    """A pod's request with the memory and the cores of all devices: containers state those of one device."""
    if request.kind == DeviceKind.NPU:
        return npus_in_full(amounts, request, axis)
    if request.kind != DeviceKind.VGPU:
        return amounts
    sums = {
        axis.find(VGPU_MEMORY): sum(ask.number * ask.memory for ask in request.asks),
        axis.find(VGPU_PERCENT): sum(ask.number * ask.percent for ask in request.asks),
        axis.find(VGPU_CORES): sum(ask.number * ask.thousandths // CORES for ask in request.asks),
    }
    return tuple((column, 1000 * sums[column] if sums.get(column) else value) for column, value in amounts)


def _asks(container: Container, at: str) -> Iterable[DeviceAsk]:
    """What a container asks for: nothing, or one ask."""
    limits, at = container_limits(container, at), f"{at}.resources.limits"
    if VGPU_NUMBER not in limits and VGPU_MEMORY not in limits:
        return
    number = quantity_of(limits, VGPU_NUMBER, at) if VGPU_NUMBER in limits else 1
    memory, percent = quantity_of(limits, VGPU_MEMORY, at), quantity_of(limits, VGPU_PERCENT, at)
    if not memory and VGPU_PERCENT not in limits:
        percent = 100
    if number:
        cores = quantity_of(limits, VGPU_CORES, at)
        yield DeviceAsk(min(number, DEVICES_MAX + 1), CORES * cores, memory, 0 if memory else min(percent, 1000))


def _gpu_request(pod: Pod) -> SharedDeviceRequest | None:
    """Of the kind ``gpu``: memory of one device, or whole devices."""
    for name in (GPU_MEMORY, GPU_NUMBER):
        apps = [
            quantity_of(container_limits(one, ""), name, f"spec.containers[{at}].resources.limits")
            for at, one in enumerate(pod.spec.containers or ())
        ]
        steps = [
            quantity_of(container_limits(one, ""), name, f"spec.initContainers[{at}].resources.limits")
            for at, one in enumerate(pod.spec.init_containers or ())
        ]
        amount = max(sum(apps), max(steps, default=0))
        if amount:
            ask = DeviceAsk(1, memory=amount) if name == GPU_MEMORY else DeviceAsk(min(amount, DEVICES_MAX + 1), WHOLE)
            return SharedDeviceRequest(DeviceKind.GPU, (ask,), (0,))
    return None


def remark_group_policy(annotations: Mapping[str, str], request: SharedDeviceRequest | None, remarks: Remarks) -> None:
    """Remark on a policy for the devices of a PodGroup that is unknown, or that cannot have an effect."""
    policy = annotations.get(GROUP_POLICY, "")
    if policy and (policy != SPREAD or request is None or request.kind != DeviceKind.VGPU):
        why = f"{policy[:40]!r} (expected {SPREAD})" if policy != SPREAD else words.NO_EFFECT_WITHOUT_VGPUS
        remarks.append(f"metadata.annotations[{GROUP_POLICY}]: {why}: ignored")


# -- what pods hold -------------------------------------------------------------------------------------------------


def assigned_to(annotations: Mapping[str, str], request: SharedDeviceRequest | None, remarks: Remarks) -> str:
    """The text that says which devices a pod holds; empty where there is none, or it cannot be read."""
    text = "" if request is None else annotations.get(assigned_name(request), "")
    if request is None or not text:
        return ""
    try:
        parts_of(text, request)
    except BadObject as error:
        remarks.append(f"metadata.annotations[{assigned_name(request)}]: {error}: ignored")
        return ""
    return text


def parts_of(text: str, request: SharedDeviceRequest) -> HeldParts:
    """The parts of devices that a pod with this request holds, by such a text; raises BadObject."""
    if len(text) > TEXT_MAX:
        raise BadObject(words.too_many_letters(len(text), TEXT_MAX))
    if request.kind == DeviceKind.GPU:
        ask = request.asks[0]
        return (tuple(HeldPart(whole_of(word.strip()), ask.thousandths, ask.memory) for word in text.split(",")),)
    found = (
        tuple(_held(part.split(",")) for part in container.split(":") if "," in part) for container in text.split(";")
    )
    return tuple(filter(None, found)) if request.kind == DeviceKind.NPU else tuple(found)


def _held(fields: Sequence[str]) -> HeldPart:
    if len(fields) < 4 or not fields[0]:
        raise BadObject(words.no_chosen_device(",".join(fields)[:80]))
    uuid, bracket, instance = fields[0].partition("[")
    if bracket and not (uuid and instance.endswith("]")):
        raise BadObject(words.no_geometry(fields[0][:80]))
    return HeldPart(-1, CORES * whole_of(fields[3]), whole_of(fields[2]), shared(uuid), shared(instance[:-1]))

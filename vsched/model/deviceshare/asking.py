"""What pods ask of shared devices, by resource; and requests for less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec.structs import replace

from vsched.model.deviceshare.records import (
    GPU_MEMORY,
    GPU_NUMBER,
    NPU_PREFIX,
    VGPU_CORES,
    VGPU_MEMORY,
    VGPU_NUMBER,
    VGPU_PERCENT,
    WHOLE,
    DeviceAsk,
    DeviceKind,
    SharedDeviceRequest,
    npu_cores,
    npu_memory,
)

DeviceAmount = Literal["number", "memory", "percent", "cores"]
"""What a container asks for: devices; MiB, per cent of the memory, and per cent of the computing power of each."""
AMOUNTS: tuple[DeviceAmount, ...] = ("number", "memory", "percent", "cores")
CORE = WHOLE // 100
"""Thousandths of a device in one per cent of its computing power."""


def resources_of(request: SharedDeviceRequest) -> Mapping[DeviceAmount, str]:
    """The resources by which a pod asks for each amount."""
    if request.kind == DeviceKind.NPU:
        chip = request.chip
        return {"number": NPU_PREFIX + chip, "memory": npu_memory(chip), "cores": npu_cores(chip)}
    if request.kind == DeviceKind.GPU:
        return {"number": GPU_NUMBER, "memory": GPU_MEMORY}
    return {"number": VGPU_NUMBER, "memory": VGPU_MEMORY, "percent": VGPU_PERCENT, "cores": VGPU_CORES}


def most_asked(request: SharedDeviceRequest, what: DeviceAmount) -> int:
    """The most that one container asks for."""
    return max(_amount(ask, what) for ask in request.asks)


def capped(request: SharedDeviceRequest, what: DeviceAmount, most: int) -> SharedDeviceRequest:
    """The same where no container asks for more."""
    return replace(request, asks=tuple(_capped(ask, what, most) for ask in request.asks))


def sums_of(request: SharedDeviceRequest) -> Iterator[tuple[str, int]]:
    """What all containers ask of all devices together, by resource."""
    for what, resource in resources_of(request).items():
        yield resource, sum(_amount(ask, what) * (1 if what == "number" else ask.number) for ask in request.asks)


def has_wishes(request: SharedDeviceRequest) -> bool:
    """Whether the pod accepts only some of the devices of its kind."""
    return request != without_wishes(request)


def without_wishes(request: SharedDeviceRequest) -> SharedDeviceRequest:
    """The same where every device of the kind is accepted."""
    return replace(request, types=(), other_types=(), uuids=(), other_uuids=(), mode="")


def _amount(ask: DeviceAsk, what: DeviceAmount) -> int:
    match what:
        case "number":
            return ask.number
        case "memory":
            return ask.memory
        case "percent":
            return ask.percent
        case "cores":
            return ask.thousandths // CORE


def _capped(ask: DeviceAsk, what: DeviceAmount, most: int) -> DeviceAsk:
    if _amount(ask, what) <= most:
        return ask
    match what:
        case "number":
            return replace(ask, number=most)
        case "memory":
            return replace(ask, memory=most)
        case "percent":
            return replace(ask, percent=most)
        case "cores":
            return replace(ask, thousandths=most * CORE)

"""What deviceshare writes to pods that get NPUs, and how it prefers NPUs of one network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson

from vsched.kernels.deviceshare.table import DeviceTable
from vsched.model.deviceshare.records import (
    HAMI_CORE,
    NPU_ANNOTATIONS,
    NPU_NODE,
    NPU_PREFIX,
    NPU_TO_ALLOCATE,
    HeldParts,
    SharedDeviceRequest,
    assigned_name,
)
from vsched.model.nodes.table import Floats, Mask
from vsched.plugins.devices.npu_parts import Chips

NETWORK_POINTS = 10.0
"""For a pod whose NPUs are all in one network."""


def npu_annotations(
    request: SharedDeviceRequest, parts: HeldParts, chips: Chips, node: str, now: float
) -> Sequence[tuple[str, str]]:
    """What a pod got, as HAMi's device plugin expects it."""
    text, seconds = npus_written(request, parts), str(int(now))
    return (
        (f"{NPU_ANNOTATIONS}{request.chip}{NPU_TO_ALLOCATE}", text),
        (assigned_name(request), text),
        (f"{NPU_PREFIX}{request.chip}", _runtime(request, parts, chips)),
        ("predicate-time", seconds),
        (NPU_NODE, node),
        (f"{NPU_ANNOTATIONS}vgpu-time", seconds),
        (f"{NPU_ANNOTATIONS}bind-phase", "allocating"),
        (f"{NPU_ANNOTATIONS}bind-time", seconds),
    )


def npus_written(request: SharedDeviceRequest, parts: HeldParts) -> str:
    """The parts by container: those that get none are there too, as far as the last that gets some."""
    found = dict(zip(request.containers, parts, strict=True))
    lists = (
        (f"{part.uuid},{request.chip},{part.memory},{part.thousandths // 10}:" for part in found.get(at, ()))
        for at in range(max(found, default=-1) + 1)
    )
    return "".join("".join(some) + ";" for some in lists)


def _runtime(request: SharedDeviceRequest, parts: HeldParts, chips: Chips) -> str:
    """How the device plugin divides NPUs: by a template, or in software. What is zero or empty is left out."""
    listed: list[dict[str, str | int]] = []
    for part in (part for some in parts for part in some):
        said: dict[str, str | int] = {"UUID": part.uuid}
        if request.mode == HAMI_CORE:
            said |= {"memory": part.memory, "core": part.thousandths // 10}
        else:
            said["temp"] = chips.template(request.chip, part.memory)
        listed.append({key: value for key, value in said.items() if value})
    return orjson.dumps(listed).decode()


def network_points(table: DeviceTable, chosen: Sequence[Mask]) -> Floats:
    """float64[nodes]: the share of a pod's NPUs that are in one network, times ``NETWORK_POINTS``."""
    points = np.zeros(table.shape[1])
    if table.networks is None:
        return points
    every = sum((slots.astype(np.int64) for slots in chosen), np.zeros(table.shape, np.int64))
    total = every.sum(axis=0)
    for network in np.unique(table.networks[table.networks >= 0]):
        inside = np.where(table.networks == network, every, 0).sum(axis=0)
        points = np.maximum(points, NETWORK_POINTS * inside / np.maximum(total, 1))
    return points

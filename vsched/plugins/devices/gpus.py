"""What deviceshare writes to pods that get vGPUs or GPUs by number."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.model.deviceshare.records import (
    GPU_INDEX,
    VGPU_IDS,
    VGPU_IDS_TO_ALLOCATE,
    VGPU_NODE,
    HeldPart,
    HeldParts,
)

VENDOR = "NVIDIA"
"""The type of all vGPUs in annotations of pods."""


def vgpu_annotations(parts: HeldParts, node: str, now: float) -> Sequence[tuple[str, str]]:
    """What a pod got of vGPUs, as Volcano's device plugin expects it."""
    text, seconds = vgpus_written(parts), str(int(now))
    return (
        (VGPU_NODE, node),
        ("volcano.sh/vgpu-time", seconds),
        (VGPU_IDS, text),
        (VGPU_IDS_TO_ALLOCATE, text),
        ("volcano.sh/bind-phase", "allocating"),
        ("volcano.sh/bind-time", seconds),
    )


def gpu_annotations(parts: HeldParts, now: float) -> Sequence[tuple[str, str]]:
    """What a pod got of GPUs by number."""
    indices = ",".join(str(part.index) for some in parts for part in some)
    return (("volcano.sh/predicate-time", str(int(now * 1_000_000_000))), (GPU_INDEX, indices))


def vgpus_written(parts: HeldParts) -> str:
    """The parts by container."""
    return ";".join(
        "".join(f"{_name(part)},{VENDOR},{part.memory},{part.thousandths // 10}:" for part in some) for some in parts
    )


def _name(part: HeldPart) -> str:
    """The uuid of a device, with the instance where it is divided by MIG: ``GPU-1[group2-3]``."""
    return f"{part.uuid}[{part.instance}]" if part.instance else part.uuid

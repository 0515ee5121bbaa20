"""Pods that ask for shared devices in ways that do not go together, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vsched.api.pods import Pod
from vsched.mirror.ingest.device_amounts import container_limits, quantity_of
from vsched.mirror.ingest.npus import npu_request_of
from vsched.mirror.ingest.words import devices as words
from vsched.model.deviceshare.records import (
    GPU_MEMORY,
    GPU_NUMBER,
    NPU_PREFIX,
    VGPU_CORES,
    VGPU_MEMORY,
    VGPU_NUMBER,
    VGPU_PERCENT,
)

KINDS = {
    VGPU_NUMBER: "vgpu",
    VGPU_MEMORY: "vgpu",
    VGPU_PERCENT: "vgpu",
    VGPU_CORES: "vgpu",
    GPU_MEMORY: words.MEMORY_OF_GPUS,
    GPU_NUMBER: "gpus",
}
"""What a pod asks for with each of these resources."""
PARTS = (VGPU_PERCENT, VGPU_CORES)
"""Resources that say how much of a vGPU a container gets, but not that it gets one."""

INITS = "spec.initContainers"


class ResourceAsk(NamedTuple):
    """A resource that a container asks for."""

    at: str
    """``spec.containers[0].resources.limits``."""
    name: str


def problem_of(pod: Pod) -> str:
    """What does not go together in what a pod asks of shared devices; empty where all does. Raises BadObject."""
    found = list(_asked(pod))
    for one in found:
        mine = {other.name for other in found if other.at == one.at}
        if one.name in PARTS and not mine & {VGPU_NUMBER, VGPU_MEMORY}:
            return f"{one.at}: {one.name} without {VGPU_NUMBER}"
        if KINDS[one.name] == KINDS[VGPU_NUMBER] and one.at.startswith(INITS):
            return words.not_of_containers(one.at, one.name)
    for one in found[1:]:
        if KINDS[one.name] != KINDS[found[0].name]:
            return words.two_kinds(one.at, one.name, found[0].name)
    npus = npu_request_of(pod) if found else None
    if npus is not None:
        return words.two_kinds_with_npus(found[0].at, found[0].name, NPU_PREFIX, npus.chip)
    return ""


def _asked(pod: Pod) -> Iterator[ResourceAsk]:
    """What the containers of a pod ask for of vGPUs and GPUs, in the order of the pod."""
    for field, containers in (("spec.containers", pod.spec.containers), (INITS, pod.spec.init_containers)):
        for number, container in enumerate(containers or ()):
            limits, at = container_limits(container, f"{field}[{number}]"), f"{field}[{number}].resources.limits"
            for name in KINDS:
                if quantity_of(limits, name, at):
                    yield ResourceAsk(at, name)

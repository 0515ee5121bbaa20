"""Pods that ask for devices which the policy does not give out, or in a way that does not go together."""

from __future__ import annotations

from collections.abc import Collection

from vsched.model.deviceshare.records import GPU_MEMORY, GPU_NUMBER, VGPU_NUMBER, WHOLE, DeviceKind, SharedDeviceRequest
from vsched.plugins.words import devices as words


def refusal_of(request: SharedDeviceRequest | None, kinds: Collection[str], *, whole_gpus: bool) -> str:
    """Why a pod gets no devices on any node; empty where nothing speaks against it.

    ``kinds`` are enabled; of GPUs, whole ones (``whole_gpus``) or their memory. NPUs that are not enabled are counted
    by sums.
    """
    if request is None:
        return ""
    enabled = request.kind in kinds
    if request.problem and (enabled or request.kind != DeviceKind.NPU):
        return words.not_tried(request.problem)
    name, argument = VGPU_NUMBER, "deviceshare.VGPUEnable"
    if request.kind == DeviceKind.GPU:
        asks_whole = request.asks[0].thousandths >= WHOLE
        enabled = enabled and asks_whole is whole_gpus
        memory, number = (GPU_MEMORY, "deviceshare.GPUSharingEnable"), (GPU_NUMBER, "deviceshare.GPUNumberEnable")
        name, argument = number if asks_whole else memory
    if enabled or request.kind == DeviceKind.NPU:
        return ""
    return words.not_tried(words.not_enabled(name, argument))

"""Devices on nodes that pods may share, what pods ask of them, and what pods hold.

Amounts: computing power is in thousandths of one device, device memory in MiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from vsched.model.deviceshare.chips import DEFAULT_CHIPS, KnownChips
from vsched.model.deviceshare.geometries import DEFAULT_GEOMETRIES, KnownGeometries
from vsched.model.marks import NodeName, Opaque, Uid, Value, Word

WHOLE = 1000
"""Thousandths of a whole device."""
DEVICES_MAX = 64
"""The most devices of a node that are read."""
MIG = "mig"
"""The mode of nodes whose GPUs are divided by MIG."""

VGPU_NUMBER, VGPU_MEMORY = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory"
VGPU_PERCENT, VGPU_CORES = "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores"
GPU_MEMORY, GPU_NUMBER = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"

VGPU_IDS = "volcano.sh/vgpu-ids-new"
"""Annotation of pods: the devices that they were given, for device plugins."""
VGPU_IDS_TO_ALLOCATE, VGPU_NODE = "volcano.sh/devices-to-allocate", "volcano.sh/vgpu-node"
GPU_INDEX = "volcano.sh/gpu-index"
"""The same of devices of the kind ``gpu``: their numbers."""

NPU_PREFIX = "huawei.com/"
ASCEND = NPU_PREFIX + "Ascend"
"""The beginning of the resources that are NPUs: ``huawei.com/Ascend910B3``."""
NPU_MEMORY_SUFFIX, NPU_CORES_SUFFIX = "-memory", "-core"
NPU_ANNOTATIONS = "hami.io/"
NPU_ASSIGNED, NPU_TO_ALLOCATE = "-devices-allocated", "-devices-to-allocate"
"""Ends of annotations of pods that say which NPUs they were given; the model stands before them."""
NPU_NODE = NPU_ANNOTATIONS + "vgpu-node"
NPU_LOCK = NPU_ANNOTATIONS + "mutex.lock"
HAMI_CORE = "hami-core"
"""The mode of devices that are shared in software."""


class DeviceKind(StrEnum):
    """How devices of a node are registered, and how pods ask for them. A node has devices of one kind or several."""

    VGPU = "vgpu"
    """``volcano.sh/vgpu-number``, ``vgpu-memory``, ``vgpu-memory-percentage``, ``vgpu-cores``."""
    GPU = "gpu"
    """``volcano.sh/gpu-memory`` and ``volcano.sh/gpu-number``: equal devices, by index."""
    NPU = "npu"
    """``huawei.com/Ascend910B3`` and ``huawei.com/Ascend910B3-memory``, and the same of other models."""


class SharedDevice(msgspec.Struct, frozen=True):
    """One device of a node."""

    index: int
    """Its number on the node; unique among the devices of its kind."""
    uuid: Opaque = ""
    type: Word = ""
    """The model as the device plugin names it: ``NVIDIA-Tesla V100-SXM2-32GB``."""
    memory: int = 0
    """MiB; 0 where that is not known, and memory does not count."""
    sharers: int = 0
    """How many containers may use it at a time; 0 for no bound."""
    healthy: bool = True
    thousandths: int = WHOLE
    numa: int = -1
    """The number of its NUMA zone; -1 where that is not known."""
    network: int = -1
    """The number of the network that connects it with other NPUs of its node; -1 where that does not count."""


class NodeDevices(msgspec.Struct, frozen=True):
    """The devices of one kind on one node."""

    node: NodeName
    kind: Word = DeviceKind.VGPU
    mode: Word = ""
    """How they are divided: ``hami-core``, ``mig``, ``mps``; empty where that is not said."""
    devices: tuple[SharedDevice, ...] = ()
    """Sorted by index."""


class DeviceAsk(msgspec.Struct, frozen=True):
    """What one container asks for: so much of each of some devices."""

    number: int = 1
    """Of devices, each another one."""
    thousandths: int = 0
    """Of each; ``WHOLE`` wants devices that nobody else uses, 0 takes what computing power there is."""
    memory: int = 0
    """MiB of each; 0 where it is asked for in per cent, or does not count."""
    percent: int = 0
    """Of each device's memory, where ``memory`` is 0."""


class SharedDeviceRequest(msgspec.Struct, frozen=True, cache_hash=True):
    """What a pod asks of shared devices. Part of its shape, so that pods of equal requests share masks and scores."""

    kind: Word
    asks: tuple[DeviceAsk, ...]
    """By container that asks for any, in the order of the pod; they hold it together."""
    containers: tuple[int, ...] = ()
    """The position of each of these containers in the pod."""
    types: tuple[Word, ...] = ()
    """Only devices whose type has one of these words in it, capitals or not; empty for any."""
    other_types: tuple[Word, ...] = ()
    """No device whose type has one of these words in it. Where there are ``types``, these do not count."""
    uuids: tuple[Opaque, ...] = ()
    """Only these devices; empty for any."""
    other_uuids: tuple[Opaque, ...] = ()
    """None of these devices."""
    mode: Word = ""
    """Only nodes whose devices are divided so; empty for any."""
    chip: Word = ""
    """Of NPUs: only those of exactly this model."""
    spread: bool = False
    """Whether it accepts no device that another pod of its job uses."""
    problem: Word = ""
    """Why no device can be given for it: what does not go together in what the pod asks for. Such a pod waits."""


class HeldPart(msgspec.Struct, frozen=True):
    """What one container holds of one device."""

    index: int
    """-1 where only the uuid is known."""
    thousandths: int = 0
    memory: int = 0
    """MiB as the pod asked for it; an instance of MIG may have more."""
    uuid: Opaque = ""
    instance: Word = ""
    """Of a device that is divided by MIG: the geometry and the position in it (``group2-3``)."""


HeldParts = tuple[tuple[HeldPart, ...], ...]
"""What a pod holds, by container that asked for any."""


class DevicePod(msgspec.Struct, frozen=True):
    """A pod that holds devices of its node."""

    uid: Uid
    name: str
    """Namespace and name."""
    kind: Word
    parts: HeldParts
    leaving: bool = False
    """Whether it is terminating, so that its devices come free."""
    job: str = ""
    """The key of its job; empty for a pod without one."""
    labels: tuple[tuple[str, Value], ...] = ()
    """Sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceShareCatalogue:
    """The shared devices of all nodes that register any. The same object while nothing changes."""

    nodes: Mapping[str, tuple[NodeDevices, ...]] = field(default_factory=dict)
    """By name; the kinds sorted by name."""
    pods: Mapping[str, tuple[DevicePod, ...]] = field(default_factory=dict)
    """By name of a node: the pods there that hold devices, sorted by name."""
    chips: KnownChips = DEFAULT_CHIPS
    """How NPUs may be divided."""
    geometries: KnownGeometries = DEFAULT_GEOMETRIES
    """How GPUs may be divided by MIG."""


NO_SHARED_DEVICES = DeviceShareCatalogue()
"""The catalogue of a cluster where no node registers shared devices."""

ASSIGNED: Mapping[str, str] = {DeviceKind.VGPU: VGPU_IDS, DeviceKind.GPU: GPU_INDEX}
"""By kind: the annotation of pods that says which devices they hold. That of NPUs has the model in its name."""

NODE_LOCKS: Mapping[str, str] = {DeviceKind.VGPU: "hamivgpu", DeviceKind.GPU: "gpu", DeviceKind.NPU: NPU_LOCK}
"""By kind: the annotation by which nodes are locked while a device plugin gives a pod its devices."""


def assigned_name(request: SharedDeviceRequest) -> str:
    """The annotation of pods that says which of the devices that they ask for they hold."""
    if request.kind == DeviceKind.NPU:
        return f"{NPU_ANNOTATIONS}{request.chip}{NPU_ASSIGNED}"
    return ASSIGNED[request.kind]


def is_assignment(name: str) -> bool:
    """Whether an annotation of pods says which devices they hold."""
    return name in ASSIGNED.values() or (name.startswith(NPU_ANNOTATIONS) and name.endswith(NPU_ASSIGNED))


def npu_memory(chip: str) -> str:
    """The resource that is the memory of NPUs of a model."""
    return f"{NPU_PREFIX}{chip}{NPU_MEMORY_SUFFIX}"


def npu_cores(chip: str) -> str:
    """The resource that is the computing power of NPUs of a model, in per cent of one."""
    return f"{NPU_PREFIX}{chip}{NPU_CORES_SUFFIX}"

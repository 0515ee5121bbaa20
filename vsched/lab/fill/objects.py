"""GPUs of a fill test as objects of the API, in one of two ways.

Under a policy with the plugin ``deviceshare`` nodes register their GPUs as devices that pods share, pods ask for parts
of these, and the scheduler says which. Under others GPUs are amounts of a node, as in replays: the device plugin
chooses, and the node says what is left.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from vsched.errors import VschedError
from vsched.lab.fill.machines import Machines
from vsched.lab.trace.files import WHOLE_GPU, TraceNode, TracePod
from vsched.lab.trace.objects import DEFAULT_QUEUE, models_affinity, node_object, offering, pod_object
from vsched.mirror.ingest.deviceshare import HANDSHAKE, REGISTER, USE_TYPE
from vsched.model.deviceshare.records import ASSIGNED, VGPU_CORES, VGPU_NUMBER, DeviceKind
from vsched.model.plan import Bind
from vsched.sim.controllers.nodes.kubelet import Addresses
from vsched.sim.store.kinds import Obj

SCHEDULER = "vsched"
START = datetime(2026, 1, 1, tzinfo=UTC)
CREATED = START.strftime("%Y-%m-%dT%H:%M:%SZ")
IDS = ASSIGNED[DeviceKind.VGPU]
MILLI_A_CORE = 10
"""``vgpu-cores`` are per cents of a device; what is asked for is rounded up."""


class Gpus(Protocol):
    """How GPUs are told of."""

    def node(self, node: TraceNode) -> Obj:
        """The object of an empty node."""

    def pod(self, pod: TracePod, name: str) -> Obj:
        """The object of a pod."""

    def slots(self, pod: TracePod, bind: Bind, machines: Machines) -> tuple[int, ...]:
        """The devices that a pod gets."""

    def node_after(self, node: str, machines: Machines) -> Obj | None:
        """The object of a node after a pod was placed there; None where it stays the same."""


def _with_identity(obj: Obj) -> Obj:
    metadata = obj["metadata"]
    name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
    return {**obj, "metadata": {**metadata, "uid": name, "creationTimestamp": CREATED}}


class GpuAmounts:
    """GPUs as amounts of a node, and labels."""

    def __init__(self) -> None:
        self._addresses = Addresses(172, 16, 16)
        self._nodes: dict[str, Obj] = {}
        self._whole: dict[str, int] = {}
        """By node: devices that a pod has for itself."""

    def node(self, node: TraceNode) -> Obj:
        made = _with_identity(node_object(node, self._addresses, START))
        self._nodes[node.name] = made
        return made

    def pod(self, pod: TracePod, name: str) -> Obj:
        return _with_identity(pod_object(pod, name, SCHEDULER, DEFAULT_QUEUE))

    def slots(self, pod: TracePod, bind: Bind, machines: Machines) -> tuple[int, ...]:
        self._whole[bind.node] = self._whole.get(bind.node, 0) + pod.gpus * pod.takes_whole_gpus
        return machines.fullest(pod, bind.node)

    def node_after(self, node: str, machines: Machines) -> Obj | None:
        row = machines.rows[node]
        free = machines.free[: machines.nodes[row].gpus, row]
        if not free.size:
            return None
        offered = self._whole.get(node, 0) + int((free == WHOLE_GPU).sum())
        return offering(self._nodes[node], machines.nodes[row], offered, int(free.max()))


class SharedGpus:
    """GPUs as devices that pods share."""

    def __init__(self) -> None:
        self._addresses = Addresses(172, 16, 16)

    def node(self, node: TraceNode) -> Obj:
        made = _with_identity(node_object(replace(node, gpus=0), self._addresses, START))
        if not node.gpus:
            return made
        # By device: uuid, sharers (0: no bound), memory (0: it does not count), type, health, mode.
        devices = [f"{slot},0,0,NVIDIA-{node.model},true,hami-core" for slot in range(node.gpus)]
        annotations = {REGISTER: ":".join([*devices, ""]), HANDSHAKE: f"Reported {CREATED}"}
        return {**made, "metadata": {**made["metadata"], "annotations": annotations}}

    def pod(self, pod: TracePod, name: str) -> Obj:
        made = _with_identity(pod_object(replace(pod, gpus=0), name, SCHEDULER, DEFAULT_QUEUE))
        if not pod.gpus:
            return made
        asked = {VGPU_NUMBER: str(pod.gpus), VGPU_CORES: str(-(-pod.gpu_milli // MILLI_A_CORE))}
        resources = made["spec"]["containers"][0]["resources"]
        resources["requests"] |= asked
        resources["limits"] |= asked
        if pod.models:
            made["metadata"]["annotations"][USE_TYPE] = ",".join(pod.models)
            # Words of types may be parts of each other (A10, A100); labels are not.
            made["spec"]["affinity"] = models_affinity(pod)
        return made

    def slots(self, pod: TracePod, bind: Bind, machines: Machines) -> tuple[int, ...]:
        if not pod.gpus:
            return ()
        found = dict(bind.annotations).get(IDS, "")
        parts = [part.split(",") for container in found.split(";") for part in container.split(":") if part]
        try:
            return tuple(int(uuid) for uuid, *_ in parts)
        except ValueError:
            raise VschedError(f"{bind.name}: {IDS}: {found!r} names no devices of {bind.node}") from None

    def node_after(self, node: str, machines: Machines) -> Obj | None:
        return None

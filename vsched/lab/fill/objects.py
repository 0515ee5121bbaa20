"""GPUs of a fill test as objects of the API, in one of two ways.

Under a policy with the plugin ``deviceshare`` nodes register their GPUs as devices that pods share, pods ask for parts
of these, and the scheduler says which. Under others GPUs are amounts of a node, as in replays: the device plugin
chooses, and the node says what is left.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from vsched.apimachinery.meta.kinds import Obj
from vsched.lab.fill.machines import MachineTable
from vsched.lab.trace.files import WHOLE_GPU, TraceNode, TracePod
from vsched.lab.trace.objects import DEFAULT_QUEUE, node_object, offering, pod_object
from vsched.lab.trace.vgpus import IDS, devices_of, vgpu_node_object, vgpu_pod_object
from vsched.model.plan import Bind
from vsched.sim.controllers.nodes.kubelet import Addresses

SCHEDULER = "vsched"
START = datetime(2026, 1, 1, tzinfo=UTC)
PODS_AT_ONCE = 64
"""How many pods come at a time where the scheduler itself knows what is left of each device."""


class Gpus(Protocol):
    """How GPUs are told of."""

    pods_at_once: int
    """How many pods may come at a time: one where nodes have to say what is left before the next one comes."""

    def node(self, node: TraceNode) -> Obj:
        """The object of an empty node."""

    def pod(self, pod: TracePod, name: str, created: float) -> Obj:
        """The object of a pod that was created so many seconds after the nodes."""

    def slots(self, pod: TracePod, bind: Bind, machines: MachineTable) -> tuple[int, ...]:
        """The devices that a pod gets."""

    def node_after(self, node: str, machines: MachineTable) -> Obj | None:
        """The object of a node after a pod was placed there; None where it stays the same."""


def _with_identity(obj: Obj, created: float = 0.0) -> Obj:
    metadata = obj["metadata"]
    name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
    stamp = (START + timedelta(seconds=created)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**obj, "metadata": {**metadata, "uid": name, "creationTimestamp": stamp}}


class GpuAmounts:
    """GPUs as amounts of a node, and labels."""

    pods_at_once = 1

    def __init__(self) -> None:
        self._addresses = Addresses(172, 16, 16)
        self._nodes: dict[str, Obj] = {}
        self._whole: dict[str, int] = {}
        """By node: devices that a pod has for itself."""

    def node(self, node: TraceNode) -> Obj:
        made = _with_identity(node_object(node, self._addresses, START))
        self._nodes[node.name] = made
        return made

    def pod(self, pod: TracePod, name: str, created: float) -> Obj:
        return _with_identity(pod_object(pod, name, SCHEDULER, DEFAULT_QUEUE), created)

    def slots(self, pod: TracePod, bind: Bind, machines: MachineTable) -> tuple[int, ...]:
        self._whole[bind.node] = self._whole.get(bind.node, 0) + pod.gpus * pod.takes_whole_gpus
        return machines.fullest(pod, bind.node)

    def node_after(self, node: str, machines: MachineTable) -> Obj | None:
        row = machines.rows[node]
        free = machines.free[: machines.nodes[row].gpus, row]
        if not free.size:
            return None
        offered = self._whole.get(node, 0) + int((free == WHOLE_GPU).sum())
        return offering(self._nodes[node], machines.nodes[row], offered, int(free.max()))


class SharedGpus:
    """GPUs as devices that pods share."""

    pods_at_once = PODS_AT_ONCE

    def __init__(self) -> None:
        self._addresses = Addresses(172, 16, 16)

    def node(self, node: TraceNode) -> Obj:
        return _with_identity(vgpu_node_object(node, self._addresses, START))

    def pod(self, pod: TracePod, name: str, created: float) -> Obj:
        return _with_identity(vgpu_pod_object(pod, name, SCHEDULER, DEFAULT_QUEUE), created)

    def slots(self, pod: TracePod, bind: Bind, machines: MachineTable) -> tuple[int, ...]:
        return devices_of(bind.name, bind.node, dict(bind.annotations).get(IDS, "")) if pod.gpus else ()

    def node_after(self, node: str, machines: MachineTable) -> Obj | None:
        return None

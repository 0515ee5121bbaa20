"""The machines of a trace on virtual time: pods are created, run on the node they are bound to, and end.

This replaces the kubelets and controllers of an embedded cluster, which run on real time. Nothing here waits: the
caller advances the time and asks what has happened. Objects change in the store as the API server would change them,
so watches show every change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.workloads.actions import SetStatus
from vsched.clock import Clock
from vsched.lab.trace.devices import NodeGpus
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod
from vsched.lab.trace.objects import (
    ONE_QUEUE,
    group_object,
    namespace_object,
    namespace_of,
    node_object,
    offering,
    pod_object,
    priority_class_object,
    queue_object,
    queue_of,
)
from vsched.lab.trace.vgpus import IDS, devices_of, vgpu_group_object, vgpu_node_object, vgpu_pod_object
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers.nodes.kubelet import Addresses
from vsched.sim.controllers.nodes.node_status import address_of
from vsched.sim.controllers.performing import perform
from vsched.sim.controllers.pod_lifecycle import running_status
from vsched.sim.store.store import Event, Subscription

PODGROUPS = "scheduling.volcano.sh/podgroups"
QUEUES = "scheduling.volcano.sh/queues"
MOST_AT_ONCE = 10_000
"""Events taken from the store at a time."""


def queues_of(trace: ClusterTrace, weights: Mapping[str, int]) -> dict[str, int]:
    """These queues with their weights, and those of the trace that they are below."""
    found = dict(weights)
    for name in weights:
        above = trace.queues.get(name)
        while above is not None and above.parent and above.parent not in found:
            above = trace.queues.get(above.parent)
            if above is not None:
                found[above.name] = above.weight
    return dict(sorted(found.items()))


@dataclass(slots=True)
class Machine:
    """A node, and what is free on it."""

    node: TraceNode
    cpu_milli: int
    """Free, as all amounts here."""
    memory_mib: int
    devices: NodeGpus
    pods: dict[str, TracePod] = field(default_factory=dict)
    """Its pods, by name of the object."""
    offer: tuple[int, int] = (0, 0)
    """What the node object says of its GPUs: how many whole ones pods may use, and the largest free part."""

    @classmethod
    def of(cls, node: TraceNode) -> Machine:
        devices = NodeGpus(node.gpus)
        return cls(node, node.cpu_milli, node.memory_mib, devices, offer=(devices.offered, devices.largest_free))


@dataclass(frozen=True, slots=True)
class PodPlaced:
    """A pod that was bound; it runs from now on."""

    name: str
    machine: Machine
    whole: bool
    """Whether it got as many devices as it asked for, and not parts of more."""


@dataclass(frozen=True, slots=True)
class PodEvicted:
    """A running pod that was deleted by the scheduler."""

    name: str
    machine: Machine


@dataclass(frozen=True, slots=True)
class PodChanges:
    """What has happened since the last call."""

    placed: Sequence[PodPlaced] = ()
    evicted: Sequence[PodEvicted] = ()


def virtual_cluster(clock: Clock, seed: int = 1) -> Cluster:
    """An embedded cluster on this clock, without controllers."""

    def now() -> datetime:
        return datetime.fromtimestamp(clock.now(), UTC)

    return Cluster(settings=ClusterSettings(controllers=None), now=now, seed=seed)


class Machines:
    """The nodes of a trace in a running embedded cluster."""

    def __init__(self, cluster: Cluster, clock: Clock, scheduler: str, *, one_queue: bool, vgpus: bool) -> None:
        self._cluster = cluster
        self._client = cluster.client
        self._clock = clock
        self._scheduler = scheduler
        self._one_queue = one_queue
        """Whether pods of all queues wait in one line."""
        self._vgpus = vgpus
        """Whether GPUs are devices of which the scheduler says who gets which."""
        self._addresses = Addresses(10, 128, 128)
        self._pods: dict[str, TracePod] = {}
        """Pods that exist, by name of the object."""
        self._on: dict[str, Machine] = {}
        self._ended: set[str] = set()
        """Pods that we have deleted ourselves."""
        self._shares_gpus = True
        self.machines: dict[str, Machine] = {}
        self._events: Subscription = cluster.store.subscribe(cluster.client.kind("pods"))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def set_up(self, trace: ClusterTrace, weights: dict[str, int]) -> None:
        """Create the nodes of a trace, the queues with these weights, the namespaces and the classes of priority."""
        self._shares_gpus = trace.shares_gpus
        for namespace in sorted({namespace_of(pod) for pod in trace.pods}):
            if self._client.get("namespaces", "", namespace) is None:  # such as default, which is there from the start
                self._client.create("namespaces", namespace_object(namespace))
        for priority in sorted({pod.priority for pod in trace.pods} - {0}):
            self._client.create("scheduling.k8s.io/priorityclasses", priority_class_object(priority))
        for name, weight in {ONE_QUEUE: 1}.items() if self._one_queue else queues_of(trace, weights).items():
            if self._client.get(QUEUES, "", name) is None:
                self._client.create(QUEUES, queue_object(name, weight, trace.queues.get(name)))
        addresses = Addresses(172, 16, 16)
        for node in trace.nodes:
            told = vgpu_node_object if self._vgpus else node_object
            made = self._client.create("nodes", told(node, addresses, self._now()))
            # The server gives every new node the taint of a node that is not ready.
            self._client.update("nodes", {**made, "spec": {}})
            self.machines[node.name] = Machine.of(node)

    def begin_gang(self, pod: TracePod, group: str) -> None:
        """Create the PodGroup of a pod's gang, before its pods."""
        assert pod.gang is not None
        asking = vgpu_group_object if self._vgpus else group_object
        self._client.create(PODGROUPS, asking(pod, pod.gang, group, self._queue_of(pod)))

    def end_gang(self, pod: TracePod, group: str) -> None:
        """Delete the PodGroup of a pod's gang, whose pods are gone."""
        self._client.delete(PODGROUPS, namespace_of(pod), group, grace_seconds=0)

    def arrive(self, pod: TracePod, name: str, group: str = "") -> None:
        """Create a pod, of this PodGroup if any."""
        self._pods[name] = pod
        asking = vgpu_pod_object if self._vgpus else pod_object
        self._client.create("pods", asking(pod, name, self._scheduler, self._queue_of(pod), group))

    def _queue_of(self, pod: TracePod) -> str:
        return ONE_QUEUE if self._one_queue else queue_of(pod)

    def end(self, name: str) -> None:
        """Delete a pod that has run its time or is given up."""
        pod = self._pods[name]
        machine = self._leave(name) if name in self._on else None
        self._pods.pop(name, None)
        self._ended.add(name)
        self._client.delete("pods", namespace_of(pod), name, grace_seconds=0)
        if machine is not None:
            self._offer(machine)

    def look(self) -> PodChanges:
        """What has become of pods since the last call; pods that were bound start to run."""
        bound: list[tuple[str, str]] = []
        evicted: list[PodEvicted] = []
        while events := self._events.take(MOST_AT_ONCE):
            for event in events:
                self._note(event, bound, evicted)
        # Whole GPUs first, as they need whole devices; parts fit into what is left.
        bound.sort(key=lambda one: (not self._pods[one[0]].takes_whole_gpus, one[0]))
        placed = [self._start(name, node) for name, node in bound if name in self._pods]
        for machine in [*(one.machine for one in placed), *(one.machine for one in evicted)]:
            self._offer(machine)
        return PodChanges(placed, evicted)

    def _note(self, event: Event, bound: list[tuple[str, str]], evicted: list[PodEvicted]) -> None:
        name = event.obj["metadata"]["name"]
        if event.type == "DELETED":
            if name in self._ended:
                self._ended.discard(name)
            elif name in self._on:
                evicted.append(PodEvicted(name, self._leave(name)))
            return
        node = event.obj["spec"].get("nodeName")
        before = event.previous.obj["spec"].get("nodeName") if event.previous is not None else None
        if node and not before:
            bound.append((name, node))

    def _start(self, name: str, node: str) -> PodPlaced:
        machine, pod = self.machines[node], self._pods[name]
        machine.cpu_milli -= pod.cpu_milli
        machine.memory_mib -= pod.memory_mib
        machine.pods[name] = pod
        self._on[name] = machine
        obj, host = self._client.get("pods", namespace_of(pod), name), self._client.get("nodes", "", node)
        assert obj is not None
        assert host is not None
        whole = self._take(machine, pod, obj) if pod.gpus else True
        self._set_status("pods", obj, running_status(obj, address_of(host), self._addresses(), self._now()))
        return PodPlaced(name, machine, whole)

    def _take(self, machine: Machine, pod: TracePod, obj: Obj) -> bool:
        """Give a pod its devices; returns whether these are as many as it asked for."""
        metadata = obj["metadata"]
        if not self._vgpus:
            return machine.devices.take(metadata["name"], pod)
        numbers = devices_of(metadata["name"], machine.node.name, metadata.get("annotations", {}).get(IDS, ""))
        machine.devices.hold(metadata["name"], pod, numbers)
        return True

    def _leave(self, name: str) -> Machine:
        machine, pod = self._on.pop(name), self._pods.pop(name)
        machine.cpu_milli += pod.cpu_milli
        machine.memory_mib += pod.memory_mib
        del machine.pods[name]
        if pod.gpus:
            machine.devices.give_back(name, pod)
        return machine

    def _offer(self, machine: Machine) -> None:
        """Write on the node how many whole GPUs pods may use, where that has changed and pods have parts of GPUs."""
        if not self._shares_gpus or self._vgpus:
            return
        devices = machine.devices
        offer = devices.offered, devices.largest_free
        if offer == machine.offer:
            return
        machine.offer = offer
        kind = self._client.kind("nodes")
        record = self._cluster.store.get(kind, "", machine.node.name)
        assert record is not None
        self._cluster.store.replace(kind, offering(record.obj, machine.node, *offer), record)

    def _set_status(self, resource: str, obj: Obj, status: Obj) -> None:
        metadata = obj["metadata"]
        action = SetStatus(resource, metadata.get("namespace", ""), metadata["name"], status)
        perform(self._cluster.store, self._client, action)

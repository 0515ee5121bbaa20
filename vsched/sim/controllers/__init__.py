"""The controllers of the embedded cluster: kubelets, nodes, workloads, volumes, devices, garbage, budgets, quotas.

``every_controller`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vsched.apimachinery.manifests.node_pools import PoolDescription
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.apimachinery.workloads.jobs import JobTimes
from vsched.sim.client import LocalClient
from vsched.sim.controllers.autoscaling.autoscaler import NodeAutoscaler
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.devices.allocating import PluginAllocation
from vsched.sim.controllers.devices.claims import ResourceClaims
from vsched.sim.controllers.devices.driver import BindingConditions, DeviceDriver
from vsched.sim.controllers.devices.fleet import DeviceFleet
from vsched.sim.controllers.devices.making import PodGroupResourceClaims, PodResourceClaims
from vsched.sim.controllers.devices.preparing import DevicesPrepared
from vsched.sim.controllers.devices.registering import DevicePlugins
from vsched.sim.controllers.devices.taints import DeviceTaintEviction
from vsched.sim.controllers.disruption_controller import DisruptionBudgets
from vsched.sim.controllers.engine import Engine
from vsched.sim.controllers.event_recorder import ControllerEventRecorder
from vsched.sim.controllers.eviction_requests import EvictionRequests
from vsched.sim.controllers.garbage import GarbageCollector
from vsched.sim.controllers.namespaces import Namespaces
from vsched.sim.controllers.native_groups import CompositePodGroupProtection, PodGroupProtection
from vsched.sim.controllers.nodes.kubelet import Addresses, Kubelets, NodeAgents
from vsched.sim.controllers.nodes.lifecycle import NodeLifecycle, OrphanedPods, TaintEviction
from vsched.sim.controllers.nodes.usage_meter import UsageMeter
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.pod_lifecycle import PodTimes
from vsched.sim.controllers.pod_usage import UsageSettings
from vsched.sim.controllers.quotas import Quotas
from vsched.sim.controllers.volumes.attaching import Attacher
from vsched.sim.controllers.volumes.controllers import (
    ClaimBinder,
    ClaimProtection,
    EphemeralVolumes,
    VolumePhases,
    VolumeProtection,
)
from vsched.sim.controllers.volumes.csi_nodes import CsiNodes
from vsched.sim.controllers.volumes.mounting import VolumesMounted
from vsched.sim.controllers.volumes.provisioner import Provisioner, ReturnedCapacity
from vsched.sim.controllers.workloads.controllers import (
    CronJobs,
    DaemonSets,
    Deployments,
    Jobs,
    ReplicaSets,
    StatefulSets,
)
from vsched.sim.store.store import Store

__all__ = [
    "ControllerSettings",
    "DeviceFleet",
    "Engine",
    "JobTimes",
    "PodIndex",
    "PodTimes",
    "PoolDescription",
    "UsageMeter",
    "UsageSettings",
    "start_engine",
]


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """How the simulated machines behave; all times in seconds."""

    pods: PodTimes = field(default_factory=PodTimes)
    jobs: JobTimes = field(default_factory=JobTimes)
    lease: float = 300.0
    """How often a node renews its lease: rarely, so that thousands of nodes are cheap."""
    orphan_quarantine: float = 5.0
    """How long pods outlive their node."""
    provisioning: float = 0.05
    """How long it takes to make a volume for a claim, unless its storage class says otherwise."""
    kubelets: bool = True
    """Whether nodes have kubelets. Without them, nodes are as they were created, and bound pods never start."""
    kubelet_version: str = "v1.36.2"
    usage: UsageSettings | None = None
    """What pods use of their nodes; None to measure nothing."""
    events: bool = False
    """Write Events, as real controllers do. There are several for each pod, so benches turn them off."""


def every_controller(
    client: LocalClient,
    pod_index: PodIndex,
    registry: KindRegistry,
    settings: ControllerSettings,
    catch_up: Callable[[], None],
    devices: DeviceFleet,
) -> list[Controller]:
    """All controllers, in the order in which they run."""
    return [
        *(_of_machines(client, pod_index, settings, devices) if settings.kubelets else ()),
        NodeLifecycle(client, pod_index),
        TaintEviction(client, pod_index),
        OrphanedPods(client, pod_index, settings.orphan_quarantine),
        ReplicaSets(client, pod_index),
        Deployments(client, pod_index),
        StatefulSets(client, pod_index),
        DaemonSets(client, pod_index),
        Jobs(client, pod_index, settings.jobs),
        CronJobs(client, pod_index),
        *_of_volumes(client, pod_index, settings),
        *_of_devices(client, pod_index, devices),
        PodGroupProtection(client, pod_index),
        CompositePodGroupProtection(client, pod_index),
        DisruptionBudgets(client, pod_index),
        EvictionRequests(client, pod_index),
        Quotas(client, pod_index),
        GarbageCollector(client, pod_index, registry, catch_up),
        Namespaces(client, pod_index, registry),
    ]


def _of_machines(
    client: LocalClient, pod_index: PodIndex, settings: ControllerSettings, devices: DeviceFleet
) -> list[Controller]:
    kubelet, node_ip = client.named("kubelet"), Addresses(172, 16, 16)
    checks = VolumesMounted(client, pod_index), DevicesPrepared(client, pod_index)
    return [
        Kubelets(kubelet, pod_index, settings.pods, checks, PluginAllocation(pod_index, devices)),
        NodeAgents(kubelet, pod_index, version=settings.kubelet_version, lease_seconds=settings.lease, address=node_ip),
    ]


def _of_volumes(client: LocalClient, pod_index: PodIndex, settings: ControllerSettings) -> list[Controller]:
    provisioner = client.named("csi-provisioner")
    return [
        EphemeralVolumes(client, pod_index),
        ClaimBinder(client, pod_index),
        VolumePhases(client, pod_index),
        Provisioner(provisioner, pod_index, settings.provisioning),
        ReturnedCapacity(provisioner, pod_index),
        Attacher(client, pod_index),
        CsiNodes(client.named("kubelet"), pod_index),
        ClaimProtection(client, pod_index),
        VolumeProtection(client, pod_index),
    ]


def _of_devices(client: LocalClient, pod_index: PodIndex, devices: DeviceFleet) -> list[Controller]:
    driver = client.named("dra-driver")
    return [
        PodGroupResourceClaims(client, pod_index),
        PodResourceClaims(client, pod_index),
        ResourceClaims(client, pod_index),
        DeviceDriver(driver, pod_index, devices),
        BindingConditions(driver, pod_index, devices),
        DeviceTaintEviction(client, pod_index),
        DevicePlugins(client.named("device-plugin"), pod_index, devices),
    ]


def start_engine(
    store: Store,
    client: LocalClient,
    settings: ControllerSettings,
    meter: UsageMeter | None = None,
    devices: DeviceFleet | None = None,
    pools: Sequence[PoolDescription] = (),
) -> Engine:
    """Starts all controllers, the meter and the autoscaler where they are wanted; the caller closes the engine."""
    pod_index = PodIndex(client) if meter is None else meter.pod_index
    engine = Engine(store, pod_index, ControllerEventRecorder(client) if settings.events else None)
    if meter is not None:
        engine.add(meter)
    fleet = devices or DeviceFleet()
    for controller in every_controller(client, pod_index, store.registry, settings, engine.catch_up, fleet):
        engine.add(controller)
    if pools:
        engine.add(NodeAutoscaler(client.named("cluster-autoscaler"), pod_index, pools))
    engine.start()
    return engine

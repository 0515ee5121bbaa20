"""The controllers of the embedded cluster: kubelets, nodes, workloads, garbage, namespaces, budgets, quotas.

The table of contents; ``every_controller`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.disruption_controller import DisruptionBudgets
from vsched.sim.controllers.engine import Engine
from vsched.sim.controllers.event_recorder import Recorder
from vsched.sim.controllers.garbage import GarbageCollector
from vsched.sim.controllers.namespaces import Namespaces
from vsched.sim.controllers.nodes.kubelet import Addresses, Kubelets, NodeAgents
from vsched.sim.controllers.nodes.lifecycle import NodeLifecycle, OrphanedPods, TaintEviction
from vsched.sim.controllers.nodes.usage_meter import Meter
from vsched.sim.controllers.pod_index import Roster
from vsched.sim.controllers.pod_lifecycle import PodTimes
from vsched.sim.controllers.pod_usage import UsageSettings
from vsched.sim.controllers.quotas import Quotas
from vsched.sim.controllers.workloads.controllers import (
    CronJobs,
    DaemonSets,
    Deployments,
    Jobs,
    ReplicaSets,
    StatefulSets,
)
from vsched.sim.controllers.workloads.jobs import JobTimes
from vsched.sim.store.kinds import KindRegistry
from vsched.sim.store.store import Store

__all__ = ["ControllerSettings", "Engine", "JobTimes", "Meter", "PodTimes", "Roster", "UsageSettings", "start_engine"]


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """How the pretended machines behave; seconds throughout."""

    pods: PodTimes = field(default_factory=PodTimes)
    jobs: JobTimes = field(default_factory=JobTimes)
    lease: float = 300.0
    """How often a node renews its lease: rarely, so that thousands of nodes cost next to nothing."""
    orphan_quarantine: float = 5.0
    """How long pods outlive their node."""
    kubelet_version: str = "v1.36.2"
    usage: UsageSettings | None = None
    """What pods use of their nodes; None where nobody measures it."""
    events: bool = False
    """Tell what they do in Events, as real ones do: several for each pod, so a measurement goes without."""


def every_controller(
    client: LocalClient,
    roster: Roster,
    registry: KindRegistry,
    settings: ControllerSettings,
    catch_up: Callable[[], None],
) -> list[Controller]:
    """All controllers, in the order in which they take their turns."""
    kubelet = client.named("kubelet")
    node_ip = Addresses(172, 16, 16)
    return [
        Kubelets(kubelet, roster, settings.pods),
        NodeAgents(kubelet, roster, version=settings.kubelet_version, lease_seconds=settings.lease, address=node_ip),
        NodeLifecycle(client, roster),
        TaintEviction(client, roster),
        OrphanedPods(client, roster, settings.orphan_quarantine),
        ReplicaSets(client, roster),
        Deployments(client, roster),
        StatefulSets(client, roster),
        DaemonSets(client, roster),
        Jobs(client, roster, settings.jobs),
        CronJobs(client, roster),
        DisruptionBudgets(client, roster),
        Quotas(client, roster),
        GarbageCollector(client, roster, registry, catch_up),
        Namespaces(client, roster, registry),
    ]


def start_engine(store: Store, client: LocalClient, settings: ControllerSettings, meter: Meter | None = None) -> Engine:
    """Starts all controllers, with the meter where there is one; the caller closes the engine."""
    roster = Roster(client) if meter is None else meter.roster
    engine = Engine(store, roster, Recorder(client) if settings.events else None)
    if meter is not None:
        engine.add(meter)
    for controller in every_controller(client, roster, store.registry, settings, engine.catch_up):
        engine.add(controller)
    engine.start()
    return engine

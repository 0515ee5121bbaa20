"""A daemon at an embedded cluster, and the few words that end-to-end tests are written in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.controllers.flows.controller import MakerSettings
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.observe.settings import ObserveSettings, OverviewSettings
from vsched.daemon.options import Options
from vsched.daemon.policy.reload import PolicyInForce
from vsched.daemon.system.tuning import LEFT_ALONE, Collector
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster
from vsched.writes.confirmations import ConfirmationSettings
from vsched.writes.status.domains import DomainSettings
from vsched.writes.status.hypernodes import HyperNodeStatusSettings
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.status.pods import PodConditionSettings
from vsched.writes.writeback import WritebackSettings

Obj = dict[str, Any]
PODGROUPS = "scheduling.volcano.sh/podgroups"
OFTEN_SEEN = ObserveSettings(OverviewSettings(period_seconds=0.05, part=1.0))
"""Those who watch see at once what has changed."""
WRITTEN_SOON = WritebackSettings(
    jobs=JobStatusSettings(grace_seconds=0.1, reword_seconds=0.1),
    domains=DomainSettings(grace_seconds=0.1),
    hypernodes=HyperNodeStatusSettings(grace_seconds=0.1),
    pods=PodConditionSettings(grace_seconds=0.1, reword_seconds=0.1),
)
"""Statuses and conditions, and other words in them, are written without the delays that spare the API server."""


def node(name: str, cpu: str = "4", memory: str = "16Gi") -> Obj:
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def podgroup(name: str, minimum: int, **spec: Any) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": minimum, "queue": "default", **spec},
    }


def pod(name: str, group: str = "", cpu: str = "1") -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"scheduling.k8s.io/group-name": group} if group else {},
        },
        "spec": {
            "schedulerName": "vsched",
            "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}],
        },
    }


def gang(name: str, size: int, minimum: int | None = None, cpu: str = "1") -> list[Obj]:
    members = [pod(f"{name}-{number}", name, cpu) for number in range(size)]
    return [podgroup(name, size if minimum is None else minimum), *members]


def nodes_of(cluster: Cluster, prefix: str = "") -> dict[str, str]:
    """Where the pods are whose names start so; those without a node are left out."""
    return {
        found["metadata"]["name"]: found["spec"]["nodeName"]
        for found in cluster.client.list("pods", "default")
        if found["metadata"]["name"].startswith(prefix) and found["spec"].get("nodeName")
    }


def status_of(cluster: Cluster, name: str) -> Obj:
    """The status of a PodGroup, empty where there is none yet."""
    return ((cluster.client.get(PODGROUPS, "default", name) or {}).get("status")) or {}


def queue_status(cluster: Cluster, name: str) -> Obj:
    """The status of a Queue, empty where there is none yet."""
    return ((cluster.client.get("scheduling.volcano.sh/queues", "", name) or {}).get("status")) or {}


def condition_of(found: Obj | None, kind: str) -> Obj:
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == kind), {})


def reasons_of(cluster: Cluster, name: str) -> set[str]:
    """The reasons of the Events about an object."""
    return {
        event["reason"] for event in cluster.client.list("events", "default") if event["involvedObject"]["name"] == name
    }


async def sessions(daemon: Daemon, count: int) -> None:
    """Let so many sessions go by."""
    end = daemon.telemetry.findings.cycles + count
    await until(lambda: daemon.telemetry.findings.cycles >= end)


async def digested(cluster: Cluster, daemon: Daemon) -> None:
    """Wait until sessions have seen all there is, and what they decided is done and has been seen as well."""
    served = cluster.store.registry
    resources = {kind: found.statistics.resource for kind, found in daemon.reflectors.items()}
    followed = {
        kind: preferred
        for kind, resource in resources.items()
        if (preferred := served.preferred(resource.group, resource.plural)) is not None
    }

    def is_seen() -> bool:
        versions = {kind: int(daemon.reflectors[kind].version or 0) for kind in followed}
        return all(versions[kind] >= cluster.store.latest(found) for kind, found in followed.items())

    def is_done() -> bool:
        believed = any(count for name, count in daemon.mirror.describe().items() if name.startswith("assumed_"))
        leaving = any(pod["metadata"].get("deletionTimestamp") for pod in cluster.client.list("pods"))
        return not (daemon.dispatcher.busy or daemon.evictor.busy or believed or leaving)

    async with asyncio.timeout(PATIENCE_SECONDS):
        revision = 0
        while revision != cluster.store.revision:
            revision = cluster.store.revision
            await cluster.settle()
            await until(is_seen)
            for _ in range(2):
                await daemon.inspection.snapshots.look()
            await until(is_done)


@asynccontextmanager
async def scheduling(
    url: str,
    policy: PolicyInForce | None = None,
    confirmations: ConfirmationSettings | None = None,
    observing: ObserveSettings | None = None,
    writeback: WritebackSettings | None = None,
    makers: MakerSettings | None = None,
    collector: Collector = LEFT_ALONE,
    **options: Any,
) -> AsyncIterator[Daemon]:
    """A daemon at this API server, stopped in order at the end.

    A session that ends in an error fails the test: the daemon logs it and tries again, so that much goes on working.
    """
    quiet = {"listen_address": "", "healthz_address": "", "drain_seconds": 2.0}
    async with ApiClient(Connection(url)) as client, asyncio.TaskGroup() as group:
        daemon = Daemon(
            Options(**{**quiet, **options}),
            client,
            REGISTRY,
            policy=policy,
            settings=DaemonSettings(
                writeback, confirmations or ConfirmationSettings(), observing or ObserveSettings(), makers
            ),
            collector=collector,
        )
        task = group.create_task(daemon.run())
        try:
            yield daemon
        finally:
            daemon.stop()
            await asyncio.wait((task,), timeout=PATIENCE_SECONDS)
            task.cancel()
    assert not sessions_failed(daemon), "a session ended in an error: its traceback is in the log"


def sessions_failed(daemon: Daemon) -> float:
    """How many sessions have ended in an error."""
    return sum(sample.value for sample in daemon.telemetry.metrics.failed_cycles.collect()[0].samples[:1])


def has_listed(daemon: Daemon) -> bool:
    """Whether a daemon has listed all kinds that the API server serves."""
    details = daemon.health.ready().details
    return all(synced or kind in details["absent"] for kind, synced in details["synced"].items())

"""Several daemons of which one acts: started, stopped in order, and killed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.support.running import Obj
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.policy.reload import PolicyInForce
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LeaseSettings
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster

PATIENT = LeaseSettings(duration_seconds=3600, renew_deadline_seconds=3000, retry_seconds=2000)
"""Whoever takes over within a test's time was told that the lease is free: it would look again in half an hour."""
WATCHFUL = LeaseSettings(duration_seconds=600, renew_deadline_seconds=500, retry_seconds=0.2)
"""Outlives whatever a busy machine does to a leader, and is looked at often."""
LEASES = "coordination.k8s.io/leases"


class Replica:
    """One daemon among several."""

    def __init__(self, daemon: Daemon, task: asyncio.Task[None]) -> None:
        self.daemon = daemon
        self._task = task

    @property
    def warm(self) -> bool:
        """Whether its mirror is complete, and sessions could start."""
        return self.daemon.health.ready().ok and self.daemon.mirror.describe()["snapshots"] > 0

    async def stop(self) -> None:
        """What SIGTERM does."""
        self.daemon.stop()
        await asyncio.wait_for(asyncio.shield(self._task), PATIENCE_SECONDS)

    async def kill(self) -> None:
        """What kill -9 does: nothing is carried out, told or given back."""
        self._task.cancel()
        _, running = await asyncio.wait((self._task,), timeout=PATIENCE_SECONDS)
        assert not running, "it does not end"

    def relists(self) -> dict[str, int]:
        """Lists of each kind beyond the first."""
        return {kind: found.statistics.relists for kind, found in self.daemon.reflectors.items()}

    def value(self, name: str, **labels: str) -> float:
        """A metric of this daemon."""
        return self.daemon.telemetry.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def replica(
    url: str, policy: Callable[[ApiClient], Awaitable[PolicyInForce]] | None = None, **options: Any
) -> AsyncIterator[Replica]:
    """A daemon that takes part in the election; killed at the end unless it has ended before. ``policy`` opens its."""
    quiet: dict[str, Any] = {"listen_address": "", "healthz_address": "", "leader_elect": True, "lease": PATIENT}
    async with ApiClient(Connection(url)) as client:
        opened = None if policy is None else await policy(client)
        daemon = Daemon(Options(**{**quiet, **options}), client, REGISTRY, policy=opened)
        found = Replica(daemon, asyncio.create_task(daemon.run()))
        try:
            yield found
        finally:
            await found.kill()


@asynccontextmanager
async def pair(url: str, leader_url: str = "", **options: Any) -> AsyncIterator[tuple[Replica, Replica]]:
    """A leader and a warm standby; the leader may go a way of its own to the API server."""
    async with replica(leader_url or url, **options) as leader:
        await until(leader.daemon.election.leading.is_set)
        async with replica(url, **options) as standby:
            await until(lambda: standby.warm)
            yield leader, standby


def free(cluster: Cluster) -> None:
    """The lease is nobody's: what its holder does last, done for one that cannot any more."""

    def released(lease: Obj) -> Obj:
        return {**lease, "spec": {**lease["spec"], "holderIdentity": ""}}

    cluster.client.patch(LEASES, "kube-system", "vsched", released)


def run_out(cluster: Cluster) -> None:
    """The lease is nearly over: as though its holder, which cannot renew it any more, had asked for a second only."""

    def shortened(lease: Obj) -> Obj:
        return {**lease, "spec": {**lease["spec"], "leaseDurationSeconds": 1}}

    cluster.client.patch(LEASES, "kube-system", "vsched", shortened)


def bound_twice(cluster: Cluster) -> list[str]:
    """Pods that were on more than one node in their lives."""
    nodes: dict[str, set[str]] = {}
    for event in cluster.store.subscribe(cluster.client.kind("pods"), after=0).take(1_000_000):
        node = event.obj["spec"].get("nodeName")
        if node:
            nodes.setdefault(event.obj["metadata"]["uid"], set()).add(node)
    return [uid for uid, seen in nodes.items() if len(seen) > 1]


def overfull(cluster: Cluster, pods_a_node: int) -> list[str]:
    """Nodes that hold more pods than fit, where each pod asks for the same."""
    held = Counter(found["spec"].get("nodeName") for found in cluster.client.list("pods", "default"))
    return [node for node, count in held.items() if node and count > pods_a_node]

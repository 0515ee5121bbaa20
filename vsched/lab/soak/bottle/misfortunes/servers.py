"""What happens to the API server of a bottle, and to the Leases in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import format_micro_time
from vsched.clock import utc_now
from vsched.handlers import Handlers
from vsched.lab.soak.bottle.faults import SERVER, ClusterFaultKind
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.nodes.node_status import LEASE_NAMESPACE

LEASES = "coordination.k8s.io/leases"
THIEF = "somebody-else"
RESTORING_SECONDS = 15.0
"""A backup is not restored in less."""


class Servers:
    """Ends the API server, brings it back as it was or as it had been, and takes Leases away."""

    def __init__(self, cluster: Cluster, random: Random, tell: Callable[[str, str], None]) -> None:
        self._cluster, self._random, self._tell = cluster, random, tell
        self._turn = asyncio.Lock()
        self.on_restored: Handlers[[]] = Handlers()
        """Called when the cluster is back at an earlier state, before anybody can ask it."""

    async def restart(self, seconds: float) -> None:
        """Nobody listens for so long."""
        async with self._turn:
            self._tell(ClusterFaultKind.RESTART, SERVER)
            try:
                await self._cluster.stop_serving()
                await asyncio.sleep(seconds)
            finally:
                await self._cluster.serve()

    async def restore(self, back_seconds: float, seconds: float) -> None:
        """Nobody listens for so long and a while more, and then it is as it was up to ``back_seconds`` before."""
        async with self._turn:
            revision = self._cluster.store.revision
            await asyncio.sleep(self._random.uniform(0.0, back_seconds))
            self._tell(ClusterFaultKind.RESTORE, SERVER)
            try:
                await self._cluster.stop_serving()
                await asyncio.sleep(RESTORING_SECONDS + seconds)
                await asyncio.shield(self._go_back(revision))
            finally:
                await self._cluster.serve()

    async def _go_back(self, revision: int) -> None:
        await self._cluster.restore(revision)
        self.on_restored()

    async def steal_lease(self, seconds: float) -> None:
        """Somebody else writes itself into a Lease for so long, and does not renew it."""
        lease = self._any_lease(ClusterFaultKind.STEAL_LEASE)
        if lease is None:
            return
        now = format_micro_time(utc_now())
        spec = lease.get("spec") or {}
        stolen: Obj = {
            "holderIdentity": THIEF,
            "leaseDurationSeconds": max(1, round(seconds)),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": spec.get("leaseTransitions", 0) + 1,
        }
        self._cluster.client.update(LEASES, {**lease, "spec": {**spec, **stolen}})

    async def delete_lease(self, _: float) -> None:
        """A Lease is deleted."""
        lease = self._any_lease(ClusterFaultKind.DELETE_LEASE)
        if lease is not None:
            self._cluster.client.delete(LEASES, lease["metadata"]["namespace"], lease["metadata"]["name"])

    def _any_lease(self, fault: ClusterFaultKind) -> Obj | None:
        """A Lease that is not that of a node; None where there is none."""
        leases = self._cluster.client.list(LEASES)
        found = [lease for lease in leases if lease["metadata"]["namespace"] != LEASE_NAMESPACE]
        if not found:
            return None
        lease = self._random.choice(found)
        self._tell(fault, lease["metadata"]["name"])
        return lease

"""A daemon whose sessions wait until a test lets them start: what one session sees is then known exactly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf

from tests.support.waiting import until
from vsched.cli.plan.live import fetched
from vsched.client.target import DaemonTarget
from vsched.clock import Clock, SystemClock
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.policy.reload import PolicyInForce
from vsched.daemon.triggers import Reason, Trigger
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.model.dump.cycle import Recording
from vsched.settings import Settings, load_text
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster

PERIOD_SECONDS = 0.05
WAIT_SECONDS = 60.0
"""For what happens by itself: far more than it takes, on a machine that others use, too."""


class Gate(Trigger):
    """Sessions start one after the other while the gate is open, and one at a time while it is held."""

    def __init__(self) -> None:
        super().__init__(PERIOD_SECONDS, 0.0)
        self._open = asyncio.Event()
        self._open.set()
        self._at_gate = asyncio.Event()
        self._one = False

    async def next(self, busy_seconds: float = 0.0, due_seconds: float = inf) -> Reason:
        reason = await super().next(busy_seconds, due_seconds)
        self._at_gate.set()
        await self._open.wait()
        self._at_gate.clear()
        if self._one:
            self._one = False
            self._open.clear()
        return reason

    async def hold(self) -> None:
        """Let no further session start; returns when none is under way."""
        self._open.clear()
        async with asyncio.timeout(WAIT_SECONDS):
            await self._at_gate.wait()

    def let_one(self) -> None:
        """Let a single session start."""
        self._one = True
        self._open.set()

    def release(self) -> None:
        """Let sessions start as they come."""
        self._open.set()


class Chosen(PolicyInForce):
    """A policy that a test gives, and may change."""

    def __init__(self, text: str, clock: Clock) -> None:
        self.text = text
        super().__init__(REGISTRY, clock)

    def _load(self, generation: int) -> Settings:
        return load_text(self.text, "policy", REGISTRY)

    def choose(self, text: str) -> None:
        """From the next session on this one is in force."""
        self.text = text
        self.own = self._load(2)


class Held:
    """A running daemon with a gate before its sessions."""

    def __init__(self, cluster: Cluster, daemon: Daemon, gate: Gate, policy: Chosen) -> None:
        self.cluster = cluster
        self.daemon = daemon
        self.gate = gate
        self.policy = policy

    async def dumped(self) -> Recording:
        """The recording of a single session, as a running daemon hands it out; sessions are held before and after."""
        url = f"http://127.0.0.1:{self.daemon.ports['--listen-address']}"
        async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as group:
            fetching = group.create_task(fetched(DaemonTarget(url)))
            # Not when the trigger is pulled: a late change does that, too.
            await until(lambda: self.daemon.inspection.snapshots.waiting, WAIT_SECONDS)
            self.gate.let_one()
        await self.gate.hold()
        return fetching.result()

    async def quiet(self, looks: int = 4) -> None:
        """Wait until nothing happens any more: no controller has work, and the mirror has seen all that was written."""
        calm, revision = 0, -1
        async with asyncio.timeout(WAIT_SECONDS):
            while calm < looks:
                await self.cluster.settle()
                await asyncio.sleep(0.005)
                calm = calm + 1 if self._sees_all() and revision == self.cluster.store.revision else 0
                revision = self.cluster.store.revision

    def _sees_all(self) -> bool:
        store = self.cluster.store
        for reflector in self.daemon.reflectors.values():
            resource = reflector.statistics.resource
            kind = store.registry.preferred(resource.group, resource.plural)
            if kind is None or not reflector.synced.is_set():
                continue
            if int(reflector.version or 0) < store.shelf(store.registry.stored(kind)).history.latest:
                return False
        return True


@asynccontextmanager
async def holding(cluster: Cluster, policy: str) -> AsyncIterator[Held]:
    """A daemon at this cluster that serves at a port of its own."""
    clock, gate = SystemClock(), Gate()
    chosen = Chosen(policy, clock)
    options = Options(listen_address="127.0.0.1:0", healthz_address="", drain_seconds=2.0, advise=False)
    async with ApiClient(Connection(cluster.url)) as client, asyncio.TaskGroup() as group:
        daemon = Daemon(options, client, REGISTRY, policy=chosen, trigger=gate)
        task = group.create_task(daemon.run())
        try:
            yield Held(cluster, daemon, gate, chosen)
        finally:
            gate.release()
            daemon.stop()
            await asyncio.wait((task,), timeout=60.0)
            task.cancel()

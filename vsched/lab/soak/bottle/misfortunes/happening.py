"""Has the faults of a bottle happen at times that are drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from random import Random

from vsched.handlers import Handlers
from vsched.lab.soak.bottle.daemons import BottleDaemon
from vsched.lab.soak.bottle.extenders import BottleExtender
from vsched.lab.soak.bottle.faults import (
    SERVER,
    BottleFaults,
    ClusterFaultKind,
    Occasional,
    ProcessFault,
    ProcessFaultKind,
    WebhookFault,
)
from vsched.lab.soak.bottle.misfortunes.gate import BottleGate
from vsched.lab.soak.bottle.misfortunes.machines import FailingMachines
from vsched.lab.soak.bottle.misfortunes.queues import EditedQueues
from vsched.lab.soak.bottle.misfortunes.servers import Servers
from vsched.lab.soak.bottle.misfortunes.tenants import PODGROUPS, Tenants
from vsched.lab.soak.bottle.misfortunes.webhooks import Webhook
from vsched.lab.soak.bottle.network import Network
from vsched.lab.soak.bottle.processes import Process
from vsched.lab.soak.churn import NAMESPACES
from vsched.lab.soak.outcomes import SoakOutcomes
from vsched.sim.client import LocalClient
from vsched.sim.cluster import Cluster
from vsched.sim.store.store import key_of

Tell = Callable[[str, str], None]
"""Called with each fault, and what it happens to."""
NEED_A_GATE = {ProcessFaultKind.NO_READS, ProcessFaultKind.NO_WRITES, ClusterFaultKind.REFUSE_NODE}


class Misfortunes:
    """All that goes wrong in a bottle besides requests that fail."""

    def __init__(self, faults: BottleFaults, random: Random, server: Process) -> None:
        """What happens to the cluster happens in the process of the server."""
        self._faults, self._random, self._server = faults, random, server
        self._tasks: list[asyncio.Task[None]] = []
        self._tenants: Tenants | None = None
        self._gate = BottleGate()
        self.on_fault: Handlers[[str, str]] = Handlers()
        """Called with each fault, and what it happens to."""
        self.extender = BottleExtender(random, self.on_fault)
        """What the daemons ask, if their policy has an extender."""

    @property
    def gate(self) -> BottleGate | None:
        """What stands before the API server; None where nothing has to."""
        wanted = {rule.fault for rule in self._faults.processes} | {rule.fault for rule in self._faults.cluster}
        return self._gate if wanted & NEED_A_GATE or self._faults.webhooks else None

    def begin(self, daemons: Sequence[BottleDaemon], network: Network) -> None:
        """Have the faults of daemons, and of the service that they ask, happen from now on."""
        found = ProcessMisfortunes(daemons, network, self._gate, self._random, self.on_fault)
        loop = asyncio.get_running_loop()
        self._tasks += [loop.create_task(found.run(rule)) for rule in self._faults.processes]
        for each in self._faults.extender:
            failing = now_and_then(each, self._random, partial(self.extender.fail, each))
            self._tasks.append(loop.create_task(failing))

    def begin_in(self, cluster: Cluster, outcomes: SoakOutcomes, list_again: Callable[[], None]) -> None:
        """Have the faults of the cluster happen from now on.

        What is expected of the jobs of users changes with them; ``list_again`` is called where all pods have to be
        looked at again.
        """
        servers = Servers(cluster, self._random, self.on_fault)
        machines = FailingMachines(cluster.client, self._gate, self._random, self.on_fault)
        tenants = self._tenants = Tenants(cluster.client, self._random, self.on_fault)
        queues = EditedQueues(cluster.client, self._random, self.on_fault)

        def restored() -> None:
            take_back(cluster.client, outcomes)
            machines.report_all()
            queues.write_all()
            list_again()

        def given_up(pod: str) -> None:
            if (gang := outcomes.excuse(pod)) is not None:
                outcomes.done.append(gang)

        servers.on_restored.add(restored)
        machines.on_failed.add(outcomes.excuse)
        machines.on_given_up.add(given_up)
        happen: dict[ClusterFaultKind, Callable[[float], Awaitable[None]]] = {
            ClusterFaultKind.RESTART: servers.restart,
            ClusterFaultKind.STEAL_LEASE: servers.steal_lease,
            ClusterFaultKind.DELETE_LEASE: servers.delete_lease,
            ClusterFaultKind.REFUSE_NODE: machines.refuse_bindings,
            ClusterFaultKind.NODE_DOWN: machines.node_down,
            ClusterFaultKind.KUBELET_HANGS: machines.kubelet_hangs,
            ClusterFaultKind.POD_FAILS: machines.pod_fails,
            ClusterFaultKind.DRAIN: machines.drain,
            ClusterFaultKind.QUEUE_EDITED: queues.edit,
            ClusterFaultKind.TENANT: tenants.act,
            ClusterFaultKind.NAMESPACE_ENDS: tenants.namespace_ends,
        }
        for hook in self._faults.webhooks:
            self._tasks.append(self._server.start(now_and_then(hook, self._random, partial(self._reviewed, hook))))
        for rule in self._faults.cluster:
            restores = partial(servers.restore, rule.back_seconds)
            what = restores if rule.fault is ClusterFaultKind.RESTORE else happen[rule.fault]
            self._tasks.append(self._server.start(now_and_then(rule, self._random, what)))

    async def _reviewed(self, rule: WebhookFault, seconds: float) -> None:
        """There is an admission webhook for so long."""
        self.on_fault(f"webhook-{rule.fault}", ",".join(rule.resources) or "*")
        with self._gate.reviewed(Webhook(rule, self._random.getrandbits(32))):
            await asyncio.sleep(seconds)

    def end(self) -> None:
        """Nothing goes wrong from now on."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
        if self._tenants is not None:
            self._server.context.run(self._tenants.leave)


def take_back(client: LocalClient, outcomes: SoakOutcomes) -> None:
    """Users take back jobs that a restored server does not have as a whole, or should not have any more."""
    outcomes.begin_again({key_of(pod) for pod in client.list("pods")})
    for resource in ("pods", PODGROUPS):
        for namespace in NAMESPACES:
            for found in client.list(resource, namespace):
                if not outcomes.is_expected(key_of(found)):
                    client.delete(resource, namespace, found["metadata"]["name"], grace_seconds=0)


async def now_and_then(rule: Occasional, random: Random, happen: Callable[[float], Awaitable[None]]) -> None:
    """Have something happen, until cancelled; it is told how long it is to last."""
    while True:
        await asyncio.sleep(random.expovariate(1.0 / rule.every_seconds))
        await happen(random.uniform(0.0, rule.lasts_seconds))


class ProcessMisfortunes:
    """The faults of daemons."""

    def __init__(
        self, daemons: Sequence[BottleDaemon], network: Network, gate: BottleGate, random: Random, tell: Tell
    ) -> None:
        self._daemons, self._network, self._gate, self._random, self._tell = daemons, network, gate, random, tell

    async def run(self, rule: ProcessFault) -> None:
        """Have one kind of fault happen, until cancelled."""
        await now_and_then(rule, self._random, partial(self._happen, rule))

    async def _happen(self, rule: ProcessFault, seconds: float) -> None:
        daemon = self._random.choice(self._daemons)
        process = daemon.process
        if process is None:
            return
        self._tell(rule.fault, daemon.name)
        match rule.fault:
            case ProcessFaultKind.KILL:
                daemon.kill()
            case ProcessFaultKind.PAUSE:
                process.pause(seconds)
            case ProcessFaultKind.CUT | ProcessFaultKind.DEAF:
                with ExitStack() as cuts:
                    cuts.enter_context(self._cut(SERVER, daemon.name))
                    if rule.fault is ProcessFaultKind.CUT:
                        cuts.enter_context(self._cut(daemon.name, SERVER))
                    await asyncio.sleep(seconds)
            case ProcessFaultKind.NO_READS | ProcessFaultKind.NO_WRITES:
                with self._gate.closed(daemon.agent, reads=rule.fault is ProcessFaultKind.NO_READS):
                    await asyncio.sleep(seconds)
            case ProcessFaultKind.FULL_DISK:
                with daemon.disk.full():
                    await asyncio.sleep(seconds)
            case ProcessFaultKind.SKEW:
                process.skew_seconds = self._random.uniform(-rule.skew_seconds, rule.skew_seconds)
                try:
                    await asyncio.sleep(seconds)
                finally:
                    process.skew_seconds = 0.0

    @contextmanager
    def _cut(self, source: str, to: str) -> Iterator[None]:
        self._network.cut(source, to)
        try:
            yield
        finally:
            self._network.join(source, to)

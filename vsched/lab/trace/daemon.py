"""A daemon at an embedded cluster on virtual time: it holds a session when it is asked to.

The daemon and the cluster talk over HTTP, as anywhere. A session begins once the mirror has everything that was written
before, and has ended once its decisions are carried out. So the outcome does not depend on the speed of the machine.

Events and the reasons of waiting pods and gangs are not written: they only cost time, as nobody reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vsched.clock import Clock
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.loop.stepping import Steps
from vsched.daemon.options import Options
from vsched.daemon.system.tuning import Collector, listed
from vsched.errors import Unavailable
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.lab.ready import until_ready
from vsched.lab.trace import words
from vsched.lab.trace.checks import Checks
from vsched.settings.installed import registry
from vsched.sim.cluster import Cluster
from vsched.writes.events import EventSettings
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.status.pods import PodConditionSettings
from vsched.writes.status.queues import QueueStatusSettings
from vsched.writes.writeback import WritebackSettings

NEVER_SECONDS = 1e9
PATIENCE_SECONDS = 60.0
"""How long the daemon may take to be ready, and a watch to show what was written."""
WATCHED = {
    "Pod": "pods",
    "Node": "nodes",
    "PodGroup": "scheduling.volcano.sh/podgroups",
    "Queue": "scheduling.volcano.sh/queues",
    "Namespace": "namespaces",
}
"""What a replay writes: kinds, with their names in the embedded cluster."""

UNREAD = WritebackSettings(
    jobs=JobStatusSettings(phase_seconds=0.0, grace_seconds=NEVER_SECONDS, reword_seconds=NEVER_SECONDS),
    events=EventSettings(limit=0),
    pods=PodConditionSettings(grace_seconds=NEVER_SECONDS),
    queues=QueueStatusSettings(grace_seconds=NEVER_SECONDS),
    yield_seconds=0.0,  # a session has ended once its statuses are written
)


class SteppedDaemon:
    """A daemon that holds sessions on request."""

    def __init__(
        self, cluster: Cluster, client: ApiClient, policy: Path | None, clock: Clock, checks: Checks | None
    ) -> None:
        self._cluster = cluster
        self._checks = checks
        self._steps = Steps()
        options = Options(
            policy_file=policy,
            podgroup_controller=False,  # without a PodGroup each pod is a job of its own
            listen_address="",
            healthz_address="",
            api_qps=1e6,
            api_burst=1_000_000,
            max_in_flight=1,  # bindings are carried out in the order of the decisions
            advise=False,
            recordings=0,
            history=False,  # it begins with the replay
        )
        self.daemon = Daemon(
            options,
            client,
            registry(),
            clock=clock,
            trigger=self._steps,
            settings=DaemonSettings(writeback=UNREAD),
            collector=Collector(listed),
        )

    async def session(self) -> float:
        """Hold one session on everything written so far; returns once its decisions are carried out.

        Returns after how many seconds another session may decide more although nothing has changed, infinite for never.
        """
        await self._caught_up()
        daemon, checks, looking = self.daemon, self._checks, None
        if checks is not None and checks.takes_next():
            looking = asyncio.create_task(daemon.inspection.snapshots.look(urgent=False))
        before = daemon.telemetry.findings.cycles
        await self._steps.step()
        if daemon.telemetry.findings.cycles == before:
            raise Unavailable(words.SESSION_FAILED)
        if checks is not None and looking is not None:
            checks.check(await looking)
        statuses = daemon.writeback.jobs.workqueue
        while daemon.dispatcher.busy or daemon.evictor.busy or statuses.in_flight:  # noqa: ASYNC110  # a turn of the loop is all it takes
            await asyncio.sleep(0)
        return self._steps.due_seconds

    async def _caught_up(self) -> None:
        """Wait until the mirror has everything that was written."""
        store = self._cluster.store
        for kind, resource in WATCHED.items():
            latest = store.latest(self._cluster.client.kind(resource))
            reflector = self.daemon.reflectors[kind]
            deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
            while int(reflector.version or 0) < latest:
                await asyncio.sleep(0)
                if asyncio.get_running_loop().time() > deadline:
                    raise Unavailable(words.watch_is_behind(resource, PATIENCE_SECONDS))

    @property
    def remembers(self) -> bool:
        """Whether the policy reads what was used in the past, which is counted from session to session."""
        return any(True for _ in self.daemon.policy.policy.decays())

    def stop(self) -> None:
        """End the daemon."""
        self.daemon.stop()
        self._steps.release()


@asynccontextmanager
async def stepped_daemon(
    cluster: Cluster, policy: Path | None, clock: Clock, checks: Checks | None = None
) -> AsyncIterator[SteppedDaemon]:
    """A daemon at this cluster while the block runs; ``checks`` look at its sessions."""
    async with ApiClient(Connection(cluster.url)) as client:
        stepped = SteppedDaemon(cluster, client, policy, clock, checks)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(stepped.daemon.run())
            try:
                await until_ready(stepped.daemon, PATIENCE_SECONDS)
                yield stepped
            finally:
                stepped.stop()
            await running

"""What waits for long says so once: sessions come and go, and neither Events nor statuses are written for each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.running import gang, node, status_of
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.options import Options
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.status.pods import PodConditionSettings
from vsched.writes.writeback import WritebackSettings


def writes(daemon: Daemon) -> float:
    """What the daemon has asked the API server to change."""
    return sum(
        sample.value
        for metric in daemon.telemetry.registry.collect()
        if metric.name == "vsched_api_requests"
        for sample in metric.samples
        if sample.name.endswith("_total") and sample.labels["verb"] not in ("GET", "LIST", "WATCH")
    )


def told_of(cluster: Cluster) -> list[tuple[str, str, str]]:
    """What Events there are: about what kind of object, of which name, with which reason."""
    events = cluster.client.list("events", "default")
    return sorted((one["involvedObject"]["kind"], one["involvedObject"]["name"], one["reason"]) for one in events)


ONCE_EACH = [
    ("Pod", "waits-0", "FailedScheduling"),
    ("Pod", "waits-1", "FailedScheduling"),
    ("PodGroup", "waits", "Unschedulable"),
]


async def sessions(cluster: Cluster, daemon: Daemon, count: int, each_takes: float = 0.0) -> None:
    """Nodes come and go, so that what there is to say counts something else in each session."""
    findings = daemon.telemetry.findings
    for number in range(count):
        seen = findings.cycles
        if number % 2:
            cluster.client.delete("nodes", "", "n2")
        else:
            cluster.apply([node("n2")])
        await until(lambda seen=seen: findings.cycles > seen)
        await asyncio.sleep(each_takes)


@asynccontextmanager
async def waiting(settings: WritebackSettings | None = None) -> AsyncIterator[tuple[Cluster, Daemon]]:
    """A gang for which no node is big enough, of which everything has been told once."""
    async with (
        Cluster([node("n1")], manifests=gang("waits", 2, cpu="8")) as cluster,
        ApiClient(Connection(cluster.url)) as client,
        asyncio.TaskGroup() as group,
    ):
        options = Options(listen_address="", healthz_address="", drain_seconds=2.0)
        daemon = Daemon(options, client, REGISTRY, settings=DaemonSettings(writeback=settings))
        task = group.create_task(daemon.run())
        await until(lambda: status_of(cluster, "waits").get("conditions"))
        await until(lambda: told_of(cluster) == ONCE_EACH)
        yield cluster, daemon
        daemon.stop()
        await asyncio.wait((task,), timeout=PATIENCE_SECONDS)
        task.cancel()


async def test_a_job_that_waits_through_many_sessions_is_told_once() -> None:
    async with waiting() as (cluster, daemon):
        before = writes(daemon)
        await sessions(cluster, daemon, 50)
        assert writes(daemon) - before <= 5
        assert told_of(cluster) == ONCE_EACH


async def test_however_often_it_is_reworded_there_are_no_more_events() -> None:
    quick = WritebackSettings(
        pods=PodConditionSettings(grace_seconds=0.01, reword_seconds=0.02, repeat_seconds=0.0),
        jobs=JobStatusSettings(grace_seconds=0.01, reword_seconds=0.02, repeat_seconds=0.0),
    )
    async with waiting(quick) as (cluster, daemon):
        before = writes(daemon)
        await sessions(cluster, daemon, 12, each_takes=0.1)
        assert writes(daemon) - before > 12, "conditions follow"
        assert told_of(cluster) == ONCE_EACH

"""A daemon that plans starts: a gang waits for both nodes, and short work went before it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.running import OFTEN_SEEN, gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched import clock
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster

POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: easy-backfill}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""
PODGROUPS = "scheduling.volcano.sh/podgroups"


class Starting(NamedTuple):
    """The cluster, the daemon, and its address."""

    cluster: Cluster
    daemon: Daemon
    url: str


def lasting(name: str, size: int, cpu: str, minutes: int | None = None) -> list[dict[str, Any]]:
    """A gang that says for how many minutes it runs."""
    made = gang(name, size, cpu=cpu)
    if minutes is not None:
        made[0]["metadata"]["annotations"] = {"vsched.io/expected-duration": f"{minutes}m"}
    return made


def submit(cluster: Cluster, objects: list[dict[str, Any]]) -> None:
    """Create these PodGroups and pods."""
    for found in objects:
        cluster.client.create("pods" if found["kind"] == "Pod" else PODGROUPS, found)


@asynccontextmanager
async def planned_starts(directory: Path) -> AsyncIterator[Starting]:
    """``default/big`` starts in an hour; ``default/short`` went before it, ``default/late`` waits because of it."""
    policy = directory / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    async with Cluster([node("n1"), node("n2")], manifests=lasting("long", 1, "3", 60)) as cluster:
        options = {"policy_file": policy, "listen_address": "127.0.0.1:0"}
        async with scheduling(cluster.url, observing=OFTEN_SEEN, **options) as daemon:
            await until(lambda: len(nodes_of(cluster, "long")) == 1)
            submit(cluster, lasting("big", 2, "4"))
            await until(lambda: has_start(daemon, "default/big"))
            # Times of objects are whole seconds: what begins in the second of the gang's creation is not later.
            created = created_at(cluster, "big")
            await until(lambda: clock.now() >= created + 1)
            submit(cluster, lasting("short", 1, "2", 5))
            await until(lambda: len(nodes_of(cluster, "short")) == 1)
            submit(cluster, lasting("late", 1, "1"))
            await until(lambda: code_of(daemon, "default/late") == "Reserved")
            await until(lambda: ahead_of(daemon, "default/big") == ("default/short",))
            yield Starting(cluster, daemon, f"http://127.0.0.1:{daemon.ports['--listen-address']}/")


def created_at(cluster: Cluster, name: str) -> float:
    """When a PodGroup was created, seconds since the epoch."""
    found = cluster.client.get(PODGROUPS, "default", name)
    assert found is not None
    return datetime.fromisoformat(found["metadata"]["creationTimestamp"]).timestamp()


def has_start(daemon: Daemon, key: str) -> bool:
    """Whether a session has planned the start of a job."""
    found = daemon.telemetry.findings.jobs.get(key)
    return found is not None and found.planned is not None


def code_of(daemon: Daemon, key: str) -> str:
    """Why a job waits."""
    found = daemon.telemetry.findings.jobs.get(key)
    return "" if found is None else found.code


def ahead_of(daemon: Daemon, key: str) -> tuple[str, ...]:
    """The jobs that go before one with a planned start."""
    found = daemon.telemetry.findings.jobs.get(key)
    return () if found is None or found.planned is None else found.planned.ahead

"""Queues that lend and take back accelerators, over HTTP, with pods that come back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.owners import Life, batch_job, lives, machine, queue, replica_set, running
from tests.support.running import podgroup, scheduling, sessions
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

POLICY = Path(__file__).parents[2] / "config" / "policies" / "capacity.yaml"
QUICK_TO_GO = ClusterSettings(ControllerSettings(PodTimes(termination=0.3)))
A100, V100 = "nvidia.com/a100", "nvidia.com/v100"
EVICTION = re.compile(r"/api/v1/namespaces/default/pods/[^/]+/eviction")
QUIET_SESSIONS = 50
"""Of which each takes a fiftieth of a second at least: whoever was to end meanwhile has ended."""
Obj = dict[str, Any]


def accelerators(a100: int, v100: int = 0) -> Obj:
    return {A100: str(a100)} | ({V100: str(v100)} if v100 else {})


@asynccontextmanager
async def story(nodes: Sequence[Obj]) -> AsyncIterator[tuple[Cluster, FaultProxy, Daemon]]:
    """A cluster, a daemon that runs a session every few milliseconds, and between them whoever counts requests."""
    async with (
        Cluster(nodes, settings=QUICK_TO_GO) as cluster,
        faulty(cluster.url) as proxy,
        scheduling(proxy.url, period_seconds=0.02, policy_file=POLICY) as daemon,
    ):
        yield cluster, proxy, daemon


async def stands(cluster: Cluster, expected: dict[str, int]) -> None:
    """Wait until so many pods of each PodGroup run."""
    try:
        await until(lambda: running(cluster) == expected)
    except TimeoutError:
        assert running(cluster) == expected


async def stays_quiet(cluster: Cluster, daemon: Daemon) -> None:
    """Watch that sessions decide nothing any more."""
    changes = cluster.store.subscribe(cluster.client.kind("pods"))
    await sessions(daemon, QUIET_SESSIONS)
    moved = [event for event in changes.take(100_000) if event.type != "MODIFIED"]
    assert moved == []


def evictions_asked_of(proxy: FaultProxy) -> list[str]:
    """Notes from now on which pods are asked to be evicted."""
    asked: list[str] = []
    proxy.on_request = lambda method, path: (
        asked.append(path) if method == "POST" and EVICTION.fullmatch(path) else None
    )
    return asked


def everyone_got_what_was_freed_for_them(pods: Sequence[Life], lender: str, taker: str) -> None:
    """Who was nominated got that node and no other, what was freed was all taken, and the lender had nothing back."""
    lent, taken = ([life for life in pods if life.group.startswith(name)] for name in (lender, taker))
    victims = [life for life in pods if life.evicted_at]
    nominated = [life for life in pods if life.nominated]
    assert victims
    assert nominated
    assert set(victims) <= set(lent)
    assert set(nominated) <= set(taken)
    assert [life.nominated for life in nominated] == [[life.node] for life in nominated]
    full = {life.node for life in lent if life.node}
    assert Counter(life.node for life in taken if life.node in full) == Counter(life.node for life in victims)
    first = min(life.evicted_at for life in victims)
    assert [life.node for life in lent if life.bound_at > first] == []


async def test_each_kind_of_accelerator_is_taken_back_as_deserved_and_all_is_quiet() -> None:
    nodes = [machine(f"n{number:02}", **accelerators(5, 5)) for number in range(20)]
    async with story(nodes) as (cluster, proxy, daemon):
        cluster.apply(
            [
                queue("queue1", deserved=accelerators(20, 50)),
                queue("queue2", deserved=accelerators(80, 50)),
                podgroup("queue1-a100", 1, queue="queue1"),
                podgroup("queue1-v100", 1, queue="queue1"),
                replica_set("queue1-a100", 100, {A100: "1"}),
                replica_set("queue1-v100", 100, {V100: "1"}),
            ]
        )
        await stands(cluster, {"queue1-a100": 100, "queue1-v100": 100})
        asked = evictions_asked_of(proxy)
        cluster.apply(
            [
                podgroup("queue2-a100", 80, queue="queue2"),
                podgroup("queue2-v100", 50, queue="queue2"),
                batch_job("queue2-a100", 80, {A100: "1"}),
                batch_job("queue2-v100", 50, {V100: "1"}),
            ]
        )
        await stands(cluster, {"queue1-a100": 20, "queue1-v100": 50, "queue2-a100": 80, "queue2-v100": 50})
        await stays_quiet(cluster, daemon)
        assert len(set(asked)) == len(asked) == 130
        everyone_got_what_was_freed_for_them(lives(cluster), "queue1", "queue2")


async def test_what_is_free_is_taken_first_and_what_is_guaranteed_not_at_all() -> None:
    nodes = [machine(f"n{number:02}", **accelerators(5)) for number in range(20)]
    async with story(nodes) as (cluster, proxy, daemon):
        cluster.apply(
            [
                queue(
                    "queue1",
                    guarantee={"resource": accelerators(20)},
                    deserved=accelerators(20),
                    capability=accelerators(60),
                ),
                queue("queue2", deserved=accelerators(80)),
                podgroup("queue1-a100", 1, queue="queue1"),
                batch_job("queue1-a100", 100, {A100: "1"}),
            ]
        )
        await stands(cluster, {"queue1-a100": 60})
        asked = evictions_asked_of(proxy)
        cluster.apply([*(podgroup(f"queue2-{number}", 10, queue="queue2") for number in range(10))])
        cluster.apply([*(replica_set(f"queue2-{number}", 10, {A100: "1"}) for number in range(10))])
        await until(lambda: sum(running(cluster).values()) == 100 and running(cluster)["queue1-a100"] == 20)
        await stays_quiet(cluster, daemon)
        found = running(cluster)
        assert found.pop("queue1-a100") == 20
        assert sorted(found.values()) == [10] * 8
        assert len(set(asked)) == len(asked) == 40
        everyone_got_what_was_freed_for_them(lives(cluster), "queue1", "queue2")

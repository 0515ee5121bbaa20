"""How one daemon takes over from another: at once where it is asked to, in time where the other is dead or stuck."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_proxy import faulty
from tests.support.replicas import LEASES, WATCHFUL, bound_twice, free, overfull, pair, replica, run_out
from tests.support.running import gang, node, nodes_of, status_of
from tests.support.sharing import BUDGETS, RULES, budget, deployment, machine, namespace, overused, rounds, runs
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

NODES = [node(f"n{number}", cpu="8") for number in range(4)]
PREEMPTING = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
SLOW_TO_GO = ClusterSettings(ControllerSettings(PodTimes(termination=1000.0)))
"""Pods that were evicted leave when they are let go."""


def let_go(cluster: Cluster) -> None:
    """Pods that are about to leave are gone."""
    for found in cluster.client.list("pods"):
        metadata = found["metadata"]
        if metadata.get("deletionTimestamp"):
            cluster.client.delete("pods", metadata["namespace"], metadata["name"], grace_seconds=0)


async def test_a_daemon_that_is_told_to_stop_hands_over_under_load_without_waiting_for_anybodys_next_look() -> None:
    async with Cluster(NODES) as cluster, pair(cluster.url) as (leader, standby):
        for number in range(6):
            cluster.apply(gang(f"g{number}", 5))
            if number == 3:
                await until(lambda: nodes_of(cluster, "g0-"))
                assert standby.value("vsched_pods_bound_total") == 0
                await leader.stop()
        await until(lambda: len(nodes_of(cluster, "g")) == 30)
        assert standby.daemon.election.role == "leader"
        await until(lambda: standby.value("vsched_pods_bound_total") >= 10)  # counted once the answers are there
        assert not any(standby.relists().values())
        assert bound_twice(cluster) == overfull(cluster, 8) == []
        lease = cluster.client.get(LEASES, "kube-system", "vsched")
        assert lease is not None
        assert lease["spec"]["leaseTransitions"] == 1


async def test_a_daemon_that_is_killed_in_the_middle_of_a_gang_is_succeeded_once_its_lease_has_run_out() -> None:
    async with (
        Cluster(NODES) as cluster,
        faulty(cluster.url) as proxy,
        pair(cluster.url, proxy.url, lease=WATCHFUL, period_seconds=0.2) as (leader, standby),
    ):
        cluster.apply(gang("a", 2, minimum=1))
        await until(lambda: status_of(cluster, "a").get("running") == 2)
        proxy.spoil("POST", r".*/pods/b-[3-9]/binding", 503, times=10_000)
        proxy.spoil("PATCH", r".*/podgroups/a(/status)?", 503, times=10_000)
        cluster.client.delete("pods", "default", "a-1")
        cluster.apply(gang("b", 10))
        await until(lambda: len(nodes_of(cluster)) == 4)

        def settled() -> bool:
            seen = standby.daemon.mirror.snapshot(0.0)
            return not seen.changed and len(seen.jobs["default/a"].tasks) == 1

        await until(settled)
        await leader.kill()
        run_out(cluster)
        assert not standby.daemon.election.holds()
        cluster.apply(gang("c", 4))
        await until(lambda: len(nodes_of(cluster)) == 15)
        # What the dead daemon should have told of a gang that has not changed since, its successor tells.
        await until(lambda: status_of(cluster, "a")["running"] == 1)
        await until(lambda: standby.daemon.mirror.describe()["assumed_tasks"] == 0)
        assert not any(standby.relists().values())
        assert bound_twice(cluster) == overfull(cluster, 8) == []


async def test_a_successor_keeps_the_room_that_was_made_for_others(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(PREEMPTING)
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    urgent = gang("urgent", 2)
    for found in urgent:
        found["spec"]["priorityClassName"] = "high"
    async with (
        Cluster([node("n1", cpu="4")], settings=SLOW_TO_GO) as cluster,
        pair(cluster.url, policy_file=policy) as (leader, standby),
    ):
        cluster.apply([high])
        cluster.apply(gang("low", 4, minimum=1))
        await until(lambda: len(nodes_of(cluster, "low")) == 4)
        cluster.apply(urgent)

        def nominated() -> list[str]:
            pods = cluster.client.list("pods", "default")
            return [found["metadata"]["name"] for found in pods if found["status"].get("nominatedNodeName") == "n1"]

        await until(lambda: len(nominated()) == 2)
        await until(lambda: leader.value("vsched_evictions_total", action="preempt", verdict="evicted") == 2)
        await leader.kill()
        free(cluster)
        cluster.apply(gang("rival", 2))
        await until(standby.daemon.election.leading.is_set)
        let_go(cluster)
        await until(lambda: len(nodes_of(cluster, "urgent")) == 2)
        assert standby.value("vsched_evictions_total", action="preempt", verdict="evicted") == 0
        assert standby.value("volcano_eviction_transactions_total", action="preempt") == 0
        assert not nodes_of(cluster, "rival")


ARBITRATING: dict[str, Any] = {
    "arbitrate": True,
    "rules": RULES,
    "period_seconds": 0.1,
    "scheduler_names": ("vsched", "default-scheduler"),
}


async def test_a_successor_knows_since_when_a_namespace_is_overused() -> None:
    async with (
        Cluster([machine("n1"), machine("n2")]) as cluster,
        pair(cluster.url, **ARBITRATING) as (leader, standby),
    ):
        cluster.apply([namespace("one"), namespace("two"), deployment("one", 2), budget("one", 2)])
        await until(lambda: runs(cluster) == {"one": 2})
        cluster.apply([deployment("two", 1)])
        await until(lambda: overused(cluster, "one") == "True")  # and nobody may take a pod from it
        before = leader.daemon.telemetry.findings.arbitrated
        await leader.kill()
        free(cluster)
        after = await until(lambda: standby.daemon.telemetry.findings.arbitrated)
        assert before is not None
        assert after is not None
        assert abs(after.verdict.overused["one"].since - before.verdict.overused["one"].since) <= 0.001  # as written
        cluster.client.delete(BUDGETS, "one", "web")
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        assert leader.value("vsched_evictions_total", action="arbitrate", verdict="evicted") == 0
        assert standby.value("vsched_evictions_total", action="arbitrate", verdict="evicted") == 1


async def test_a_successor_takes_no_more_than_is_needed_while_pods_are_leaving() -> None:
    machines = [machine("n1"), machine("n2")]
    async with Cluster(machines, settings=SLOW_TO_GO) as cluster, pair(cluster.url, **ARBITRATING) as (leader, standby):
        cluster.apply([namespace("one"), namespace("two"), deployment("one", 2)])
        await until(lambda: runs(cluster) == {"one": 2})
        cluster.apply([deployment("two", 1)])
        await until(lambda: leader.value("vsched_evictions_total", action="arbitrate", verdict="evicted") == 1)
        await leader.kill()
        free(cluster)
        await rounds(standby.daemon, 3)
        let_go(cluster)
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        assert standby.value("vsched_evictions_total", action="arbitrate", verdict="evicted") == 0


@asynccontextmanager
async def process(url_file: Path) -> AsyncIterator[Process]:
    """A daemon in a process of its own, which can be held up from outside and by no busy machine."""
    addresses = ("--listen-address", "", "--healthz-address", "", "--log-format", "json")
    lease = ("--leader-elect", "--leader-elect-lease-duration", "5s", "--leader-elect-renew-deadline", "4500ms")
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vsched", "run", "--kubeconfig", str(url_file), *addresses, *lease),
        *("--leader-elect-retry-period", "200ms"),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        env={**os.environ, "HOME": "/nonexistent"},
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()


@pytest.mark.real_time
async def test_a_daemon_that_was_held_up_beyond_its_lease_writes_nothing_more(tmp_path: Path) -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy:
        kubeconfig = tmp_path / "kubeconfig"
        cluster.write_kubeconfig(kubeconfig)
        kubeconfig.write_text(kubeconfig.read_text().replace(cluster.url, proxy.url))
        async with process(kubeconfig) as stuck:
            await until(lambda: (cluster.client.get(LEASES, "kube-system", "vsched") or {}).get("spec"))
            async with replica(cluster.url, lease=WATCHFUL) as standby:
                # It has bindings in hand that it repeats and repeats: the moment it wakes up it would send them.
                proxy.spoil("POST", r".*/binding", 503, times=1_000_000)
                cluster.apply(gang("g", 8))
                await until(lambda: proxy.seen["POST binding", 503] >= 8)
                os.kill(stuck.pid, signal.SIGSTOP)
                await until(lambda: len(nodes_of(cluster, "g")) == 8)
                proxy.mend()
                bindings, accepted = proxy.writes("POST binding"), proxy.accepted()
                os.kill(stuck.pid, signal.SIGCONT)
                _, said = await asyncio.wait_for(stuck.communicate(), PATIENCE_SECONDS)
                assert stuck.returncode == 1
                assert b"lease kube-system/vsched is lost" in said
                # A request already on its way when the process stopped still arrives; the server refuses what is stale.
                assert proxy.writes("POST binding") == bindings, proxy.seen
                assert proxy.accepted() == accepted, proxy.seen
                assert standby.daemon.election.holds()
                assert bound_twice(cluster) == []

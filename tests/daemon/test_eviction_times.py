"""Evictions at an embedded cluster that wait for a time: sessions come when it is over, without any change."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from tests.daemon.preempting import QUICK_TO_GO, of_class, priority_class
from tests.support.builders import merged
from tests.support.running import (
    PODGROUPS,
    Obj,
    condition_of,
    digested,
    gang,
    node,
    nodes_of,
    pod,
    reasons_of,
    scheduling,
)
from tests.support.waiting import until
from vsched.plugins.words import jobs as words
from vsched.sim.cluster import Cluster

POLICY = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: {}
- plugins:
  - name: predicates
  - name: proportion
"""
SECONDS = 3


async def test_a_pod_is_evicted_when_its_minimum_run_time_ends(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format("minruntime"))
    old = gang("old", 1, minimum=0)
    old[0]["metadata"]["annotations"] = {"vsched.io/preempt-min-runtime": f"{SECONDS}s"}
    async with (
        Cluster([node("n1", cpu="1")], settings=QUICK_TO_GO) as cluster,
        scheduling(cluster.url, policy_file=policy, period_seconds=600.0),
    ):
        cluster.apply([priority_class("high", 9), *old])
        await until(lambda: nodes_of(cluster, "old") == {"old-0": "n1"})
        placed = asyncio.get_running_loop().time()
        cluster.apply(of_class("high", gang("new", 1)))
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})

        assert asyncio.get_running_loop().time() - placed >= SECONDS - 1, "start times have whole seconds"


async def test_others_are_evicted_when_the_preemption_delay_ends(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format("preemption-delay"))
    new = of_class("high", gang("new", 1))
    new[0]["metadata"]["annotations"] = {"vsched.io/preemption-delay": f"{SECONDS}s"}
    async with (
        Cluster([node("n1", cpu="1")], settings=QUICK_TO_GO) as cluster,
        scheduling(cluster.url, policy_file=policy, period_seconds=600.0),
    ):
        cluster.apply([priority_class("high", 9), *gang("old", 1, minimum=0)])
        await until(lambda: nodes_of(cluster, "old") == {"old-0": "n1"})
        began = asyncio.get_running_loop().time()
        cluster.apply(new)
        await until(lambda: nodes_of(cluster) == {"new-0": "n1"})

        assert asyncio.get_running_loop().time() - began >= SECONDS - 1, "creation times have whole seconds"


async def test_a_job_is_ended_when_its_wall_time_is_over_and_does_not_start_again(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format("wall-time"))
    found = gang("old", 2)
    found[0]["metadata"]["annotations"] = {"vsched.io/wall-time": f"{SECONDS}s"}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "none", "namespace": "default"},
        "spec": {"maxUnavailable": 0, "selector": {}},
    }
    async with (
        Cluster([node("n1", cpu="2")], settings=QUICK_TO_GO) as cluster,
        scheduling(cluster.url, policy_file=policy, period_seconds=600.0) as daemon,
    ):

        def over() -> Obj:
            return condition_of(cluster.client.get(PODGROUPS, "default", "old"), "WallTimeOver")

        cluster.apply([budget, *found])
        await until(lambda: set(nodes_of(cluster)) == {"old-0", "old-1"})
        await until(lambda: not nodes_of(cluster))
        await until(lambda: over().get("status") == "True")
        assert over()["message"] == words.wall_time_over("3s")

        cluster.apply([one for one in gang("old", 2) if one["kind"] == "Pod"])
        await digested(cluster, daemon)
        assert not nodes_of(cluster, "old"), "new pods of the same job wait"


async def test_a_native_podgroup_whose_wall_time_is_over_stays_ended_after_a_restart(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format("wall-time"))
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "old", "namespace": "default", "annotations": {"vsched.io/wall-time": f"{SECONDS}s"}},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    pods = [merged(pod(f"old-{number}"), {"spec": {"schedulingGroup": {"podGroupName": "old"}}}) for number in range(2)]
    settings = replace(QUICK_TO_GO, native_groups=("v1beta1",))
    async with Cluster([node("n1", cpu="2")], settings=settings) as cluster:

        def conditions() -> dict[str, Obj]:
            found = cluster.client.get("scheduling.k8s.io/podgroups", "default", "old") or {}
            return {one["type"]: one for one in found.get("status", {}).get("conditions", ())}

        async with scheduling(cluster.url, policy_file=policy, period_seconds=600.0):
            cluster.apply([group, *pods])
            await until(lambda: set(nodes_of(cluster)) == {"old-0", "old-1"})
            await until(lambda: not nodes_of(cluster))
            await until(lambda: conditions().get("WallTimeOver", {}).get("status") == "True")
            assert conditions()["WallTimeOver"]["message"] == words.wall_time_over("3s")
            assert conditions()["PodGroupInitiallyScheduled"]["status"] == "True"
            await until(lambda: "WallTime" in reasons_of(cluster, "old"))

        async with scheduling(cluster.url, policy_file=policy, period_seconds=600.0) as daemon:
            cluster.apply(pods)
            await digested(cluster, daemon)
            assert not nodes_of(cluster, "old"), "new pods of the same group wait"

            longer = {"metadata": {"annotations": {"vsched.io/wall-time": "2h"}}}
            cluster.client.patch("scheduling.k8s.io/podgroups", "default", "old", lambda one: merged(one, longer))
            await until(lambda: set(nodes_of(cluster)) == {"old-0", "old-1"})
            await until(lambda: conditions()["WallTimeOver"]["status"] == "False")

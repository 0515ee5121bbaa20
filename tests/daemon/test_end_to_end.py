"""The daemon at an embedded cluster, over HTTP: what a user would see. Single parts have tests of their own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import aiohttp

from tests.support.fault_proxy import faulty
from tests.support.running import (
    PODGROUPS,
    condition_of,
    gang,
    node,
    nodes_of,
    pod,
    podgroup,
    queue_status,
    reasons_of,
    scheduling,
    status_of,
)
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

POLICY = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}]
- plugins: [{{name: predicates}}, {{name: nodeorder}}]
"""

SPREADING = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - {name: gang}
  - name: nodeorder
    arguments: {leastrequested.weight: 0, balancedresource.weight: 0}
"""
ZONE = "topology.kubernetes.io/zone"


async def test_a_gang_is_bound_and_its_podgroup_runs() -> None:
    async with Cluster([node("n1"), node("n2")]) as cluster, scheduling(cluster.url):
        cluster.apply(gang("g", 4))
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)
        await until(lambda: status_of(cluster, "g").get("phase") == "Running")
        await until(lambda: status_of(cluster, "g").get("running") == 4)


async def test_lists_come_with_their_watches_where_that_is_wanted() -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy:
        async with scheduling(proxy.url, streaming_lists=True) as daemon:
            cluster.apply(gang("g", 2))
            await until(lambda: len(nodes_of(cluster, "g-")) == 2)
            assert daemon.reflectors["Pod"].statistics.lists == 1
            streamed = proxy.streamed.copy()  # those that did not wait too long for the verdict of the first one
            assert set(streamed.values()) == {1}
        async with scheduling(proxy.url):
            cluster.apply(gang("h", 2))
            await until(lambda: len(nodes_of(cluster, "h-")) == 2)
            assert proxy.streamed == streamed


async def test_a_gang_that_does_not_fit_binds_nothing_and_says_why_until_a_node_comes() -> None:
    async with Cluster([node("n1", cpu="4"), node("n2", cpu="2")]) as cluster, scheduling(cluster.url):
        cluster.apply(gang("g", 8))
        await until(lambda: condition_of(cluster.client.get("pods", "default", "g-0"), "PodScheduled"))
        told = condition_of(cluster.client.get("pods", "default", "g-0"), "PodScheduled")
        assert told["status"] == "False"
        assert told["message"]
        await until(lambda: condition_of(cluster.client.get(PODGROUPS, "default", "g"), "Unschedulable"))
        await until(lambda: "FailedScheduling" in reasons_of(cluster, "g-0"))
        await until(lambda: "Unschedulable" in reasons_of(cluster, "g"))
        assert nodes_of(cluster, "g-") == {}

        cluster.apply([node("n3", cpu="2")])
        await until(lambda: len(nodes_of(cluster, "g-")) == 8)


async def test_the_pods_of_a_deployment_spread_over_zones_unasked(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(SPREADING, encoding="utf-8")
    nodes = [node(f"n{zone}") for zone in "abc"]
    for found in nodes:
        found["metadata"]["labels"] = {ZONE: f"zone-{found['metadata']['name']}"}
    labels = {"app": "web"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 6,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod("web")["spec"]},
        },
    }
    async with Cluster(nodes) as cluster, scheduling(cluster.url, policy_file=path):
        cluster.apply([deployment])
        await until(lambda: len(nodes_of(cluster, "web-")) == 6)
        assert Counter(nodes_of(cluster, "web-").values()) == {"na": 2, "nb": 2, "nc": 2}


async def test_an_edit_of_the_policy_holds_for_the_next_session_and_a_broken_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(POLICY.format(actions="enqueue"), encoding="utf-8")
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url, policy_file=path) as daemon:
        cluster.apply(gang("g", 2))
        await until(lambda: status_of(cluster, "g").get("phase") == "Inqueue")
        path.write_text("actions: [", encoding="utf-8")
        await until(lambda: not daemon.policy.last.ok)
        assert nodes_of(cluster, "g-") == {}
        path.write_text(POLICY.format(actions="enqueue, allocate"), encoding="utf-8")
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)


async def test_an_object_that_cannot_be_used_or_asks_in_vain_is_told_so_and_stops_nothing_else() -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        cluster.apply(
            [
                podgroup("bad", 1, minResources={"cpu": "1"}) | {"status": {"phase": "Dancing"}},
                {
                    "apiVersion": "scheduling.volcano.sh/v1beta1",
                    "kind": "Queue",
                    "metadata": {"name": "tree"},
                    "spec": {"parent": "default"},
                },
                *gang("g", 2),
            ]
        )
        cluster.client.patch_status(
            PODGROUPS, "default", "bad", lambda found: {**found, "status": {"phase": "Dancing"}}
        )
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        await until(lambda: "BadObject" in reasons_of(cluster, "bad"))
        await until(lambda: "NoPlugin" in reasons_of(cluster, "tree"))
        await until(lambda: condition_of(cluster.client.get(PODGROUPS, "default", "bad"), "Unschedulable"))


async def test_a_queue_shows_what_its_jobs_hold() -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        cluster.apply(gang("g", 2))
        await until(lambda: (queue_status(cluster, "default").get("allocated") or {}).get("cpu") == "2")
        await until(lambda: queue_status(cluster, "default").get("running") == 1)
        for number in range(2):
            cluster.client.delete("pods", "default", f"g-{number}", grace_seconds=0)
        await until(lambda: "cpu" not in queue_status(cluster, "default")["allocated"])


async def test_what_was_decided_before_the_stop_is_still_carried_out() -> None:
    async with Cluster([node("n1", cpu="200")]) as cluster:
        async with scheduling(cluster.url) as daemon:
            cluster.apply(gang("g", 100))
            await until(lambda: daemon.dispatcher.busy or nodes_of(cluster, "g-"))
        assert len(nodes_of(cluster, "g-")) == 100
        assert not daemon.dispatcher.busy


async def test_a_running_daemon_explains_itself_over_http() -> None:
    ports = {"listen_address": "127.0.0.1:0", "healthz_address": "127.0.0.1:0"}
    async with Cluster([node("n1", cpu="2")]) as cluster, scheduling(cluster.url, **ports) as daemon:
        cluster.apply([*gang("g", 4), *gang("h", 2)])
        await until(lambda: len(nodes_of(cluster, "h-")) == 2)
        pages, health = (f"http://127.0.0.1:{daemon.ports[flag]}" for flag in ("--listen-address", "--healthz-address"))
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{health}/readyz") as answer:
                assert answer.status == 200
            async with session.get(f"{health}/livez") as answer:
                assert answer.status == 200
            async with session.get(f"{pages}/explain/default/g-0") as answer:
                assert (await answer.json())["message"]
            async with session.get(f"{pages}/configz") as answer:
                assert (await answer.json())["lastReload"]["ok"] is True
            async with session.get(f"{pages}/metrics") as answer:
                text = await answer.text()
        for line in ("vsched_pods_bound_total 2.0", 'vsched_api_writes_total{code="201",kind="binding"} 2.0'):
            assert line in text
        for name in ("volcano_action_scheduling_latency_milliseconds", "volcano_e2e_scheduling_latency_milliseconds"):
            assert f"{name}_count" in text

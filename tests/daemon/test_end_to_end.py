"""The daemon at an embedded cluster, over HTTP: what a user would see. Single parts have tests of their own."""

from __future__ import annotations

from tests.daemon.running import (
    PODGROUPS,
    condition_of,
    gang,
    node,
    nodes_of,
    reasons_of,
    scheduling,
    status_of,
    until,
)
from vsched.sim.cluster import Cluster


async def test_a_gang_is_bound_and_its_podgroup_runs() -> None:
    async with Cluster([node("n1"), node("n2")]) as cluster, scheduling(cluster.url):
        cluster.apply(gang("g", 4))
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)
        await until(lambda: status_of(cluster, "g").get("phase") == "Running")
        await until(lambda: status_of(cluster, "g").get("running") == 4)


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

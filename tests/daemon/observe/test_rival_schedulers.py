"""Two schedulers of one name are noticed and told of loudly; a daemon alone, or one that takes over, is not."""

from __future__ import annotations

from tests.support.fault_proxy import faulty
from tests.support.running import gang, node, nodes_of, pod, reasons_of, scheduling
from tests.support.waiting import until
from vsched.api.resources import PODS
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.sim.cluster import Cluster


async def test_two_daemons_without_an_election_notice_one_another() -> None:
    nodes = [node(f"n{number}") for number in range(3)]
    async with Cluster(nodes) as cluster, scheduling(cluster.url) as one, scheduling(cluster.url) as other:
        number = 0
        while not (one.rivals.bindings and other.rivals.bindings):
            number += 1
            name = f"p{number}"
            cluster.apply([pod(name, cpu="10m")])
            await until(lambda name=name: name in nodes_of(cluster))
        for daemon in (one, other):
            told = daemon.health.ready().details["rivals"]
            assert "another scheduler binds pods of vsched" in str(told["problem"])
            assert daemon.health.ready().ok, "it goes on: who else would place pods"
            assert daemon.telemetry.history.foreign == daemon.rivals.bindings
            found = daemon.telemetry.registry.get_sample_value("vsched_foreign_bindings_total", {"name": ""})
            assert found == daemon.rivals.bindings
        await until(lambda: any("BoundByAnother" in reasons_of(cluster, f"p{at}") for at in range(1, number + 1)))


async def test_a_daemon_alone_has_no_rival_whatever_becomes_of_its_bindings() -> None:
    async with Cluster([node("n1", cpu="40")]) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("POST", ".*/binding", 0, times=4)  # carried out, and the answer is lost
        proxy.spoil("POST", ".*/binding", 500, times=3)
        async with scheduling(proxy.url) as daemon:
            cluster.apply([*gang("g", 10), pod("alone")])
            placed = pod("elsewhere")
            placed["spec"]["nodeName"] = "n1"
            other = pod("other")
            other["spec"] |= {"schedulerName": "default-scheduler"}
            cluster.apply([placed, other])
            await until(lambda: len(nodes_of(cluster, "g-")) == 10 and "alone" in nodes_of(cluster))
            async with ApiClient(Connection(cluster.url)) as client:
                target = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n1"}}
                await client.create(PODS.path("default", "other", "binding"), {**target, "metadata": {"name": "other"}})
            await until(lambda: len(nodes_of(cluster)) == 13)
            await until(lambda: daemon.mirror.describe()["assumed_tasks"] == 0)
            assert daemon.rivals.bindings == 0
            assert daemon.rivals.problem == ""
            assert "rivals" not in daemon.health.ready().details

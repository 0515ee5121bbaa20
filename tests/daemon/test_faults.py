"""The daemon when the network and the API server misbehave: everything is bound in the end, and nothing twice."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fault_proxy import faulty
from tests.support.running import condition_of, gang, node, nodes_of, reasons_of, scheduling
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.sim.cluster import Cluster
from vsched.writes.confirmations import ConfirmationSettings

BINDING = r"/api/v1/namespaces/default/pods/[^/]+/binding"
NODES = [node("n1"), node("n2")]
UNSERVED = {"PodGroup.scheduling.k8s.io", "CompositePodGroup", "Workload", "NodePool"}
"""Kinds that the embedded cluster serves on request only."""


@pytest.mark.parametrize(
    ("code", "headers"),
    [
        pytest.param(500, {}, id="an internal error"),
        pytest.param(503, {}, id="an overloaded server"),
        pytest.param(429, {"Retry_After": "1"}, id="too many requests, with a time to come back"),
        pytest.param(0, {}, id="an answer that is lost after the binding was made"),
    ],
)
async def test_a_binding_is_tried_again_after(code: int, headers: dict[str, str]) -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url) as daemon:
        proxy.spoil("POST", BINDING, code, times=2, **headers)
        cluster.apply(gang("g", 4))
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)
        await until(lambda: not daemon.dispatcher.busy)
        await until(lambda: daemon.mirror.describe()["assumed_tasks"] == 0)
        assert proxy.seen["POST binding", code] == 2
        assert "FailedBinding" not in reasons_of(cluster, "g-0")


async def test_a_refused_binding_is_forgotten_and_decided_again() -> None:
    soon = ConfirmationSettings(unconfirmed_seconds=0.3)
    async with (
        Cluster(NODES) as cluster,
        faulty(cluster.url) as proxy,
        scheduling(proxy.url, confirmations=soon) as daemon,
    ):
        proxy.spoil("POST", BINDING, 409, times=2, message='pod g-0 is already assigned to node "elsewhere"')
        cluster.apply(gang("g", 4))
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)
        await until(lambda: daemon.mirror.describe()["assumed_tasks"] == 0)
        assert proxy.seen["POST binding", 409] == 2


async def test_a_binding_that_fails_for_good_is_told_on_the_pod() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url):
        proxy.spoil("POST", BINDING, 422, times=1, message="the server does not like it")
        cluster.apply(gang("g", 1))
        await until(lambda: len(nodes_of(cluster, "g-")) == 1)
        await until(lambda: "FailedBinding" in reasons_of(cluster, "g-0"))


@pytest.mark.parametrize("code", [pytest.param(403, id="may not be read"), pytest.param(404, id="are not served")])
async def test_kinds_that_can_be_done_without(code: int) -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("GET", "/api/v1/services|/apis/apps/v1/.*", code, times=1000, message="not for you")
        async with scheduling(proxy.url) as daemon:
            cluster.apply(gang("g", 4))
            await until(lambda: len(nodes_of(cluster, "g-")) == 4)
            ready = daemon.health.ready()
            assert ready.ok
            absent = sorted(kind for kind in ready.details["absent"] if kind not in UNSERVED)
            assert absent == ["DaemonSet", "ReplicaSet", "Service", "StatefulSet"]
            assert "not for you" in ready.details["absent"]["Service"]
            proxy.mend()
            await until(lambda: daemon.reflectors["Service"].synced.is_set())
            await until(lambda: daemon.health.ready().details["absent"].keys() == UNSERVED)


async def test_kinds_that_claims_need_are_named_in_snapshots_until_they_can_be_read() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("GET", "/apis/resource.k8s.io/.*", 403, times=1000, message="not for you")
        async with scheduling(proxy.url) as daemon:
            await until(lambda: daemon.reflectors["ResourceClaim"].settled.is_set())
            await until(lambda: len(daemon.mirror.stores.claims.unread) == 3)
            unread = daemon.mirror.stores.claims.unread
            assert list(unread) == ["DeviceClass", "ResourceClaim", "ResourceSlice"]
            assert "not for you" in unread["ResourceClaim"]
            proxy.mend()
            await until(lambda: not daemon.mirror.stores.claims.unread)


async def test_a_kind_that_decisions_need_is_waited_for() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("GET", "/api/v1/namespaces", 403, times=2)
        async with scheduling(proxy.url) as daemon:
            await until(lambda: daemon.reflectors["Namespace"].settled.is_set())
            assert not daemon.health.ready().ok
            cluster.apply(gang("g", 1))
            await until(lambda: daemon.health.ready().ok)
            await until(lambda: len(nodes_of(cluster, "g-")) == 1)


async def test_watches_that_are_cut_are_taken_up_again() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url) as daemon:
        await until(lambda: daemon.health.ready().ok)
        await until(lambda: len(proxy.watches) == sum(one.statistics.synced for one in daemon.reflectors.values()))
        proxy.cut_watches()
        cluster.apply(gang("g", 4))
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)


async def test_an_api_server_that_restarts_is_waited_for() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url) as daemon:
        await until(lambda: daemon.health.ready().ok)
        await proxy.down()
        cluster.apply(gang("g", 4))
        await proxy.up()
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)


async def test_an_api_server_that_is_not_there_yet_is_waited_for() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy:
        await proxy.down()
        async with scheduling(proxy.url) as daemon:
            assert not daemon.health.ready().ok
            cluster.apply(gang("g", 4))
            await proxy.up()
            await until(lambda: len(nodes_of(cluster, "g-")) == 4)
            assert daemon.health.ready().ok


async def test_a_daemon_that_ends_between_bindings_leaves_nothing_its_successor_cannot_finish() -> None:
    async with Cluster([node("n1", cpu="6")]) as cluster, faulty(cluster.url) as proxy:
        async with scheduling(proxy.url, drain_seconds=0.2):
            proxy.spoil("POST", r"/api/v1/namespaces/default/pods/g-[2-5]/binding", 503, times=1000)
            cluster.apply(gang("g", 6))
            await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        proxy.mend()
        assert len(nodes_of(cluster, "g-")) == 2
        async with scheduling(proxy.url) as successor:
            await until(lambda: len(nodes_of(cluster, "g-")) == 6)
            await until(lambda: successor.mirror.describe()["assumed_tasks"] == 0)


async def test_a_pod_that_is_deleted_before_it_is_bound_gives_its_room_back() -> None:
    async with Cluster([node("n1", cpu="2")]) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url) as daemon:
        proxy.spoil("POST", BINDING, 404, times=2, message='pods "a-0" not found')
        cluster.apply(gang("a", 2))
        await until(lambda: proxy.seen["POST binding", 404] == 2)
        await until(lambda: len(nodes_of(cluster, "a-")) == 2)
        await until(lambda: daemon.mirror.describe()["assumed_tasks"] == 0)


async def test_a_burst_costs_little_more_than_its_bindings() -> None:
    async with Cluster([node(f"n{n}", cpu="64") for n in range(8)]) as cluster, faulty(cluster.url) as proxy:
        # A slow machine has time for more Events: a small budget keeps the count from depending on it.
        async with scheduling(proxy.url, event_qps=4.0) as daemon:
            for number in range(20):
                cluster.apply(gang(f"g{number}", 20))
            await until(lambda: len(nodes_of(cluster)) >= 400)
            await until(lambda: daemon.writeback.jobs.workqueue.busy is False)
        bound = proxy.seen["POST binding", 201]
        assert bound == 400
        assert proxy.writes() / bound <= 1.3, proxy.seen
        assert condition_of(cluster.client.get("pods", "default", "g0-0"), "PodScheduled")["status"] == "True"


async def test_a_pod_that_is_always_refused_does_not_keep_everybody_busy() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url):
        proxy.spoil("POST", r"/api/v1/namespaces/default/pods/bad-0/binding", 422, times=1000)
        cluster.apply(gang("bad", 1))
        await until(lambda: proxy.seen["POST binding", 422] >= 2)
        cluster.apply(gang("good", 4))
        await until(lambda: len(nodes_of(cluster, "good-")) == 4)

        def told() -> str:
            return str(condition_of(cluster.client.get("pods", "default", "bad-0"), "PodScheduled").get("message"))

        await until(lambda: "injected" in told())
        assert proxy.seen["POST binding", 422] == len(NODES)


async def test_a_daemon_that_waits_for_its_api_server_can_be_stopped() -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), scheduling("http://127.0.0.1:1") as daemon:
        await until(lambda: daemon.telemetry.findings.cycles == 0)
    assert not daemon.health.ready().ok

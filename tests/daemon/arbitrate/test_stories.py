"""Sharing a cluster between namespaces, end to end: workloads that come back, budgets, outages, other schedulers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from msgspec import structs

from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.running import condition_of, has_listed
from tests.support.sharing import (
    ALLOCATIONS,
    CONSUMERS,
    QUICK,
    RULES,
    allocation,
    arbitrating,
    bucket,
    budget,
    consumer,
    cpus,
    deployment,
    evicted,
    machine,
    namespace,
    other_scheduler,
    overused,
    rounds,
    runs,
    scale,
    shown_at,
)
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.kube.lease.record import LeaseSettings
from vsched.model import words
from vsched.sim.cluster import Cluster

# -- the design's T1 to T3


@pytest.mark.parametrize("scheduler", ["vsched", "default-scheduler"])
async def test_a_second_namespace_gets_its_half_by_one_eviction(scheduler: str) -> None:
    async with Cluster([machine("n1"), machine("n2")], settings=QUICK) as cluster, arbitrating(cluster.url) as daemon:
        cluster.apply([namespace("one"), deployment("one", 2, scheduler)])
        await until(lambda: runs(cluster) == {"one": 2} and cpus(cluster, "one") == ["2"])
        await until(lambda: overused(cluster, "one") == "False")

        cluster.apply([namespace("two"), deployment("two", 2, scheduler)])
        await until(lambda: overused(cluster, "one") == "True")
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        await until(lambda: overused(cluster, "one") == "False")
        assert cpus(cluster, "one", "two") == ["1", "1"]
        assert allocation(cluster, "two")["deserved"]["memory"] == "1Gi"

        await rounds(daemon, 3)
        assert (runs(cluster), evicted(daemon)) == ({"one": 1, "two": 1}, {"one": 1})


async def test_pods_of_another_scheduler_are_shared_out_through_its_extender() -> None:
    async with (
        Cluster([machine("n1"), machine("n2")], settings=QUICK) as cluster,
        arbitrating(cluster.url, schedule=False, listen_address="127.0.0.1:0") as daemon,
        other_scheduler(cluster, daemon) as refusals,
    ):
        cluster.apply([namespace("one"), deployment("one", 2)])
        await until(lambda: runs(cluster) == {"one": 2})
        cluster.apply([namespace("two"), deployment("two", 2)])
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        await until(lambda: overused(cluster, "one") == "False")
        await until(lambda: refusals.keys() >= {"one", "two"})
        assert refusals["one"] == words.would_hold_too_much("namespace one", "1 cpu and 1Gi memory", "2 and 2Gi")
        await rounds(daemon, 3)
        assert (runs(cluster), evicted(daemon)) == ({"one": 1, "two": 1}, {"one": 1})
        shown = await shown_at(daemon, "/allocations")
        assert shown["namespaces"]["one"]["evicted"] == 1
        assert shown["namespaces"]["two"]["deserved"]["cpu"] == "1"


# -- borrowing and lending


async def test_what_an_idle_area_lends_comes_back_within_disruption_budgets() -> None:
    areas = [bucket("app", reserved={"cpu": "2"}), bucket("bigdata", reserved={"cpu": "3"})]
    consumers = [consumer("web", parent="app"), consumer("spark", parent="bigdata")]
    known = [namespace("web"), namespace("spark"), *areas, *consumers]
    nodes = [machine("n1", cpu="3", memory="8Gi"), machine("n2", cpu="2", memory="8Gi")]
    async with Cluster(nodes, manifests=known, settings=QUICK) as cluster, arbitrating(cluster.url) as daemon:
        cluster.apply([budget("spark", 4), deployment("spark", 5, memory="64Mi")])
        await until(lambda: runs(cluster) == {"spark": 5} and cpus(cluster, "spark") == ["3"])

        cluster.apply([deployment("web", 2, memory="64Mi")])
        await until(lambda: runs(cluster) == {"spark": 4, "web": 1})
        await until(lambda: cpus(cluster, "spark", "web") == ["3", "2"])
        await rounds(daemon, 3)
        assert (runs(cluster), evicted(daemon)) == ({"spark": 4, "web": 1}, {"spark": 1}), "the budget allows no more"
        assert overused(cluster, "spark") == "True"

        cluster.apply([budget("spark", 2)])
        await until(lambda: runs(cluster) == {"spark": 3, "web": 2})
        scale(cluster, "web", 0)
        await until(lambda: runs(cluster) == {"spark": 5})
        assert evicted(daemon) == {"spark": 2}


# -- objects


async def test_consumers_and_allocations_come_and_go_with_their_namespaces() -> None:
    async with Cluster([machine("n1")], settings=QUICK) as cluster, arbitrating(cluster.url) as daemon:

        def there(where: str) -> tuple[bool, bool]:
            return tuple(cluster.client.get(kind, where, "defaults") is not None for kind in (CONSUMERS, ALLOCATIONS))  # type: ignore[return-value]

        cluster.apply([namespace("a"), deployment("a", 1)])
        await until(lambda: there("a") == (True, True) and there("default") == (True, True))
        made = cluster.client.get(CONSUMERS, "a", "defaults")
        assert made is not None
        assert made["spec"] == {"hard": {}, "reserved": {}}
        await until(lambda: condition_of(cluster.client.get(CONSUMERS, "a", "defaults"), "Accepted"))

        await rounds(daemon, 2)
        cluster.client.delete(ALLOCATIONS, "a", "defaults")
        await until(lambda: there("a") == (True, True))
        await rounds(daemon, 2)
        cluster.client.delete(CONSUMERS, "a", "defaults")
        await until(lambda: there("a") == (True, True) and cpus(cluster, "a") == ["1"])
        again = cluster.client.get(CONSUMERS, "a", "defaults")
        assert again is not None
        assert again["metadata"]["uid"] != made["metadata"]["uid"]

        cluster.client.delete("namespaces", "", "a")
        await until(lambda: cluster.client.get("namespaces", "", "a") is None)
        assert there("a") == (False, False)


async def test_an_administrators_consumer_is_obeyed_and_never_written_over() -> None:
    own = consumer("a", "team", hard={"requests.cpu": "2"}, reserved={"cpu": "1500m"})
    known = [namespace("a"), own, deployment("a", 4, memory="64Mi")]
    nodes = [machine("n1", cpu="8", memory="8Gi")]
    async with (
        Cluster(nodes, manifests=known, settings=QUICK) as cluster,
        arbitrating(cluster.url) as daemon,
    ):
        await until(lambda: cluster.client.get(ALLOCATIONS, "a", "team"))
        await until(lambda: runs(cluster) == {"a": 2})
        await rounds(daemon, 3)
        spec = (cluster.client.get(ALLOCATIONS, "a", "team") or {})["spec"]
        assert (spec["hard"], spec["reserved"]) == (own["spec"]["hard"], own["spec"]["reserved"])
        assert spec["deserved"]["cpu"] == "2"
        assert runs(cluster) == {"a": 2}, "no more than its limit"
        (only,) = cluster.client.list(CONSUMERS, "a")
        assert (only["metadata"]["name"], only["spec"]) == ("team", own["spec"])


# -- trouble


@asynccontextmanager
async def one_holds_all(**options: Any) -> AsyncIterator[tuple[Cluster, FaultProxy, Daemon]]:
    """T1 behind a proxy: namespace one runs two pods on two nodes; all requests of the daemon can be spoiled."""
    known = [namespace("one"), namespace("two"), deployment("one", 2)]
    async with (
        Cluster([machine("n1"), machine("n2")], manifests=known, settings=QUICK) as cluster,
        faulty(cluster.url) as proxy,
        arbitrating(proxy.url, **options) as daemon,
    ):
        await until(lambda: runs(cluster) == {"one": 2} and overused(cluster, "one") == "False")
        yield cluster, proxy, daemon


def running_pods(cluster: Cluster, where: str) -> set[str]:
    """The uids of pods that run, and stay."""
    return {
        found["metadata"]["uid"]
        for found in cluster.client.list("pods", where)
        if found["status"].get("phase") == "Running" and not found["metadata"].get("deletionTimestamp")
    }


async def test_refused_and_unanswered_evictions_take_nothing_twice() -> None:
    async with one_holds_all() as (cluster, proxy, daemon):
        eviction = r"/api/v1/namespaces/one/pods/[^/]+/eviction"
        proxy.spoil("POST", eviction, 429, message="too many requests")
        proxy.spoil("POST", eviction, 0)  # carried out, and the answer lost
        before = running_pods(cluster, "one")
        cluster.apply([deployment("two", 1)])
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        await until(lambda: overused(cluster, "one") == "False")
        await rounds(daemon, 3)
        assert runs(cluster) == {"one": 1, "two": 1}
        assert running_pods(cluster, "one") < before, "one of the two has never been touched"


async def test_an_api_server_that_comes_back_finds_the_arbitrator_where_it_was() -> None:
    async with one_holds_all() as (cluster, proxy, daemon):
        before = running_pods(cluster, "one")
        cluster.apply([deployment("two", 1)])
        await until(lambda: overused(cluster, "one") == "True")
        await proxy.down()
        cluster.client.delete(ALLOCATIONS, "two", "defaults")
        await until(lambda: daemon.silence.lasts)  # until then rounds go on
        await proxy.up()
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        await until(lambda: overused(cluster, "one") == "False" and cpus(cluster, "one", "two") == ["1", "1"])
        assert running_pods(cluster, "one") < before, "one of the two has never been touched"


async def test_of_two_arbitrators_one_acts_and_the_other_goes_on_where_it_stopped() -> None:
    lease = LeaseSettings(duration_seconds=60.0, renew_deadline_seconds=50.0, retry_seconds=0.1)
    patient = structs.replace(RULES, grace_seconds=600.0)
    known = [namespace("one"), namespace("two"), deployment("one", 2)]

    def since() -> str:
        told = condition_of(cluster.client.get(ALLOCATIONS, "one", "defaults"), "Overused")
        return str(told["lastTransitionTime"]) if told.get("status") == "True" else ""

    async with (
        Cluster([machine("n1"), machine("n2")], manifests=known, settings=QUICK) as cluster,
        AsyncExitStack() as end,
    ):
        first = await end.enter_async_context(arbitrating(cluster.url, leader_elect=True, lease=lease, rules=patient))
        await until(lambda: runs(cluster) == {"one": 2} and overused(cluster, "one") == "False")
        async with arbitrating(cluster.url, leader_elect=True, lease=lease) as second:
            await until(lambda: second.election.role == "standby" and has_listed(second))
            cluster.apply([deployment("two", 1)])
            await until(since)
            began = since()
            await rounds(first, 3)
            assert second.telemetry.findings.arbitrated is None, "a standby decides nothing"
            await end.aclose()
            await until(lambda: evicted(second) == {"one": 1})
            assert since() in (began, ""), "the grace period was not begun anew"
            await until(lambda: runs(cluster) == {"one": 1, "two": 1})
            assert evicted(first) == {}

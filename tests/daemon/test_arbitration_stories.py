"""Sharing a cluster between namespaces, end to end: workloads that come back, budgets, outages, other schedulers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.daemon.fault_proxy import FaultProxy, faulty
from tests.daemon.running import Obj, condition_of, scheduling, until
from vsched.arbitrator.rules import ArbitrationRules
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

GROUP = "kube-arbitrator.incubator.k8s.io"
CONSUMERS, ALLOCATIONS, BUCKETS = (f"{GROUP}/{plural}" for plural in ("consumers", "allocations", "buckets"))
DEPLOYMENTS, BUDGETS = "apps/deployments", "policy/poddisruptionbudgets"
RULES = ArbitrationRules(interval_seconds=0.1, pause_seconds=0.02, grace_seconds=0.15, allocated_seconds=0.1)
QUICK = ClusterSettings(ControllerSettings(PodTimes(termination=0.05)))


def machine(name: str, cpu: str = "1", memory: str = "1Gi") -> Obj:
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(where: str, replicas: int, scheduler: str = "default-scheduler", memory: str = "1Gi") -> Obj:
    """A Deployment ``web`` of pods with one cpu."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1", "memory": memory}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": where},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"schedulerName": scheduler, "containers": [container]},
            },
        },
    }


def consumer(where: str, name: str = "defaults", **spec: Any) -> Obj:
    metadata = {"name": name, "namespace": where}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Consumer", "metadata": metadata, "spec": spec}


def bucket(name: str, **spec: Any) -> Obj:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Bucket", "metadata": {"name": name}, "spec": spec}


def budget(where: str, minimum: int) -> Obj:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": where},
        "spec": {"minAvailable": minimum, "selector": {"matchLabels": {"app": "web"}}},
    }


def runs(cluster: Cluster) -> Counter[str]:
    """How many pods of each namespace run and are not about to go."""
    return Counter(
        found["metadata"]["namespace"]
        for found in cluster.client.list("pods")
        if found["status"].get("phase") == "Running" and not found["metadata"].get("deletionTimestamp")
    )


def allocation(cluster: Cluster, where: str) -> Obj:
    """The spec of a namespace's Allocation; empty where there is none."""
    return (cluster.client.get(ALLOCATIONS, where, "defaults") or {}).get("spec") or {}


def cpus(cluster: Cluster, *where: str) -> list[str]:
    """What cpu namespaces deserve."""
    return [(allocation(cluster, name).get("deserved") or {}).get("cpu", "") for name in where]


def overused(cluster: Cluster, where: str) -> str:
    return str(condition_of(cluster.client.get(ALLOCATIONS, where, "defaults"), "Overused").get("status", ""))


def evicted(daemon: Daemon) -> dict[str, int]:
    """How many pods arbitration evicted, by namespace."""
    return dict(daemon.telemetry.findings.arbitrated_away)


def scale(cluster: Cluster, where: str, replicas: int) -> None:
    cluster.client.patch(
        DEPLOYMENTS, where, "web", lambda found: {**found, "spec": {**found["spec"], "replicas": replicas}}
    )


async def rounds(daemon: Daemon, number: int) -> None:
    """Wait for so many further rounds of arbitration."""

    def passed() -> float:
        value = daemon.telemetry.registry.get_sample_value("vsched_arbitration_rounds_total", {"result": "success"})
        return value or 0.0

    last = passed() + number
    await until(lambda: passed() >= last)


@asynccontextmanager
async def arbitrating(url: str, **options: Any) -> AsyncIterator[Daemon]:
    """A daemon that arbitrates, and places pods of kube-scheduler's name beside its own."""
    quick = {
        "arbitrate": True,
        "rules": RULES,
        "period_seconds": 0.1,
        "scheduler_names": ("vsched", "default-scheduler"),
    }
    async with scheduling(url, **{**quick, **options}) as daemon:
        yield daemon


# -- the design's T1 to T3


@pytest.mark.parametrize("scheduler", ["vsched", "default-scheduler"])
async def test_a_second_namespace_gets_its_half_by_one_eviction(scheduler: str) -> None:
    async with Cluster([machine("n1"), machine("n2")], settings=QUICK) as cluster, arbitrating(cluster.url) as daemon:
        cluster.apply([namespace("one"), deployment("one", 2, scheduler)])
        await until(lambda: runs(cluster) == {"one": 2} and cpus(cluster, "one") == ["2"])
        assert overused(cluster, "one") == "False"

        cluster.apply([namespace("two"), deployment("two", 2, scheduler)])
        await until(lambda: overused(cluster, "one") == "True")
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        await until(lambda: overused(cluster, "one") == "False")
        assert cpus(cluster, "one", "two") == ["1", "1"]
        assert allocation(cluster, "two")["deserved"]["memory"] == "1Gi"

        await rounds(daemon, 5)
        assert (runs(cluster), evicted(daemon)) == ({"one": 1, "two": 1}, {"one": 1})


# -- borrowing and lending


async def test_what_an_idle_area_lends_comes_back_within_disruption_budgets() -> None:
    areas = [bucket("app", reserved={"cpu": "2"}), bucket("bigdata", reserved={"cpu": "3"})]
    consumers = [consumer("web", parent="app"), consumer("spark", parent="bigdata")]
    known = [namespace("web"), namespace("spark"), *areas, *consumers]
    nodes = [machine("n1", cpu="3", memory="8Gi"), machine("n2", cpu="2", memory="8Gi")]
    async with Cluster(nodes, manifests=known, settings=QUICK) as cluster, arbitrating(cluster.url) as daemon:
        cluster.apply([budget("spark", 4), deployment("spark", 5, memory="64Mi")])
        await until(lambda: runs(cluster) == {"spark": 5} and cpus(cluster, "spark") == ["5"])

        cluster.apply([deployment("web", 2, memory="64Mi")])
        await until(lambda: runs(cluster) == {"spark": 4, "web": 1})
        await until(lambda: cpus(cluster, "spark", "web") == ["3", "2"])
        await rounds(daemon, 5)
        assert (runs(cluster), evicted(daemon)) == ({"spark": 4, "web": 1}, {"spark": 1}), "the budget allows no more"
        assert overused(cluster, "spark") == "True"

        cluster.apply([budget("spark", 2)])
        await until(lambda: runs(cluster) == {"spark": 3, "web": 2})
        scale(cluster, "web", 0)
        await until(lambda: runs(cluster) == {"spark": 5} and cpus(cluster, "spark") == ["5"])
        assert evicted(daemon) == {"spark": 2}


# -- objects


async def test_consumers_and_allocations_come_and_go_with_their_namespaces() -> None:
    async with Cluster([machine("n1")], settings=QUICK) as cluster, arbitrating(cluster.url):

        def there(where: str) -> tuple[bool, bool]:
            return tuple(cluster.client.get(kind, where, "defaults") is not None for kind in (CONSUMERS, ALLOCATIONS))  # type: ignore[return-value]

        cluster.apply([namespace("a"), deployment("a", 1)])
        await until(lambda: there("a") == (True, True) and there("default") == (True, True))
        made = cluster.client.get(CONSUMERS, "a", "defaults")
        assert made is not None
        assert made["spec"] == {"hard": {}, "reserved": {}}
        await until(lambda: condition_of(cluster.client.get(CONSUMERS, "a", "defaults"), "Accepted"))

        cluster.client.delete(ALLOCATIONS, "a", "defaults")
        await until(lambda: there("a") == (True, True))
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


def evictions(proxy: FaultProxy) -> int:
    """Evictions that the API server granted."""
    return sum(count for (what, code), count in proxy.seen.items() if what == "POST pods" and code in (200, 201))


async def test_refused_and_unanswered_evictions_take_nothing_twice() -> None:
    async with one_holds_all() as (cluster, proxy, daemon):
        eviction = r"/api/v1/namespaces/one/pods/[^/]+/eviction"
        proxy.spoil("POST", eviction, 429, message="too many requests")
        proxy.spoil("POST", eviction, 0)  # carried out, and the answer lost
        cluster.apply([deployment("two", 1)])
        await until(lambda: runs(cluster) == {"one": 1, "two": 1})
        await until(lambda: overused(cluster, "one") == "False")
        await rounds(daemon, 3)
        lives = [found for found in cluster.client.list("pods", "one") if found["status"].get("phase") == "Running"]
        assert (runs(cluster), len(lives)) == ({"one": 1, "two": 1}, 1)
        assert sum(evicted(daemon).values()) <= 1


async def test_an_api_server_that_comes_back_finds_the_arbitrator_where_it_was() -> None:
    async with one_holds_all() as (cluster, proxy, daemon):
        cluster.apply([deployment("two", 1)])
        await until(lambda: overused(cluster, "one") == "True")
        await proxy.down()
        cluster.client.delete(ALLOCATIONS, "two", "defaults")
        await rounds(daemon, 3)
        await proxy.up()
        await until(lambda: runs(cluster) == {"one": 1, "two": 1}, 20.0)
        await until(lambda: overused(cluster, "one") == "False" and cpus(cluster, "one", "two") == ["1", "1"], 20.0)
        assert evicted(daemon) == {"one": 1}

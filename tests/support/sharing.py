"""Namespaces that share an embedded cluster: workloads that come back, Consumers, and another scheduler beside ours."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.support.running import Obj, condition_of, scheduling
from tests.support.waiting import until
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


@asynccontextmanager
async def other_scheduler(cluster: Cluster, daemon: Daemon) -> AsyncIterator[dict[str, str]]:
    """Something like kube-scheduler, without preferences: gives what it was told last about pods of each namespace."""
    refusals: dict[str, str] = {}
    await until(lambda: daemon.ports)
    extender = f"http://127.0.0.1:{daemon.ports['--listen-address']}/extender/filter"

    async def place(session: aiohttp.ClientSession, found: Obj) -> None:
        where, name = found["metadata"]["namespace"], found["metadata"]["name"]
        question = {"Pod": found, "NodeNames": ["n1", "n2"]}
        async with session.post(extender, json=question) as answered:
            if answered.status != 200:
                return  # not ready yet
            answer = await answered.json()
        if not answer["NodeNames"]:
            refusals[where] = answer["FailedNodes"]["n1"]
            return
        taken = {pod["spec"].get("nodeName") for pod in cluster.client.list("pods")}
        free = [node for node in answer["NodeNames"] if node not in taken]
        if free:
            body = {"target": {"kind": "Node", "name": free[0]}, "metadata": {"name": name}}
            path = f"{cluster.url}/api/v1/namespaces/{where}/pods/{name}/binding"
            (await session.post(path, json={"apiVersion": "v1", "kind": "Binding", **body})).close()

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                for found in cluster.client.list("pods"):
                    if not found["spec"].get("nodeName") and not found["metadata"].get("deletionTimestamp"):
                        await place(session, found)
                await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run())
        yield refusals
        task.cancel()


async def shown_at(daemon: Daemon, path: str) -> Any:
    url = f"http://127.0.0.1:{daemon.ports['--listen-address']}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.json()

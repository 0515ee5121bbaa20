"""Restarts and relists in a cluster full of pods: what is told, what is listed again, and who waits meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from tests.support.running import gang, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched.daemon.observe.progress import Progress
from vsched.daemon.words import log as words
from vsched.kube.paths import ApiResource
from vsched.kube.watch.deltas import Statistics
from vsched.sim.cluster import Cluster
from vsched.sim.fleet.residents import Residents
from vsched.sim.requests.request import ApiRequest

PODS = 2_400
RESIDENTS = [
    Residents(count=PODS // 2, prefix="train-", gang=20, namespace="training", namespaces=3),
    Residents(count=PODS // 2, prefix="web-", namespace="web", scheduler="other"),
]


class Slow:
    """A gate that lets pages of pods through one at a time, and knows how many it has seen."""

    def __init__(self) -> None:
        self.pages = 0
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, call: ApiRequest) -> None:
        if call.path == "/api/v1/pods" and "continue" in call.query:
            self.pages += 1
            await self.open.wait()


async def test_a_watch_that_expires_costs_a_list_of_its_kind_and_no_session() -> None:
    gate = Slow()
    async with Cluster(60, residents=RESIDENTS, gate=gate) as cluster, scheduling(cluster.url) as daemon:
        await until(daemon.reflectors["Pod"].synced.is_set)
        assert daemon.mirror.describe()["tasks"] == PODS
        assert gate.pages >= PODS // 500
        cluster.apply(gang("early", 2))
        await until(lambda: len(nodes_of(cluster, "early")) == 2)
        gate.open.clear()
        before = {kind: found.statistics.relists for kind, found in daemon.reflectors.items()}
        cluster.client.delete("pods", "web", "web-7", grace_seconds=0)
        cluster.expire_watches("pods")
        pods = daemon.reflectors["Pod"].statistics
        await until(lambda: pods.listing and pods.listed >= 500)
        # The rest of the list does not come, and new pods are seen and placed all the same.
        cluster.apply([pod("late"), *gang("later", 3)])
        await until(lambda: len(nodes_of(cluster, "late")) == 4)
        assert pods.listing
        gate.open.set()
        await until(lambda: pods.relists > before["Pod"])
        relists = {kind for kind, found in daemon.reflectors.items() if found.statistics.relists > before[kind]}
        assert relists == {"Pod"}
        await until(lambda: daemon.mirror.describe()["tasks"] == len(cluster.client.list("pods")))
        assert daemon.mirror.describe()["assumed_tasks"] == 0


def statistics(**figures: Any) -> Statistics:
    found = Statistics(ApiResource("", "v1", "pods"))
    for name, value in figures.items():
        setattr(found, name, value)
    return found


def test_lists_that_take_long_are_told_of_and_so_are_repeated_ones() -> None:
    pods, nodes = statistics(listing=True, listed=1500, expected=140_000), statistics(synced=True, lists=1)
    told: list[tuple[str, dict[str, Any]]] = []
    progress = Progress({"Pod": pods, "Node": nodes}, lambda event, **fields: told.append((event, fields)))
    progress.look()
    assert told.pop() == ("listing", {"Pod": "1,500 of 140,000", "kinds": "1 of 2 complete"})
    pods.listed, pods.expected, pods.listing, pods.synced, pods.lists = 140_000, 140_000, False, True, 1
    progress.look()
    assert told == []
    pods.listing, pods.listed = True, 0
    progress.look()
    assert told == [], "nothing is known of a list that was only just asked for"
    pods.listing, pods.lists, pods.objects, pods.list_seconds = False, 2, 140_001, 8.06
    for _ in range(2):
        progress.look()
    assert told == [("relisted", {"kind": "Pod", "objects": 140_001, "seconds": 8.1})]


async def test_progress_is_in_the_log() -> None:
    gate = Slow()
    gate.open.clear()
    with structlog.testing.capture_logs() as lines:
        async with Cluster(1, residents=RESIDENTS, gate=gate) as cluster, scheduling(cluster.url) as daemon:
            daemon.progress.period_seconds = 0.02
            await until(lambda: any(line["event"] == "listing" and "Pod" in line for line in lines))
            gate.open.set()
            await until(lambda: any(line["event"] == "cache synced" for line in lines))
    [first, *_] = [line["Pod"] for line in lines if line["event"] == "listing" and "Pod" in line]
    assert first.endswith(f" of {PODS:,}")
    [complete] = [line for line in lines if line["event"] == "cache synced"]
    assert {name: complete[name] for name in ("nodes", "pods", "left_out")} == {"nodes": 1, "pods": PODS, "left_out": 0}
    assert len(complete) <= len(("event", "log_level")) + 10
    watches = {line["resource"]: (line["log_level"], line["state"]) for line in lines if line["event"] == "watch"}
    assert watches["nodepools.karpenter.sh"] == ("info", words.NOT_NEEDED)

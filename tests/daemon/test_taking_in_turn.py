"""Jobs that could take from each other in turn, at an embedded cluster: vcjobs that restart, and what comes back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.owners import queue
from tests.support.running import PODGROUPS, node, pod, podgroup, reasons_of, scheduling, sessions
from tests.support.vcjob_cluster import on, phase, status, task, vcjob
from tests.support.waiting import until
from vsched import clock
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

Obj = dict[str, Any]
CAPACITY = {"policy_file": Path(__file__).parents[2] / "config" / "policies" / "capacity.yaml"}
QUEUES = [queue("qa", deserved={"cpu": "2"}), queue("qb", deserved={"cpu": "2"})]
SLOW = ClusterSettings(ControllerSettings(PodTimes(termination=0.3)))


def job(name: str, of: str) -> Obj:
    """Four pods of one cpu, of which two are enough; whoever loses one begins again."""
    workers = task("w", 4)
    spec = workers["template"]["spec"]
    spec["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    spec["terminationGracePeriodSeconds"] = 30
    again = [on("PodEvicted", "RestartJob")]
    return vcjob(name, workers, queue=of, minAvailable=2, maxRetry=10, policies=again)


def running(cluster: Cluster) -> Counter[str]:
    """How many pods run, by the first part of their names."""
    found = (each for each in cluster.client.list("pods", "default") if each["status"].get("phase") == "Running")
    return Counter(each["metadata"]["name"].partition("-")[0] for each in found)


def total(daemon: Daemon, name: str, **labels: str) -> float:
    return daemon.telemetry.registry.get_sample_value(name, labels) or 0.0


def evictions(daemon: Daemon) -> float:
    return total(daemon, "vsched_evictions_total", action="reclaim", verdict="evicted")


@pytest.mark.parametrize("ends", [pytest.param(False, id="one daemon"), pytest.param(True, id="then another daemon")])
async def test_a_vcjob_that_restarts_keeps_what_its_queue_deserves(ends: bool) -> None:
    async with Cluster([node("n1")], settings=SLOW) as cluster:
        async with scheduling(cluster.url, **CAPACITY) as daemon:
            cluster.apply([*QUEUES, job("ja", "qa")])
            await until(lambda: running(cluster) == {"ja": 4} and phase(cluster, "ja") == "Running")
            cluster.apply([job("jb", "qb")])
            await until(lambda: phase(cluster, "ja") == "Restarting")
            if not ends:
                await until(lambda: running(cluster) == {"ja": 2, "jb": 2} and phase(cluster, "ja") == "Running")
            first = evictions(daemon)
        async with scheduling(cluster.url, period_seconds=0.05, **CAPACITY) as daemon:
            await until(lambda: running(cluster) == {"ja": 2, "jb": 2} and phase(cluster, "ja") == "Running")
            await sessions(daemon, 20)
            assert (running(cluster), first + evictions(daemon)) == ({"ja": 2, "jb": 2}, 2)
        assert (status(cluster, "ja")["retryCount"], status(cluster, "jb").get("retryCount", 0)) == (1, 0)


async def test_a_loop_is_counted_told_and_recorded_and_ends() -> None:
    def come(name: str) -> None:
        cluster.apply([podgroup(name, 2, queue=f"q{name[1]}"), *(pod(f"{name}-{index}", name) for index in range(4))])

    async with Cluster([node("n1")], manifests=QUEUES) as cluster, scheduling(cluster.url, **CAPACITY) as daemon:
        come("ja")
        await until(lambda: running(cluster) == {"ja": 4})
        come("jb")
        await until(lambda: running(cluster) == {"ja": 2, "jb": 2})
        cluster.client.delete(PODGROUPS, "default", "ja")
        for each in list(cluster.client.list("pods", "default")):
            if each["metadata"]["name"].startswith("ja-"):
                cluster.client.delete("pods", "default", each["metadata"]["name"], grace_seconds=0)
        await until(lambda: running(cluster) == {"jb": 4})
        come("ja")
        await until(lambda: running(cluster) == {"ja": 2, "jb": 2})
        await until(lambda: total(daemon, "vsched_eviction_loops_total", action="reclaim") == 1)
        await until(lambda: all("EvictionLoop" in reasons_of(cluster, name) for name in ("ja", "jb")))
        await until(lambda: total(daemon, "vsched_recordings_total", reason="eviction-loop") == 1)
        snapshot = daemon.mirror.snapshot(clock.now())
        assert {key: job.spec.barred for key, job in snapshot.jobs.items()} == {
            "default/ja": ("default/jb",),
            "default/jb": ("default/ja",),
        }

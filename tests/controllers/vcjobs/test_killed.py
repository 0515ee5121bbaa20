"""Vcjobs whose controller dies, fails or hands over at any moment: none is lost, none has a pod twice, and retries are
counted right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.killing import killed_after
from tests.support.replicas import pair
from tests.support.running import node, nodes_of, scheduling
from tests.support.vcjob_cluster import command, commands, job, on, phase, status, task, vcjob
from tests.support.waiting import until
from vsched.sim.api.fault_plan import FaultInjector, FaultKind, plan_of
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
VCJOB_WRITES = (
    r"(POST|PUT|PATCH|DELETE) (/apis/batch\.volcano\.sh/.*|/apis/bus\.volcano\.sh/.*"
    r"|/apis/scheduling\.volcano\.sh/v1beta1/namespaces/default/podgroups(/[^/]+)?"
    r"|/api/v1/namespaces/default/(pods|services|configmaps|secrets)(/[^/]+)?)"
)
"""What the controller of vcjobs writes, and Events apart, nobody else."""
RETRIES = 2


class Made:
    """The pods that were ever made of vcjobs."""

    def __init__(self) -> None:
        self.uids: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        """By name, version of the job and number of the retry."""

    def see(self, obj: Obj) -> None:
        said = obj["metadata"].get("annotations") or {}
        number = said.get("volcano.sh/job-version", ""), said.get("volcano.sh/job-retry-count", "")
        self.uids[obj["metadata"]["name"], *number].add(obj["metadata"]["uid"])

    def rounds(self, name: str) -> int:
        """How often the pods of a job were made."""
        return len({key[1:] for key in self.uids if key[0].startswith(f"{name}-")})

    @property
    def doubled(self) -> list[tuple[str, str, str]]:
        return [key for key, uids in self.uids.items() if len(uids) > 1]


@contextmanager
def watched(cluster: Cluster) -> Iterator[Made]:
    """All pods that are made meanwhile; to be looked at afterwards."""
    made = Made()
    changes = cluster.store.subscribe(cluster.client.kind("pods"))
    yield made
    while events := changes.take():
        for event in events:
            made.see(event.obj)


def failing(name: str) -> Obj:
    """A job whose pods fail, until it has no retries left."""
    worker = task("worker", 2, "20ms", exit_code=1)
    return vcjob(name, worker, policies=[on("PodFailed", "RestartJob")], maxRetry=RETRIES, plugins={"svc": []})


def ending(name: str) -> Obj:
    """A job whose pods succeed."""
    return vcjob(name, task("worker", 2, "50ms"))


def has_ended(cluster: Cluster, count: int) -> bool:
    names = [f"{kind}{number}" for number in range(count) for kind in ("f", "e")]
    return all(phase(cluster, name) in ("Failed", "Completed") for name in names)


def check(cluster: Cluster, made: Made, count: int) -> None:
    """What must hold once all jobs have ended."""
    for number in range(count):
        found = status(cluster, f"f{number}")
        assert (found["state"]["phase"], found["retryCount"]) == ("Failed", RETRIES), found
        phases = [each["status"] for each in found["conditions"]]
        assert phases.count("Restarting") == RETRIES, phases
        assert made.rounds(f"f{number}") == RETRIES, "the last retry makes no pods any more"
        assert status(cluster, f"e{number}")["state"]["phase"] == "Completed"
        assert made.rounds(f"e{number}") == 1
    assert made.doubled == []


def jobs(count: int) -> list[Obj]:
    return [each for number in range(count) for each in (failing(f"f{number}"), ending(f"e{number}"))]


@pytest.mark.parametrize("count", [1, 4, 7])
async def test_a_controller_that_is_killed_again_and_again_loses_and_doubles_nothing(count: int) -> None:
    async with Cluster([node("n1")], manifests=jobs(2)) as cluster:
        with watched(cluster) as made:
            kills = 0
            while kills < 6 and await killed_after(cluster, VCJOB_WRITES, count, lambda found: has_ended(found, 2)):
                kills += 1
            async with scheduling(cluster.url):
                await until(lambda: has_ended(cluster, 2))
        assert kills >= 3
        check(cluster, made, 2)


async def test_a_job_with_plugins_gets_on_although_every_controller_is_killed_after_its_first_write() -> None:
    made_by_plugins = ("services", "secrets", "configmaps", "networking.k8s.io/networkpolicies")
    worker = vcjob("train", task("worker", 2), plugins={"svc": [], "ssh": []})
    async with Cluster([node("n1")], manifests=[worker]) as cluster:
        with watched(cluster) as made:
            lives = 0
            while await killed_after(cluster, VCJOB_WRITES, 1, lambda found: len(nodes_of(found)) == 2):
                lives += 1
                assert lives <= 15, "a controller writes what another has written"
            async with scheduling(cluster.url):
                await until(lambda: phase(cluster, "train") == "Running")
        assert (len(cluster.client.list("pods")), made.doubled) == (2, [])
        assert [len(cluster.client.list(kind, "default")) for kind in made_by_plugins] == [1, 1, 1, 1]


async def test_a_command_is_carried_out_once_though_the_controller_is_killed_before_it_is_deleted() -> None:
    made = vcjob("train", task("worker", 2))
    async with Cluster([node("n1")], manifests=[made]) as cluster:
        async with scheduling(cluster.url):
            await until(lambda: phase(cluster, "train") == "Running")
        command(cluster, "RestartJob", "train")
        assert await killed_after(cluster, VCJOB_WRITES, 1, lambda found: False)
        assert len(commands(cluster)) == 1
        async with scheduling(cluster.url):
            await until(lambda: phase(cluster, "train") == "Running" and not commands(cluster))
        assert status(cluster, "train")["retryCount"] == 1


async def test_the_next_leader_goes_on_with_the_jobs() -> None:
    async with Cluster([node("n1")], manifests=jobs(2)) as cluster:
        with watched(cluster) as made:
            async with pair(cluster.url) as (leader, standby):
                await until(lambda: status(cluster, "f0").get("retryCount"))
                await leader.stop()
                await until(lambda: has_ended(cluster, 2))
                assert standby.daemon.election.leading.is_set()
        check(cluster, made, 2)


DELAYS = {FaultKind.SLOW: 50, FaultKind.TIMEOUT: 100, FaultKind.WATCH_CUT: 600, FaultKind.WATCH_EXPIRED: 600}
DELAYS |= {FaultKind.WATCH_SKIPS: 100, FaultKind.WATCH_LATE: 100, FaultKind.WEBHOOK_TIMEOUT: 100}
SPOILING = [
    {"fault": kind.value, "percent": 5, **({"delay_ms": DELAYS[kind]} if kind in DELAYS else {})}
    for kind in FaultKind
    if kind is not FaultKind.WATCH_SILENT
]


async def test_jobs_come_to_their_end_though_every_request_may_fail() -> None:
    faults = FaultInjector(plan_of({"seed": 5, "rules": SPOILING}, "test"))
    async with Cluster([node("n1")], faults=faults) as cluster:
        with watched(cluster) as made:
            async with scheduling(cluster.url):
                cluster.apply(jobs(4))
                await until(lambda: has_ended(cluster, 4))
        check(cluster, made, 4)
        assert all(job(cluster, name) for name in ("f0", "e3"))

"""Evictions and nominations at an embedded cluster: what the pods are told, what forbids it, what fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.daemon.preempting import POLICY, QUICK_TO_GO, Obj, of_class, priority_class
from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.running import condition_of, gang, node, pod, scheduling
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import Status
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

EVICTION = r"/api/v1/namespaces/default/pods/[^/]+/eviction"
SLOW_TO_GO = ClusterSettings(ControllerSettings(PodTimes(termination=20.0)))


def found(cluster: Cluster, name: str) -> Obj | None:
    return cluster.client.get("pods", "default", name)


def budget(group: str, minimum: int) -> Obj:
    """A disruption budget for the pods that carry this label."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": group, "namespace": "default"},
        "spec": {"minAvailable": minimum, "selector": {"matchLabels": {"group": group}}},
    }


def labelled(objects: list[Obj], group: str) -> list[Obj]:
    for found in objects:
        found["metadata"]["labels"] = {"group": group}
    return objects


def uid_of(cluster: Cluster, name: str) -> str:
    return str((found(cluster, name) or {})["metadata"]["uid"])


def deleting(cluster: Cluster, name: str) -> bool:
    return bool(((found(cluster, name) or {}).get("metadata") or {}).get("deletionTimestamp"))


async def all_run(daemon: Daemon, cluster: Cluster, *names: str) -> None:
    """Wait until the mirror shows these pods running."""

    def status(name: str) -> Status | None:
        there = found(cluster, name)
        task = daemon.mirror.task(there["metadata"]["uid"]) if there else None
        return None if task is None else task.status

    await until(lambda: all(status(name) is Status.RUNNING for name in names))


def take(daemon: Daemon, cluster: Cluster, *names: str, uid: str = "") -> None:
    """What the spine does with a session that evicts these pods for the sake of another job."""
    evictions = tuple(
        Evict(uid or uid_of(cluster, name), "default", name, "n1", "default/g", "reclaim", "default/other")
        for name in names
    )
    daemon.mirror.assumptions.assume(CycleReport(evictions=evictions))
    daemon.evictor.submit(evictions)


def count(daemon: Daemon, verdict: str, action: str = "reclaim") -> float:
    labels = {"action": action, "verdict": verdict}
    return daemon.telemetry.registry.get_sample_value("vsched_evictions_total", labels) or 0.0


def events(cluster: Cluster, name: str, reason: str) -> list[tuple[str, str, str, int]]:
    return [
        (event["involvedObject"]["kind"], event["type"], event["message"], event["count"])
        for event in cluster.client.list("events", "default")
        if event["involvedObject"]["name"] == name and event["reason"] == reason
    ]


async def test_an_evicted_pod_has_its_grace_and_everybody_is_told_who_takes_its_room() -> None:
    async with Cluster([node("n1")], settings=SLOW_TO_GO) as cluster, scheduling(cluster.url) as daemon:
        cluster.apply(gang("g", 3))
        await all_run(daemon, cluster, "g-0", "g-1", "g-2")
        take(daemon, cluster, "g-0", "g-1")
        await until(lambda: not daemon.evictor.busy)
        for name in ("g-0", "g-1"):
            there = found(cluster, name)
            assert there is not None
            assert there["metadata"]["deletionGracePeriodSeconds"] == 30
            told = condition_of(there, "DisruptionTarget")
            assert (told["status"], told["reason"]) == ("True", "PreemptionByScheduler")
            assert told["message"] == "reclaim for default/other"
        await until(lambda: events(cluster, "g-0", "Evict") and events(cluster, "g", "Evict"))
        assert events(cluster, "g-0", "Evict") == [
            ("Pod", "Warning", "Evicted from n1: reclaim for default/other", 1),
        ]
        [(kind, severity, message, _)] = events(cluster, "g", "Evict")
        assert (kind, severity, message) == ("PodGroup", "Normal", "Pods evicted: reclaim for default/other")
        await until(lambda: daemon.mirror.describe()["assumed_tasks"] == 0)
        task = daemon.mirror.task(uid_of(cluster, "g-0"))
        assert task is not None
        assert task.status is Status.RELEASING
        assert not deleting(cluster, "g-2")
        assert count(daemon, "evicted") == 2


async def test_the_room_of_an_evicted_pod_goes_to_another() -> None:
    async with Cluster([node("n1", cpu="2")], settings=QUICK_TO_GO) as cluster, scheduling(cluster.url) as daemon:
        cluster.apply(gang("g", 2))
        await all_run(daemon, cluster, "g-0", "g-1")
        cluster.apply(gang("late", 1))
        take(daemon, cluster, "g-0")
        await all_run(daemon, cluster, "late-0")
        assert found(cluster, "g-0") is None


async def test_a_budget_is_respected_and_its_pod_is_spared_while_others_go() -> None:
    async with Cluster([node("n1")], settings=SLOW_TO_GO) as cluster, scheduling(cluster.url) as daemon:
        cluster.apply([*labelled(gang("kept", 1), "kept"), budget("kept", 1), *gang("g", 1)])
        await all_run(daemon, cluster, "kept-0", "g-0")
        await cluster.settle()
        take(daemon, cluster, "kept-0", "g-0")
        await until(lambda: count(daemon, "refused-now") and count(daemon, "evicted"))
        task = daemon.mirror.task(uid_of(cluster, "kept-0"))
        assert task is not None
        assert (task.status, task.preemptable) == (Status.RUNNING, False)
        await until(lambda: not daemon.evictor.busy)
        assert condition_of(found(cluster, "kept-0"), "DisruptionTarget") == {}
        assert not deleting(cluster, "kept-0")
        assert deleting(cluster, "g-0")
        await until(lambda: events(cluster, "kept-0", "FailedEviction"))


async def test_deletion_does_not_ask_budgets() -> None:
    async with (
        Cluster([node("n1")], settings=SLOW_TO_GO) as cluster,
        scheduling(cluster.url, eviction_mode="delete") as daemon,
    ):
        cluster.apply([*labelled(gang("g", 1), "g"), budget("g", 1)])
        await all_run(daemon, cluster, "g-0")
        await cluster.settle()
        take(daemon, cluster, "g-0")
        await until(lambda: not daemon.evictor.busy)
        there = found(cluster, "g-0")
        assert there is not None
        assert there["metadata"]["deletionGracePeriodSeconds"] == 30
        assert condition_of(there, "DisruptionTarget")["reason"] == "PreemptionByScheduler"


@pytest.mark.parametrize("mode", ["eviction", "delete"])
async def test_a_pod_that_took_the_name_of_the_victim_is_left_alone(mode: str) -> None:
    async with (
        Cluster([node("n1")], settings=QUICK_TO_GO) as cluster,
        scheduling(cluster.url, eviction_mode=mode) as daemon,
    ):
        cluster.apply(gang("g", 1))
        await all_run(daemon, cluster, "g-0")
        before = uid_of(cluster, "g-0")
        cluster.client.delete("pods", "default", "g-0", grace_seconds=0)
        cluster.apply([pod("g-0", "g")])
        await all_run(daemon, cluster, "g-0")
        assert uid_of(cluster, "g-0") != before
        take(daemon, cluster, "g-0", uid=before)
        await until(lambda: count(daemon, "gone"))
        assert not deleting(cluster, "g-0")
        assert condition_of(found(cluster, "g-0"), "DisruptionTarget") == {}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(500, id="an internal error"),
        pytest.param(503, id="an overloaded server"),
        pytest.param(0, id="an answer that is lost after the eviction was made"),
    ],
)
async def test_an_eviction_is_tried_again_and_takes_nobody_else(code: int) -> None:
    async with (
        Cluster([node("n1")], settings=SLOW_TO_GO) as cluster,
        faulty(cluster.url) as proxy,
        scheduling(proxy.url) as daemon,
    ):
        cluster.apply([*labelled(gang("g", 3), "g"), budget("g", 2)])
        await all_run(daemon, cluster, "g-0", "g-1", "g-2")
        await cluster.settle()
        proxy.spoil("POST", EVICTION, code, times=2)
        take(daemon, cluster, "g-0")
        await until(lambda: not daemon.evictor.busy)
        assert [deleting(cluster, f"g-{number}") for number in range(3)] == [True, False, False]
        assert (count(daemon, "evicted"), count(daemon, "refused-now")) == (1, 0)
        await until(lambda: daemon.mirror.describe()["assumed_tasks"] == 0)


async def test_a_pod_that_may_not_be_evicted_runs_on_and_is_spared() -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url) as daemon:
        cluster.apply(gang("g", 1))
        await all_run(daemon, cluster, "g-0")
        proxy.spoil("POST", EVICTION, 403, message="pods/eviction is forbidden")
        take(daemon, cluster, "g-0")
        await until(lambda: count(daemon, "refused"))
        task = daemon.mirror.task(uid_of(cluster, "g-0"))
        assert task is not None
        assert (task.status, task.preemptable) == (Status.RUNNING, False)
        await until(lambda: events(cluster, "g-0", "FailedEviction"))


async def test_what_was_decided_before_the_stop_is_still_carried_out() -> None:
    async with Cluster([node("n1", cpu="64")], settings=SLOW_TO_GO) as cluster, faulty(cluster.url) as proxy:
        names = [f"g-{number}" for number in range(40)]
        async with scheduling(proxy.url) as daemon:
            cluster.apply(gang("g", 40))
            await all_run(daemon, cluster, *names)
            proxy.spoil("POST", EVICTION, 503, times=10)
            take(daemon, cluster, *names)
            await until(lambda: daemon.evictor.in_flight)
        assert all(deleting(cluster, name) for name in names)
        reasons = {condition_of(found(cluster, name), "DisruptionTarget").get("reason") for name in names}
        assert reasons == {"PreemptionByScheduler"}


@asynccontextmanager
async def preempting(
    settings: ClusterSettings, tmp_path: Path, *residents: Obj
) -> AsyncIterator[tuple[Cluster, FaultProxy, Daemon]]:
    """A node full of pods, one of higher priority that waits, and a daemon that preempts."""
    residents = residents or tuple(gang("g", 2, 1))
    pods = [one["metadata"]["name"] for one in residents if one["kind"] == "Pod"]
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    async with (
        Cluster([node("n1", cpu=str(len(pods)))], settings=settings) as cluster,
        faulty(cluster.url) as proxy,
        scheduling(proxy.url, period_seconds=0.05, policy_file=policy) as daemon,
    ):
        cluster.apply([priority_class("urgent", 1000), priority_class("middling", 500)])
        cluster.apply(residents)
        await all_run(daemon, cluster, *pods)
        await cluster.settle()
        cluster.apply(of_class("urgent", gang("late", 1)))
        yield cluster, proxy, daemon


async def test_a_preemptor_is_nominated_at_once_and_told_once_until_it_no_longer_holds(tmp_path: Path) -> None:
    async with preempting(SLOW_TO_GO, tmp_path) as (cluster, proxy, daemon):
        patches: list[str] = []
        proxy.on_request = lambda method, path: patches.append(path) if method == "PATCH" else None
        await until(lambda: status_of(cluster, "late-0").get("nominatedNodeName") == "n1")
        uid = uid_of(cluster, "late-0")
        assert nominated(daemon, uid) == "n1"
        await until(lambda: daemon.mirror.describe()["assumed_nominations"] == 0)
        cycles = daemon.telemetry.findings.cycles
        await until(lambda: daemon.telemetry.findings.cycles >= cycles + 10)
        # One for the nomination, one for why it waits, and one more should the reason have changed.
        assert len([path for path in patches if "/pods/late-0/status" in path]) <= 3
        assert [deleting(cluster, name) for name in ("g-0", "g-1")].count(True) == 1
        cluster.client.patch("nodes", "", "n1", cordoned)
        await until(lambda: not status_of(cluster, "late-0").get("nominatedNodeName"))
        await until(lambda: nominated(daemon, uid) == "")
        await until(lambda: daemon.mirror.describe()["assumed_nominations"] == 0)


async def test_a_preemptor_runs_once_its_victim_is_gone(tmp_path: Path) -> None:
    async with preempting(QUICK_TO_GO, tmp_path) as (cluster, _, daemon):
        await all_run(daemon, cluster, "late-0")
        assert [found(cluster, name) is None for name in ("g-0", "g-1")].count(True) == 1
        assert not status_of(cluster, "late-0").get("nominatedNodeName")
        assert count(daemon, "evicted", "preempt") == 1
        value = daemon.telemetry.registry.get_sample_value
        assert value("volcano_eviction_transactions_total", {"action": "preempt"}) == 1


async def test_where_a_budget_keeps_the_first_choice_another_victim_goes(tmp_path: Path) -> None:
    kept = [*labelled(gang("kept", 2, 1), "kept"), budget("kept", 2)]
    dearer = of_class("middling", gang("dearer", 2, 1))
    async with preempting(QUICK_TO_GO, tmp_path, *kept, *dearer) as (cluster, _, daemon):
        await all_run(daemon, cluster, "late-0")
        assert not count(daemon, "refused-now", "preempt"), "nobody is asked for whom a budget keeps"
        assert count(daemon, "evicted", "preempt") == 1
        assert [found(cluster, name) is None for name in ("dearer-0", "dearer-1")].count(True) == 1
        assert not any(deleting(cluster, name) for name in ("kept-0", "kept-1"))
        assert daemon.mirror.describe()["spared_tasks"] == 0


def nominated(daemon: Daemon, uid: str) -> str | None:
    task = daemon.mirror.task(uid)
    return None if task is None else task.nominated


def status_of(cluster: Cluster, name: str) -> Obj:
    return (found(cluster, name) or {}).get("status") or {}


def cordoned(found: Obj) -> Obj:
    return {**found, "spec": {**found.get("spec", {}), "unschedulable": True}}

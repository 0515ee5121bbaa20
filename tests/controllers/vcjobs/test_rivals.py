"""Vcjobs are left alone while Volcano's own controllers run, and looked after once they are gone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.builders import merged
from tests.support.running import node, pod, scheduling, sessions
from tests.support.vcjob_cluster import command, commands, on, phase, phases, pods, status, task, vcjob
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.controllers.vcjobs.rivals import RivalSettings, VolcanoControllers
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.lease.record import micro_time
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
NAMESPACE: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}}


def lease(holder: str = "vc-1", second: int = 0) -> Obj:
    """Volcano's Lease, renewed at this second."""
    renewed = micro_time(datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC))
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "vc-controller-manager", "namespace": "volcano-system"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed},
    }


def controller(namespace: str = "volcano-system") -> Obj:
    """A pod in which Volcano's controllers run."""
    about = {"metadata": {"namespace": namespace, "labels": {"app": "volcano-controller"}}}
    return merged(pod("volcano-controllers-0"), about)


async def test_jobs_are_left_alone_while_a_pod_of_volcano_s_controllers_is_there() -> None:
    objects = [NAMESPACE, controller(), vcjob("train", task("worker", 1))]
    async with Cluster([node("n1")], manifests=objects) as cluster, scheduling(cluster.url) as daemon:
        jobs = daemon.housekeeping.jobs
        assert jobs is not None
        await until(lambda: "they run in pod volcano-system/volcano-controllers-0" in jobs.standing_back)
        await sessions(daemon, 3)
        assert (phase(cluster, "train"), pods(cluster, "train")) == ("", {})
        assert daemon.health.ready().details["vcjobs"] == {"problem": jobs.standing_back}
        assert daemon.health.ready().ok
        assert daemon.telemetry.registry.get_sample_value("vsched_vcjobs_left_alone", {"name": ""}) == 1
        cluster.client.delete("pods", "volcano-system", "volcano-controllers-0", grace_seconds=0)
        await until(lambda: list(phases(cluster, "train").values()) == ["Running"])
        assert "vcjobs" not in daemon.health.ready().details


async def test_a_job_that_somebody_else_has_begun_goes_on_with_the_same_pods() -> None:
    made = vcjob("train", task("worker", 2), policies=[on("PodFailed", "RestartJob")], plugins={"svc": []})
    async with Cluster([node("n1")], manifests=[NAMESPACE, made]) as cluster:
        async with scheduling(cluster.url):  # stands for Volcano's controllers
            await until(lambda: status(cluster, "train").get("running") == 2)
        before = {each["metadata"]["uid"] for each in pods(cluster, "train").values()}
        cluster.apply([controller()])
        async with scheduling(cluster.url) as daemon:
            jobs = daemon.housekeeping.jobs
            assert jobs is not None
            await until(lambda: "they run in pod" in jobs.standing_back)
            command(cluster, "RestartJob", "train")
            await sessions(daemon, 3)
            assert len(commands(cluster)) == 1
            assert {each["metadata"]["uid"] for each in pods(cluster, "train").values()} == before
            cluster.client.delete("bus.volcano.sh/commands", "default", commands(cluster)[0]["metadata"]["name"])
            cluster.client.delete("pods", "volcano-system", "volcano-controllers-0", grace_seconds=0)
            await until(lambda: not jobs.standing_back)
            command(cluster, "CompleteJob", "train")
            await until(lambda: phase(cluster, "train") == "Completed")
        assert status(cluster, "train").get("retryCount", 0) == 0


@pytest.mark.parametrize(
    ("objects", "options"),
    [
        pytest.param([controller("default")], {}, id="a pod with that label elsewhere"),
        pytest.param([NAMESPACE, controller()], {"volcano_namespace": ""}, id="nobody is to look for them"),
        pytest.param([NAMESPACE, lease(holder="")], {}, id="a Lease that nobody holds"),
    ],
)
async def test_jobs_are_looked_after_beside(objects: list[Obj], options: Obj) -> None:
    made = vcjob("train", task("worker", 1))
    async with Cluster([node("n1")], manifests=[*objects, made]) as cluster, scheduling(cluster.url, **options):
        await until(lambda: phase(cluster, "train") == "Running")


async def test_a_lease_counts_for_as_long_as_it_is_renewed() -> None:
    clock, told = FakeClock(), [0]
    settings = RivalSettings()

    def changed() -> None:
        told[0] += 1

    async with (
        Cluster(0, manifests=[NAMESPACE, lease()]) as cluster,
        ApiClient(Connection(cluster.url)) as client,
    ):
        volcano = VolcanoControllers(client, set(), clock, changed, lambda *args, **fields: None, settings)
        assert "not yet looked" in volcano.problem
        await volcano.look()
        assert "vc-1 holds the Lease volcano-system/vc-controller-manager" in volcano.problem
        clock.advance(14)
        cluster.client.patch(
            "coordination.k8s.io/leases",
            "volcano-system",
            "vc-controller-manager",
            lambda old: {**old, "spec": lease(second=9)["spec"]},
        )
        await volcano.look()
        clock.advance(14)
        await volcano.look()
        assert volcano.problem
        clock.advance(2)
        await volcano.look()
        assert (volcano.problem, told[0]) == ("", 2)


async def test_without_an_answer_what_was_known_stays() -> None:
    cluster = Cluster(0, manifests=[NAMESPACE, lease()])
    async with ApiClient(Connection(cluster.url)) as client:
        volcano = VolcanoControllers(client, set(), FakeClock(), lambda: None, lambda *args, **fields: None)
        async with cluster:
            await volcano.look()
        before = volcano.problem
        await volcano.look()
        assert (volcano.problem, bool(before)) == (before, True)

"""Vcjobs are left alone while Volcano's own controllers run, and looked after once they are gone."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.answering import answering, content
from tests.support.builders import merged
from tests.support.fault_proxy import faulty
from tests.support.running import node, pod, reasons_of, scheduling, sessions
from tests.support.vcjob_cluster import command, commands, job, on, phase, phases, pods, status, task, vcjob
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.controllers.vcjobs.rivals import RivalSettings, VolcanoControllers
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.errors import ServerError
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
    cluster, clock = Cluster(0, manifests=[NAMESPACE, lease()]), FakeClock()
    async with ApiClient(Connection(cluster.url)) as client:
        volcano = VolcanoControllers(client, set(), clock, lambda: None, lambda *args, **fields: None)
        async with cluster:
            await volcano.look()
        before = volcano.problem
        clock.advance(60)  # only a Lease that was seen unchanged for so long is over
        await volcano.look()
        assert (volcano.problem, bool(before)) == (before, True)


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_server_that_cannot_say_who_holds_the_lease_is_asked_again(code: int) -> None:
    async with answering() as server, ApiClient(Connection(server.url), ClientSettings(attempts=1)) as client:
        server.replies["*"] = content({"message": "not now"}, code)
        volcano = VolcanoControllers(client, set(), FakeClock(), lambda: None, lambda *args, **fields: None)
        await volcano.look()
        assert "not yet looked" in volcano.problem


async def test_the_lease_is_read_right_before_something_is_done_and_not_more_often_than_needed() -> None:
    clock = FakeClock()
    async with answering() as server, ApiClient(Connection(server.url), ClientSettings(attempts=1)) as client:
        volcano = VolcanoControllers(client, set(), clock, lambda: None, lambda *args, **fields: None)
        await volcano.look()
        assert [await volcano.look_first() for _ in range(3)] == [""] * 3
        assert len(server.asked) == 1
        server.replies["*"] = content(lease())
        clock.advance(1)
        assert "vc-1 holds the Lease" in await volcano.look_first()
        server.replies["*"] = content({"message": "not now"}, 503)
        assert "vc-1 holds the Lease" in await volcano.look_first()


async def test_where_nobody_says_who_holds_the_lease_nothing_is_done() -> None:
    clock = FakeClock()
    async with answering() as server, ApiClient(Connection(server.url), ClientSettings(attempts=1)) as client:
        volcano = VolcanoControllers(client, set(), clock, lambda: None, lambda *args, **fields: None)
        await volcano.look()
        clock.advance(1)
        server.replies["*"] = content({"message": "not now"}, 503)
        with pytest.raises(ServerError):
            await volcano.look_first()


async def test_no_job_is_begun_once_volcano_s_controllers_have_their_lease() -> None:
    async with Cluster([node("n1")], manifests=[NAMESPACE]) as cluster, scheduling(cluster.url) as daemon:
        jobs = daemon.housekeeping.jobs
        assert jobs is not None
        await until(lambda: not jobs.standing_back)
        await asyncio.sleep(RivalSettings().fresh_seconds)  # what was read is fresh for so long
        cluster.apply([lease(), vcjob("train", task("worker", 1))])
        await until(lambda: "vc-1 holds the Lease" in jobs.standing_back)
        await sessions(daemon, 3)
        assert (phase(cluster, "train"), pods(cluster, "train")) == ("", {})


async def test_readyz_says_where_the_lease_may_not_be_read() -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/vc-controller-manager"
    made = vcjob("train", task("worker", 1))
    async with Cluster([node("n1")], manifests=[made]) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("GET", path, 403, times=1000, message="you may not get leases")
        async with scheduling(proxy.url) as daemon:
            await until(lambda: phase(cluster, "train") == "Running")
            assert daemon.health.ready().details["vcjobs"] == {"lease": "you may not get leases"}


async def test_a_job_that_goes_back_carries_the_defaults_it_was_run_by() -> None:
    network = {"hostNetwork": True}
    worker = task("worker", 3)
    worker["template"]["spec"] |= network
    parts = task("part", 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})
    made = merged(
        vcjob("train", worker, parts, plugins={"mpi": ["--master=worker", "--worker=part"]}),
        {"spec": {"schedulerName": ""}},
    )
    async with Cluster([node("n1")], manifests=[NAMESPACE, made]) as cluster, scheduling(cluster.url) as daemon:
        await until(lambda: phase(cluster, "train") in ("Pending", "Running"))
        cluster.apply([controller()])
        jobs = daemon.housekeeping.jobs
        assert jobs is not None
        await until(lambda: "they run in pod" in jobs.standing_back)
        spec = job(cluster, "train")["spec"]
        assert (spec["minAvailable"], spec["maxRetry"], spec["queue"], spec["schedulerName"]) == (
            5,
            3,
            "default",
            "vsched",
        )
        assert sorted(spec["plugins"]) == ["mpi", "ssh", "svc"]
        first, second = spec["tasks"]
        assert (first["maxRetry"], first["template"]["spec"]["dnsPolicy"]) == (3, "ClusterFirstWithHostNet")
        assert ("minAvailable" in first, second["minAvailable"]) == (False, 2)


async def test_a_job_whose_defaults_may_not_be_written_runs_all_the_same() -> None:
    made = vcjob("train", task("worker", 1))
    async with Cluster([node("n1")], manifests=[made]) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("PATCH", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/train", 403, times=1000)
        async with scheduling(proxy.url):
            await until(lambda: phase(cluster, "train") == "Running")
            await until(lambda: "FailedUpdate" in reasons_of(cluster, "train"))

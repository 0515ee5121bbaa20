"""A process that runs vcjobs alone, beside one that places pods and only reads vcjobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.support.running import node, scheduling
from tests.support.vcjob_cluster import phase, status, task, vcjob
from tests.support.waiting import until
from vsched.api.resources import VCJOB
from vsched.controllers.words import not_run_in
from vsched.daemon.options import Options, check
from vsched.daemon.vcjobs import JobRunner
from vsched.daemon.words import options as words
from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]


@asynccontextmanager
async def running_jobs(url: str, **options: Any) -> AsyncIterator[JobRunner]:
    quiet = {"listen_address": "127.0.0.1:0", "healthz_address": "127.0.0.1:0", "vcjobs": "only"}
    async with ApiClient(Connection(url)) as client, asyncio.TaskGroup() as group:
        runner = JobRunner(Options(**{**quiet, **options}), client)
        task = group.create_task(runner.run())
        try:
            yield runner
        finally:
            runner.stop()
            await asyncio.wait((task,), timeout=30.0)
            task.cancel()


async def test_vcjobs_are_run_beside_the_scheduler_in_the_namespaces_that_are_named() -> None:
    elsewhere = vcjob("train", task("worker", 1))
    elsewhere["metadata"]["namespace"] = "team"
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    cron = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": "often", "namespace": "team"},
        "spec": {"schedule": "@every 1s", "jobTemplate": {"spec": vcjob("x", task("worker", 1))["spec"]}},
    }
    made = [team, elsewhere, cron, vcjob("train", task("worker", 2, "50ms"))]
    named = {"job_namespaces": ("default",)}
    async with (
        Cluster([node("n1")], manifests=made) as cluster,
        scheduling(cluster.url, vcjobs="apart", **named) as daemon,
        running_jobs(cluster.url, **named) as runner,
    ):
        await until(lambda: phase(cluster, "train") == "Completed")
        told = not_run_in("team")
        for name in ("train", "often"):
            await until(lambda name=name: refused(cluster, name) == told)
        assert daemon.housekeeping.told_of_vcjob("team", "train").endswith(told)
        assert cluster.client.list("pods", "team") == []
        assert daemon.housekeeping.makers is None
        assert VCJOB in daemon.reflectors
        assert {"Node", "Queue", "ReplicaSet"}.isdisjoint(runner.reflectors)
        address = f"http://127.0.0.1:{runner.ports['--listen-address']}"
        health = f"http://127.0.0.1:{runner.ports['--healthz-address']}"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{address}/metrics") as response:
                assert "vsched_flow_vcjobs_total" in await response.text()
            async with session.get(f"{address}/queues") as response:
                assert response.status == 404
            async with session.get(f"{health}/readyz") as response:
                assert (await response.json())["role"] == "leader"
        assert runner.status().startswith("leader")
    assert status(cluster, "train")


def refused(cluster: Cluster, name: str) -> str:
    """What the Event says that a vcjob, or what makes some, is not run."""
    found = cluster.client.list("events", "team")
    about = {each["reason"]: each["message"] for each in found if each["involvedObject"]["name"] == name}
    return about.get("NotManaged", "")


@pytest.mark.parametrize(
    ("flag", "options"),
    [
        ("--no-schedule", {"schedule": False, "arbitrate": True}),
        ("--no-job-controller", {"job_controller": False}),
        ("--arbitrate", {"arbitrate": True}),
        ("--shadow", {"shadow": True}),
        ("--scheduler-configmap", {"policy_map": "a/b"}),
        ("--leader-pod", {"leader_pod": "a/b"}),
    ],
)
def test_who_runs_vcjobs_alone_takes_no_flags_for_something_else(flag: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        check(Options(vcjobs="only", **options))
    assert str(caught.value) == words.not_with_vcjobs_only(flag)


def test_namespaces_of_vcjobs_that_cannot_be_are_refused() -> None:
    for options, says in (
        ({"job_namespaces": ("A b",)}, words.bad_job_namespace("A b")),
        ({"job_namespaces": ("a",), "job_controller": False}, words.JOB_NAMESPACES_WITHOUT_JOBS),
    ):
        with pytest.raises(BadInput) as caught:
            check(Options(**options))
        assert str(caught.value) == says

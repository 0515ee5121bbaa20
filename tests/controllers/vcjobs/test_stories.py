"""The state machine of vcjobs in practice: an embedded cluster, the daemon, and pods that fail, end, or never start."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import merged
from tests.support.running import PODGROUPS, node, scheduling
from tests.support.vcjob_cluster import command, commands, job, on, phase, phases, pods, status, task, vcjob
from tests.support.waiting import until
from vsched.controllers.vcjobs import words
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

Obj = dict[str, Any]


def uids(cluster: Cluster, name: str = "train") -> dict[str, str]:
    """The uids of a job's pods that are not being deleted, by name."""
    found = pods(cluster, name).items()
    return {pod: each["metadata"]["uid"] for pod, each in found if "deletionTimestamp" not in each["metadata"]}


def history(cluster: Cluster, name: str = "train") -> list[str]:
    """The phases that a job has been through."""
    return [each["status"] for each in status(cluster, name).get("conditions") or ()]


def end(cluster: Cluster, name: str, exit_code: int = 0) -> None:
    """A pod that runs ends now."""
    ended = {"vsched.io/duration": "1ms", "vsched.io/exit-code": str(exit_code)}

    def annotate(found: Obj) -> Obj:
        metadata = found["metadata"]
        return {**found, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **ended}}}

    cluster.client.patch("pods", "default", name, annotate)


@pytest.mark.parametrize(
    ("action", "restarted"),
    [
        pytest.param("RestartPod", {"train-worker-3"}, id="RestartPod"),
        pytest.param("RestartPartition", {"train-worker-2", "train-worker-3"}, id="RestartPartition"),
        pytest.param("RestartTask", {f"train-worker-{index}" for index in range(4)}, id="RestartTask"),
        pytest.param("RestartJob", {"train-ps-0", *(f"train-worker-{index}" for index in range(4))}, id="RestartJob"),
    ],
)
async def test_what_an_exit_code_restarts(action: str, restarted: set[str]) -> None:
    halves = {"totalPartitions": 2, "partitionSize": 2}
    worker = task("worker", 4, partitionPolicy=halves, policies=[{"exitCode": 7, "action": action}])
    made = vcjob("train", task("ps", 1), worker)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        before = uids(cluster)
        end(cluster, "train-worker-3", 7)
        await until(lambda: status(cluster, "train").get("retryCount") == 1)
        await until(lambda: phase(cluster, "train") == "Running" and status(cluster, "train").get("running") == 5)
        after = uids(cluster)
        assert {name for name in after if after[name] != before[name]} == restarted
        assert history(cluster) == ["Pending", "Running", "Restarting", "Pending", "Running"]
        assert status(cluster, "train")["retryCount"] == 1


async def test_an_exit_code_without_a_policy_ends_the_pod_and_the_job_fails_by_its_minimum() -> None:
    made = vcjob("train", task("worker", 2), policies=[{"exitCode": 7, "action": "RestartJob"}])
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        end(cluster, "train-worker-0", 8)
        end(cluster, "train-worker-1")
        await until(lambda: phase(cluster, "train") == "Failed")
        state = status(cluster, "train")["state"]
        assert (state["reason"], state["message"]) == (
            "TooFewSucceeded",
            "1 pod of task worker, which needs 2, succeeded",
        )


async def test_min_success_ends_the_job_and_the_pods_that_are_left() -> None:
    made = vcjob("train", task("worker", 3), minSuccess=1)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        end(cluster, "train-worker-1")
        await until(lambda: phase(cluster, "train") == "Completed")
        await until(lambda: phases(cluster, "train") == {"train-worker-1": "Succeeded"})
        await until(lambda: not cluster.client.list(PODGROUPS, "default"))


async def test_a_task_whose_containers_restart_too_often_has_failed() -> None:
    worker = task("worker", 1, "20ms", exit_code=1, maxRetry=2, policies=[on("TaskFailed", "TerminateJob")])
    worker["template"]["spec"]["restartPolicy"] = "OnFailure"
    made = vcjob("train", task("ps", 1), worker)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Terminated")
        assert "more than maxRetry 2" in status(cluster, "train")["state"]["message"]
        assert status(cluster, "train").get("retryCount", 0) == 0


async def test_a_task_that_is_completed_completes_the_job() -> None:
    master = task("master", 1, policies=[on("TaskCompleted", "CompleteJob")])
    made = vcjob("train", master, task("worker", 2))
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        end(cluster, "train-master-0")
        await until(lambda: phase(cluster, "train") == "Completed")
        assert history(cluster)[-2:] == ["Completing", "Completed"]
        assert phases(cluster, "train") == {"train-master-0": "Succeeded"}


async def test_pods_that_are_pending_for_too_long_abort_the_job() -> None:
    worker = task("worker", 1)
    worker["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "elsewhere"}
    made = vcjob("train", worker, policies=[on("PodPending", "AbortJob", timeout="1s")])
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Aborted")
        assert words.pod_is_pending("PodPending", "train-worker-0") in status(cluster, "train")["state"]["message"]
        assert pods(cluster, "train") == {}


async def test_a_pod_that_somebody_deletes_is_evicted() -> None:
    made = vcjob("train", task("worker", 2), policies=[on("PodEvicted", "RestartJob")])
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        before = uids(cluster)
        cluster.client.delete("pods", "default", "train-worker-0", grace_seconds=0)
        await until(lambda: history(cluster)[-3:] == ["Restarting", "Pending", "Running"])
        assert not set(before.values()) & set(uids(cluster).values())
        assert status(cluster, "train")["retryCount"] == 1


@pytest.mark.parametrize(
    ("gone", "retries"), [pytest.param(True, 1, id="a pod has gone"), pytest.param(False, 0, id="all are there")]
)
async def test_the_next_daemon_finds_out_whether_pods_have_gone_meanwhile(gone: bool, retries: int) -> None:
    made = vcjob("train", task("worker", 2), policies=[on("PodEvicted", "RestartJob")])
    async with Cluster([node("n1")], manifests=[made]) as cluster:
        async with scheduling(cluster.url):
            await until(lambda: phase(cluster, "train") == "Running" and status(cluster, "train").get("running") == 2)
        if gone:
            cluster.client.delete("pods", "default", "train-worker-0", grace_seconds=0)
        async with scheduling(cluster.url):
            command(cluster, "DanceJob", "train")
            await until(lambda: not commands(cluster))
            await until(lambda: status(cluster, "train").get("retryCount", 0) == retries)
            await until(lambda: phase(cluster, "train") == "Running" and status(cluster, "train").get("running") == 2)
            assert status(cluster, "train").get("retryCount", 0) == retries


async def test_a_pod_that_somebody_deletes_is_made_anew_where_no_policy_says_more() -> None:
    made = vcjob("train", task("worker", 2), minAvailable=1)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: status(cluster, "train").get("running") == 2)
        before = uids(cluster)
        cluster.client.delete("pods", "default", "train-worker-0", grace_seconds=0)
        await until(lambda: len(uids(cluster)) == 2 and uids(cluster) != before)
        await until(lambda: status(cluster, "train").get("running") == 2)
        assert status(cluster, "train").get("retryCount", 0) == 0


@pytest.mark.parametrize("alive", [pytest.param(True, id="at once"), pytest.param(False, id="between two daemons")])
async def test_pods_that_had_ended_do_not_run_again_when_their_node_is_deleted(alive: bool) -> None:
    first, second = task("a", 2, "50ms"), task("b", 2)
    nodes = [merged(node(name), {"metadata": {"labels": {"half": name}}}) for name in ("n0", "n1")]
    for each, half in ((first, "n0"), (second, "n1")):
        each["template"]["spec"]["nodeSelector"] = {"half": half}
    made = vcjob("train", first, second, policies=[on("PodEvicted", "RestartJob")])
    settings = ClusterSettings(ControllerSettings(orphan_quarantine=0.1))
    async with Cluster(nodes, manifests=[made], settings=settings) as cluster:
        async with scheduling(cluster.url):
            await until(
                lambda: (status(cluster, "train").get("succeeded"), status(cluster, "train").get("running")) == (2, 2)
            )
            if alive:
                cluster.client.delete("nodes", "", "n0")
                await until(lambda: set(pods(cluster, "train")) == {"train-b-0", "train-b-1"})
                await until(lambda: cluster.client.list(PODGROUPS, "default")[0]["spec"]["minMember"] == 2)
        if not alive:
            cluster.client.delete("nodes", "", "n0")
            await until(lambda: set(pods(cluster, "train")) == {"train-b-0", "train-b-1"})
        async with scheduling(cluster.url):
            await until(lambda: cluster.client.list(PODGROUPS, "default")[0]["spec"]["minMember"] == 2)
            for name in ("train-b-0", "train-b-1"):
                end(cluster, name)
            await until(lambda: phase(cluster, "train") == "Completed")
        assert history(cluster) == ["Pending", "Running", "Completed"]
        assert (status(cluster, "train")["succeeded"], status(cluster, "train").get("retryCount", 0)) == (4, 0)
        assert not {"train-a-0", "train-a-1"} & set(pods(cluster, "train"))


async def test_tasks_that_wait_for_others_do_not_hold_up_the_gang() -> None:
    worker = task("worker", 2, dependsOn={"name": ["ps"]})
    made = vcjob("train", task("ps", 1), worker)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        assert set(phases(cluster, "train").values()) == {"Running"}
        (group,) = cluster.client.list(PODGROUPS, "default")
        assert (group["spec"]["minMember"], group["spec"]["minTaskMember"]) == (3, {"ps": 1, "worker": 2})


async def test_a_task_may_wait_for_any_of_several() -> None:
    far = task("b", 1)
    far["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "elsewhere"}
    later = task("c", 1, dependsOn={"name": ["a", "b"], "iteration": "any"})
    made = vcjob("train", task("a", 1), far, later, minAvailable=1)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phases(cluster, "train").get("train-c-0") == "Running")
        assert phases(cluster, "train")["train-b-0"] == "Pending"


async def test_a_job_can_be_aborted_while_it_restarts() -> None:
    slow = task("worker", 2)
    slow["template"]["spec"]["terminationGracePeriodSeconds"] = 30
    made = vcjob("train", slow)
    settings = ClusterSettings(ControllerSettings(PodTimes(termination=2.0)))
    async with Cluster([node("n1")], manifests=[made], settings=settings) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        command(cluster, "RestartJob", "train")
        await until(lambda: phase(cluster, "train") == "Restarting")
        command(cluster, "AbortJob", "train")
        await until(lambda: phase(cluster, "train") == "Aborted")
        await until(lambda: not commands(cluster))
        assert (pods(cluster, "train"), status(cluster, "train")["retryCount"]) == ({}, 1)
        assert job(cluster, "train")["status"]["state"]["reason"] == "AbortJob"

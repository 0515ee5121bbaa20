"""Vcjobs at an embedded cluster with the daemon: from their creation to their end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import volumes
from tests.support.builders import merged
from tests.support.queue_commands import events, order, queue
from tests.support.running import PODGROUPS, node, pod, scheduling, sessions
from tests.support.vcjob_cluster import (
    VCJOBS,
    change,
    command,
    commands,
    job,
    on,
    phase,
    phases,
    pods,
    status,
    task,
    vcjob,
)
from tests.support.waiting import until
from vsched.controllers.vcjobs import words
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
MADE_BY_PLUGINS = ("services", "configmaps", "networking.k8s.io/networkpolicies")


def owned(cluster: Cluster, resource: str, name: str) -> list[str]:
    """The names of the objects of a kind that a vcjob owns."""
    uid = job(cluster, name)["metadata"]["uid"]
    return [
        each["metadata"]["name"]
        for each in cluster.client.list(resource, "default")
        if any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences") or ())
    ]


def history(cluster: Cluster, name: str) -> list[str]:
    """The phases that a vcjob has been through."""
    return [each["status"] for each in status(cluster, name).get("conditions") or ()]


async def test_a_job_runs_to_its_end() -> None:
    made = vcjob("train", task("master", 1, "100ms"), task("worker", 3, "100ms"), plugins={"env": [], "svc": []})
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Completed")
        assert phases(cluster, "train") == {
            "train-master-0": "Succeeded",
            "train-worker-0": "Succeeded",
            "train-worker-1": "Succeeded",
            "train-worker-2": "Succeeded",
        }
        assert history(cluster, "train") == ["Pending", "Running", "Completed"]
        found = status(cluster, "train")
        assert (found["minAvailable"], found["succeeded"]) == (4, 4)
        assert found["taskStatusCount"] == {
            "master": {"phase": {"Succeeded": 1}},
            "worker": {"phase": {"Succeeded": 3}},
        }
        labels = pods(cluster, "train")["train-worker-2"]["metadata"]["labels"]
        assert (labels["volcano.sh/task-spec"], labels["volcano.sh/task-index"]) == ("worker", "2")


async def test_a_job_of_so_many_pods_that_a_thread_decides_about_it_takes_the_same_course() -> None:
    made = vcjob("train", task("worker", 2000))
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Pending")
        await until(lambda: [each["spec"]["minMember"] for each in cluster.client.list(PODGROUPS, "default")] == [2000])
        command(cluster, "AbortJob", "train")
        await until(lambda: phase(cluster, "train") == "Aborted")
        await until(lambda: not cluster.client.list(PODGROUPS, "default"))
        assert pods(cluster, "train") == {}


async def test_plugins_have_their_objects_while_the_job_runs_and_give_them_back() -> None:
    made = vcjob("train", task("worker", 2), plugins={"svc": [], "ssh": [], "env": []})
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        assert [owned(cluster, resource, "train") for resource in MADE_BY_PLUGINS] == [
            ["train"],
            ["train-svc"],
            ["train"],
        ]
        assert owned(cluster, "secrets", "train") == ["train-ssh"]
        secret = cluster.client.get("secrets", "default", "train-ssh") or {}
        assert set(secret["data"]) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
        controlled = {"plugin-env": "env", "plugin-ssh": "ssh", "plugin-svc": "svc"}
        assert status(cluster, "train")["controlledResources"] == controlled
        hosts = cluster.client.get("configmaps", "default", "train-svc") or {}
        assert hosts["data"]["worker.host"].split() == ["train-worker-0.train", "train-worker-1.train"]
        command(cluster, "AbortJob", "train")
        await until(lambda: phase(cluster, "train") == "Aborted")
        assert [owned(cluster, resource, "train") for resource in MADE_BY_PLUGINS] == [[], [], []]
        assert "controlledResources" not in status(cluster, "train")


async def test_no_pods_are_made_before_the_queue_lets_the_podgroup_in() -> None:
    made = vcjob("train", task("worker", 2), queue="q")
    objects = [queue("q", capability={"cpu": "100m"}), made]
    async with Cluster([node("n1")], manifests=objects) as cluster, scheduling(cluster.url) as daemon:
        [group] = await until(lambda: owned(cluster, PODGROUPS, "train"))
        assert group == f"train-{job(cluster, 'train')['metadata']['uid']}"
        await sessions(daemon, 3)
        assert (phase(cluster, "train"), pods(cluster, "train")) == ("Pending", {})
        await until(lambda: "PodGroupPending" in events(cluster, "train"))
        said = events(cluster, "train")["PodGroupPending"]
        assert said == words.podgroup_waits("queue q may hold 100m cpu at most: 200m asked")
        cluster.client.patch(
            "scheduling.volcano.sh/queues", "", "q", lambda found: {**found, "spec": {"capability": {"cpu": "1"}}}
        )
        await until(lambda: list(phases(cluster, "train").values()) == ["Running", "Running"])
        await until(lambda: phase(cluster, "train") == "Running")


async def test_a_job_that_fails_again_and_again_is_restarted_as_often_as_it_may_be() -> None:
    made = vcjob("train", task("worker", 2, "50ms", exit_code=1), policies=[on("PodFailed", "RestartJob")], maxRetry=2)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Failed")
        found = status(cluster, "train")
        assert found["retryCount"] == 2
        assert history(cluster, "train").count("Restarting") == 2
        assert set(phases(cluster, "train").values()) <= {"Failed"}, "those of the last try are kept"


async def test_a_task_is_restarted_by_the_exit_code_of_a_pod_and_the_others_go_on() -> None:
    policies = [{"exitCode": 3, "action": "RestartTask"}]
    failing = task("worker", 1, "50ms", exit_code=3, policies=policies)
    made = vcjob("train", task("master", 1), failing, maxRetry=2, minAvailable=1)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: "train-master-0" in pods(cluster, "train"))
        master = pods(cluster, "train")["train-master-0"]["metadata"]["uid"]
        await until(lambda: status(cluster, "train").get("retryCount", 0) >= 1)
        assert pods(cluster, "train")["train-master-0"]["metadata"]["uid"] == master
        await until(lambda: phase(cluster, "train") == "Failed")
        assert status(cluster, "train")["retryCount"] == 2


async def test_replicas_that_are_changed_make_and_delete_pods() -> None:
    made = vcjob("train", task("worker", 2), minAvailable=1)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        change(cluster, "train", lambda spec: {**spec, "tasks": [{**spec["tasks"][0], "replicas": 4}]})
        await until(lambda: list(phases(cluster, "train").values()) == ["Running"] * 4)
        change(cluster, "train", lambda spec: {**spec, "tasks": [{**spec["tasks"][0], "replicas": 1}]})
        await until(lambda: list(pods(cluster, "train")) == ["train-worker-0"])
        await until(lambda: status(cluster, "train").get("running") == 1)
        assert history(cluster, "train") == ["Pending", "Running"]


async def test_a_task_waits_for_those_that_it_depends_on() -> None:
    later = task("worker", 1, dependsOn={"name": ["master"]})
    master = task("master", 1)
    master["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    made = vcjob("train", master, later, minAvailable=1)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url) as daemon:
        await until(lambda: list(pods(cluster, "train")) == ["train-master-0"])
        await sessions(daemon, 3)
        assert list(pods(cluster, "train")) == ["train-master-0"]
        cluster.apply([merged(node("n2"), {"metadata": {"labels": {"disk": "ssd"}}})])
        await until(lambda: phases(cluster, "train") == {"train-master-0": "Running", "train-worker-0": "Running"})


async def test_a_finished_job_is_deleted_when_its_time_is_over() -> None:
    made = vcjob("train", task("worker", 1, "50ms"), ttlSecondsAfterFinished=2)  # it ended up to a second later
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Completed")
        await until(lambda: not job(cluster, "train"))
        await until(lambda: not pods(cluster, "train"))


async def test_a_job_waits_for_the_claim_that_it_names() -> None:
    made = vcjob("train", task("worker", 1), volumes=[{"mountPath": "/data", "volumeClaimName": "data"}])
    async with Cluster([node("n1")], manifests=[volumes.storage_class(), made]) as cluster, scheduling(cluster.url):
        await until(lambda: status(cluster, "train").get("state", {}).get("reason") == "PVCError")
        await until(lambda: "PVCError" in events(cluster, "train"))
        assert pods(cluster, "train") == {}
        cluster.apply([volumes.claim("data", namespace="default")])
        await until(lambda: list(phases(cluster, "train").values()) == ["Running"])


async def test_a_job_makes_the_claims_of_its_volumes() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = vcjob("train", task("worker", 1), volumes=[{"mountPath": "/data", "volumeClaim": spec}])
    async with Cluster([node("n1")], manifests=[volumes.storage_class(), made]) as cluster, scheduling(cluster.url):
        await until(lambda: pods(cluster, "train"))
        [claim] = owned(cluster, "persistentvolumeclaims", "train")
        mounted = pods(cluster, "train")["train-worker-0"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
        assert mounted == claim


async def test_a_pod_of_somebody_else_is_left_alone_and_the_job_waits_for_its_name() -> None:
    made = vcjob("train", task("worker", 1))
    stranger = pod("train-worker-0")
    async with Cluster([node("n1")], manifests=[stranger, made]) as cluster, scheduling(cluster.url):
        await until(lambda: "FailedCreate" in events(cluster, "train"))
        said = events(cluster, "train")["FailedCreate"]
        assert "that the job does not own" in said
        await until(lambda: status(cluster, "train")["state"].get("message") == said)
        assert status(cluster, "train")["state"]["reason"] == "FailedCreate"
        assert pods(cluster, "train") == {}
        cluster.client.delete("pods", "default", "train-worker-0", grace_seconds=0)
        await until(lambda: list(phases(cluster, "train").values()) == ["Running"])
        await until(lambda: phase(cluster, "train") == "Running")
        assert "reason" not in status(cluster, "train")["state"]


async def test_pods_that_the_api_server_refuses_are_told_in_the_status_of_the_job() -> None:
    wrong = task("worker", 3)
    wrong["template"]["spec"]["restartPolicy"] = "Nevr"
    async with Cluster([node("n1")], manifests=[vcjob("train", wrong)]) as cluster, scheduling(cluster.url):
        await until(lambda: status(cluster, "train").get("state", {}).get("reason") == "FailedCreate")
        message = status(cluster, "train")["state"]["message"]
        assert message.startswith('Pod train-worker-0: Pod "train-worker-0" is invalid: spec.restartPolicy: ')
        assert message.endswith(words.more_not_created(2))
        change(cluster, "train", lambda found: {**found, "tasks": [task("worker", 3)]})
        await until(lambda: list(phases(cluster, "train").values()) == ["Running"] * 3)
        await until(lambda: "reason" not in status(cluster, "train")["state"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"policies": [on("Nonsense", "RestartJob")]}, "policies[0]", id="an event that does not exist"),
        pytest.param({"plugins": {"nonsense": []}}, "spec.plugins: 'nonsense'", id="a plugin that does not exist"),
    ],
)
async def test_a_job_that_cannot_be_run_says_why_and_runs_once_it_is_mended(spec: Obj, message: str) -> None:
    made = vcjob("train", task("worker", 1), **spec)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: message in events(cluster, "train").get("InvalidJob", ""))
        assert status(cluster, "train")["state"]["reason"] == "InvalidJob"
        assert pods(cluster, "train") == {}
        change(cluster, "train", lambda found: {key: value for key, value in found.items() if key not in spec})
        await until(lambda: list(phases(cluster, "train").values()) == ["Running"])


async def test_an_argument_of_a_plugin_that_is_passed_over_is_told() -> None:
    made = vcjob("train", task("worker", 1), plugins={"svc": ["--nonsense=1"]})
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        await until(lambda: "'--nonsense=1'" in events(cluster, "train").get("PluginError", ""))


# -- Commands


async def test_a_job_is_suspended_and_resumed_by_commands() -> None:
    made = vcjob("train", task("worker", 2), maxRetry=1)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        command(cluster, "AbortJob", "train")
        await until(lambda: phase(cluster, "train") == "Aborted")
        assert (pods(cluster, "train"), owned(cluster, PODGROUPS, "train")) == ({}, [])
        command(cluster, "ResumeJob", "train")
        await until(lambda: phase(cluster, "train") == "Running")
        assert history(cluster, "train")[2:] == ["Aborting", "Aborted", "Restarting", "Pending", "Running"]
        await until(lambda: not commands(cluster))
        assert (status(cluster, "train")["version"], status(cluster, "train").get("retryCount", 0)) == (2, 0)


@pytest.mark.parametrize(
    ("action", "end"),
    [
        pytest.param("TerminateJob", "Terminated", id="TerminateJob ends it as terminated"),
        pytest.param("CompleteJob", "Completed", id="CompleteJob ends it as completed"),
    ],
)
async def test_a_job_is_ended_by_a_command(action: str, end: str) -> None:
    made = vcjob("train", task("worker", 2))
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        command(cluster, action, "train")
        await until(lambda: phase(cluster, "train") == end)
        assert pods(cluster, "train") == {}
        await until(lambda: not commands(cluster))


async def test_a_restart_by_command_is_one_retry_and_makes_new_pods() -> None:
    made = vcjob("train", task("worker", 2))
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        before = {each["metadata"]["uid"] for each in pods(cluster, "train").values()}
        command(cluster, "RestartJob", "train")
        await until(lambda: not commands(cluster))
        await until(lambda: phase(cluster, "train") == "Running")
        after = {each["metadata"]["uid"] for each in pods(cluster, "train").values()}
        assert (len(after), before & after) == (2, set())
        assert status(cluster, "train")["retryCount"] == 1


async def test_commands_that_cannot_be_carried_out_are_told_and_deleted_and_those_about_queues_go_on() -> None:
    made = vcjob("train", task("worker", 1))
    async with (
        Cluster([node("n1")], manifests=[queue("q"), made]) as cluster,
        scheduling(cluster.url, command_namespaces=("default",)),
    ):
        await until(lambda: phase(cluster, "train") == "Running")
        command(cluster, "DanceJob", "train")
        command(cluster, "AbortJob", "train", uid="of a job that is gone")
        command(cluster, "AbortJob", "nobody", uid="x")
        order(cluster, "CloseQueue", "q")
        await until(lambda: not commands(cluster))
        refused = await until(lambda: events(cluster, "train").get("CommandRefused", ""))
        assert "'DanceJob' is unknown (expected AbortJob, ResumeJob" in refused
        assert phase(cluster, "train") == "Running"
        found = cluster.client.get("scheduling.volcano.sh/queues", "", "q") or {}
        assert found["status"]["state"] == "Closed"


# -- whose they are


async def test_jobs_of_other_schedulers_are_left_alone_and_their_commands_stay() -> None:
    made = vcjob("train", task("worker", 1), schedulerName="volcano")
    mine = vcjob("mine", task("worker", 1))
    del mine["spec"]["schedulerName"]
    async with Cluster([node("n1")], manifests=[made, mine]) as cluster, scheduling(cluster.url):
        command(cluster, "AbortJob", "train")
        await until(lambda: phase(cluster, "mine") == "Running")
        assert pods(cluster, "mine")["mine-worker-0"]["spec"]["schedulerName"] == "vsched"
        assert (status(cluster, "train"), pods(cluster, "train")) == ({}, {})
        assert len(commands(cluster)) == 1


async def test_without_the_controller_nothing_is_made() -> None:
    async with (
        Cluster([node("n1")], manifests=[vcjob("train", task("worker", 1))]) as cluster,
        scheduling(cluster.url, job_controller=False) as daemon,
    ):
        await sessions(daemon, 3)
        assert status(cluster, "train") == {}
        assert VCJOBS not in daemon.reflectors


async def test_a_change_that_does_not_reach_what_is_there_is_told() -> None:
    made = vcjob("train", task("worker", 1), task("idle", 0))
    async with Cluster([node("n1")], manifests=[made, queue("other")]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        before = pods(cluster, "train")["train-worker-0"]["metadata"]["uid"]

        def with_image(spec: Obj, **fields: Any) -> Obj:
            first, *more = spec["tasks"]
            container = {**first["template"]["spec"]["containers"][0], "image": "alpine"}
            template = merged(first["template"], {"spec": {"containers": [container]}})
            return {**spec, **fields, "tasks": [{**first, "replicas": 2, "template": template}, *more]}

        change(cluster, "train", lambda spec: with_image(spec, queue="other", maxRetry=5))
        told = await until(lambda: events(cluster, "train").get("ChangedUnderWay"))
        kept = words.podgroup_stays_in_queue("default", words.UNTIL_RESTARTED)
        assert told == f"{kept}; {words.only_for_new_pods('spec.tasks[0].template')}"
        await until(lambda: len(pods(cluster, "train")) == 2)
        images = {name: each["spec"]["containers"][0]["image"] for name, each in pods(cluster, "train").items()}
        assert images == {"train-worker-0": "busybox", "train-worker-1": "alpine"}
        assert pods(cluster, "train")["train-worker-0"]["metadata"]["uid"] == before
        [group] = owned(cluster, PODGROUPS, "train")
        assert (cluster.client.get(PODGROUPS, "default", group) or {})["spec"]["queue"] == "default"

        change(cluster, "train", lambda spec: {**spec, "plugins": {"gpu": []}})
        told = await until(lambda: events(cluster, "train").get("InvalidJob"))
        assert told.startswith(words.no_more_pods("spec.plugins: 'gpu' (expected env"))
        change(cluster, "train", lambda spec: {**spec, "plugins": {}, "schedulerName": "theirs"})
        left = words.no_longer_managed("theirs")
        await until(lambda: left in [each["message"] for each in cluster.client.list("events", "default")])


async def test_changes_before_anything_was_made_are_not_told() -> None:
    made = vcjob("train", task("worker", 1), plugins={"gpu": []})
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: status(cluster, "train").get("state", {}).get("reason") == "InvalidJob")
        change(cluster, "train", lambda spec: {**spec, "plugins": {"env": []}})
        await until(lambda: phase(cluster, "train") == "Running")
        assert "ChangedUnderWay" not in events(cluster, "train")

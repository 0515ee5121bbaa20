"""Kubernetes' own PodGroups end to end: made by the Job controller or by hand with kubectl, scheduled, and told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.preempting import POLICY, of_class, priority_class
from tests.support.fault_proxy import faulty
from tests.support.kubectl import Kubectl
from tests.support.running import (
    PODGROUPS,
    WRITTEN_SOON,
    condition_of,
    digested,
    node,
    nodes_of,
    pod,
    queue_status,
    reasons_of,
    scheduling,
)
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.framework.words import jobs as jobs_words
from vsched.mirror.state import words as state_words
from vsched.sim.cluster import Cluster, ClusterSettings

Obj = dict[str, Any]
GROUPS = "scheduling.k8s.io/podgroups"
QUEUES = "scheduling.volcano.sh/queues"
NEWER, OLDER = "v1beta1", "v1alpha2"
CONDITION = {NEWER: "PodGroupInitiallyScheduled", OLDER: "PodGroupScheduled"}


@asynccontextmanager
async def world(*nodes: Obj, version: str = NEWER, **options: Any) -> AsyncIterator[tuple[Cluster, Daemon]]:
    settings = ClusterSettings(native_groups=(version,) if version else ())
    async with (
        Cluster(nodes, settings=settings) as cluster,
        scheduling(cluster.url, writeback=WRITTEN_SOON, **options) as daemon,
    ):
        yield cluster, daemon


def group(name: str, minimum: int = 0, version: str = NEWER, metadata: Obj | None = None, **spec: Any) -> Obj:
    policy = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", **(metadata or {})},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def member(name: str, of: str, cpu: str = "1", **spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": "vsched",
            "schedulingGroup": {"podGroupName": of},
            "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
    }


def members(of: str, count: int, **spec: Any) -> list[Obj]:
    return [member(f"{of}-{number}", of, **spec) for number in range(count)]


def job(name: str, size: int, **spec: Any) -> Obj:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "parallelism": size,
            "completions": size,
            "completionMode": "Indexed",
            "template": {
                "spec": {"schedulerName": "vsched", "restartPolicy": "Never", "containers": [container]},
            },
            **spec,
        },
    }


def told(cluster: Cluster, name: str, version: str = NEWER) -> Obj:
    """The condition of a group that says whether it was scheduled."""
    return condition_of(cluster.client.get(GROUPS, "default", name), CONDITION[version])


@pytest.mark.parametrize(
    ("version", "asks"),
    [
        pytest.param(OLDER, {}, id="in 1.36 for every Indexed Job whose pods run at once"),
        pytest.param(
            NEWER, {"scheduling": {"schedulingPolicy": {"gang": {}}}}, id="from 1.37 on for a Job that asks for it"
        ),
    ],
)
async def test_the_job_controller_makes_a_group_that_starts_as_a_gang(version: str, asks: Obj) -> None:
    async with world(node("n1", cpu="3"), version=version) as (cluster, daemon):
        cluster.apply([job("train", 4, **asks)])
        await until(lambda: len(cluster.client.list("pods", "default")) == 4)
        (made,) = cluster.client.list(GROUPS, "default")
        name = made["metadata"]["name"]
        await until(lambda: told(cluster, name, version))

        waits = told(cluster, name, version)
        assert (waits["status"], waits["reason"], waits["observedGeneration"]) == ("False", "Unschedulable", 1)
        assert "cpu" in waits["message"]
        assert not nodes_of(cluster)

        cluster.apply([node("n2", cpu="3")])
        await until(lambda: len(nodes_of(cluster)) == 4)
        await until(lambda: told(cluster, name, version)["status"] == "True")
        assert told(cluster, name, version)["reason"] == "Scheduled"
        await digested(cluster, daemon)
        assert reasons_of(cluster, name) >= {"Unschedulable", "Scheduled"}
        assert not cluster.client.list(PODGROUPS, "default"), "none of Volcano is made for pods that have a group"


@pytest.mark.kubectl
async def test_a_lower_minimum_lets_a_waiting_gang_start(tmp_path: Path) -> None:
    async with world(node("n1", cpu="3")) as (cluster, _):
        kubectl = Kubectl(tmp_path)
        cluster.write_kubeconfig(tmp_path / "config")
        cluster.apply([group("g", 5), *members("g", 5)])
        await until(lambda: told(cluster, "g"))
        assert "Gang (5)" in await kubectl("get", "podgroups.scheduling.k8s.io", "g")

        change = '{"spec":{"schedulingPolicy":{"gang":{"minCount":3}}}}'
        await kubectl("patch", "podgroups.scheduling.k8s.io", "g", "--type=merge", "-p", change)
        await until(lambda: len(nodes_of(cluster)) == 3)
        await until(lambda: told(cluster, "g")["status"] == "True")
        assert told(cluster, "g")["observedGeneration"] == 2
        assert "Scheduled" in await kubectl("get", "podgroups.scheduling.k8s.io", "g")


async def test_a_basic_group_has_no_minimum() -> None:
    async with world(node("n1", cpu="2")) as (cluster, _):
        cluster.apply([group("g"), *members("g", 3)])
        await until(lambda: len(nodes_of(cluster)) == 2)
        await until(lambda: told(cluster, "g").get("status") == "True")


async def test_a_group_that_was_scheduled_stays_so_when_its_pods_go() -> None:
    async with world(node("n1", cpu="2")) as (cluster, daemon):
        cluster.apply([group("g", 2), *members("g", 2)])
        await until(lambda: told(cluster, "g").get("status") == "True")
        began = told(cluster, "g")
        cluster.client.delete("pods", "default", "g-0")
        cluster.apply([member("other", "g", cpu="4")])
        await until(lambda: condition_of(cluster.client.get("pods", "default", "other"), "PodScheduled"))
        await digested(cluster, daemon)

        assert told(cluster, "g") == began


async def test_bindings_that_fail_are_told_as_an_error_of_the_scheduler() -> None:
    settings = ClusterSettings(native_groups=(NEWER,))
    async with (
        Cluster([node("n1")], settings=settings) as cluster,
        faulty(cluster.url) as proxy,
        scheduling(proxy.url, writeback=WRITTEN_SOON),
    ):
        proxy.spoil("POST", ".*/binding", 422, times=1000, message="the server does not like it")
        cluster.apply([group("g", 2), *members("g", 2)])
        await until(lambda: told(cluster, "g"))
        assert (told(cluster, "g")["status"], told(cluster, "g")["reason"]) == ("False", "SchedulerError")
        assert "the server does not like it" in told(cluster, "g")["message"]
        await until(lambda: "SchedulerError" in reasons_of(cluster, "g"))

        proxy.mend()
        await until(lambda: told(cluster, "g")["status"] == "True")
        assert told(cluster, "g")["reason"] == "Scheduled"


async def test_pods_wait_for_their_group_and_are_told_so() -> None:
    async with world(node("n1")) as (cluster, _):
        cluster.apply(members("late", 1))
        await until(lambda: condition_of(cluster.client.get("pods", "default", "late-0"), "PodScheduled"))
        why = condition_of(cluster.client.get("pods", "default", "late-0"), "PodScheduled")["message"]
        assert why == (jobs_words.no_group("PodGroup.scheduling.k8s.io default/late"))
        cluster.apply([group("late", 1)])
        await until(lambda: len(nodes_of(cluster)) == 1)


async def test_a_group_of_two_schedulers_waits_whole_in_the_words_of_kube_scheduler() -> None:
    async with world(node("n1")) as (cluster, _):
        cluster.apply([group("g", 1), *members("g", 2), member("other", "g", schedulerName="default-scheduler")])
        sentence = state_words.SAME_SCHEDULER
        await until(lambda: sentence in told(cluster, "g").get("message", ""))
        assert not nodes_of(cluster)
        cluster.client.delete("pods", "default", "other")
        await until(lambda: len(nodes_of(cluster)) == 2)


async def test_a_topology_key_keeps_a_group_in_one_zone_and_says_when_none_has_room() -> None:
    key = "topology.kubernetes.io/zone"
    machines = [
        {**node(name, cpu=cpu), "metadata": {"name": name, "labels": {key: zone}}}
        for name, cpu, zone in (("a1", "3", "a"), ("b1", "2", "b"), ("b2", "2", "b"))
    ]
    async with world(*machines) as (cluster, _):
        near = {"schedulingConstraints": {"topology": [{"key": key}]}}
        cluster.apply([group("large", 5, **near), *members("large", 5)])
        await until(lambda: told(cluster, "large"))
        assert key in told(cluster, "large")["message"]
        assert not nodes_of(cluster, "large-")

        cluster.apply([group("g", 4, **near), *members("g", 4)])
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)
        assert set(nodes_of(cluster, "g-").values()) == {"b1", "b2"}


@pytest.mark.parametrize(
    ("version", "mode", "left"),
    [
        pytest.param(NEWER, {"all": {}}, 0, id="all: every pod leaves, on whatever node"),
        pytest.param(OLDER, "PodGroup", 0, id="PodGroup, as v1alpha2 has it"),
        pytest.param(NEWER, {"single": {}}, 2, id="single: no more than the gang can spare"),
    ],
)
async def test_a_disruption_mode_says_whether_the_whole_group_leaves(
    version: str, mode: Any, left: int, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    machines = [node(f"n{number}", cpu="1") for number in range(3)]
    async with world(*machines, version=version, policy_file=policy) as (cluster, daemon):
        cluster.apply([priority_class("high", 9)])
        running = group("low", 2, version, disruptionMode=mode)
        cluster.apply([running, *members("low", 3)])
        await until(lambda: len(nodes_of(cluster, "low-")) == 3)
        await until(lambda: told(cluster, "low", version).get("status") == "True")

        cluster.apply(of_class("high", [pod("urgent")]))
        await until(lambda: "urgent" in nodes_of(cluster))
        await digested(cluster, daemon)
        assert len(nodes_of(cluster, "low-")) == left

        target = condition_of(cluster.client.get(GROUPS, "default", "low"), "DisruptionTarget")
        assert target.get("reason") == (None if left else "PreemptionByScheduler")
        assert told(cluster, "low", version)["status"] == "True", "what was scheduled once stays so"


def composite(name: str, minimum: int, **spec: Any) -> Obj:
    made = group(name, 0, workloadRef={"workloadName": "w", "templateName": "root"}, **spec)
    made["spec"]["schedulingPolicy"] = {"gang": {"minGroupCount": minimum}}
    return {**made, "kind": "CompositePodGroup"}


def workload(*names: str) -> Obj:
    """A Workload that has a template for a tree of these groups."""
    templates = [{"name": name, "schedulingPolicy": {"gang": {"minCount": 2}}} for name in names]
    root = {"name": "root", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": templates}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"compositePodGroupTemplates": [root]},
    }


def child(name: str, minimum: int, parent: str = "root", **spec: Any) -> list[Obj]:
    made = group(
        name,
        minimum,
        parentCompositePodGroupName=parent,
        workloadRef={"workloadName": "w", "templateName": name},
        **spec,
    )
    return [made, *members(name, minimum)]


def told_of_root(cluster: Cluster) -> Obj:
    found = cluster.client.get("scheduling.k8s.io/compositepodgroups", "default", "root")
    return condition_of(found, "CompositePodGroupInitiallyScheduled")


async def test_a_tree_starts_once_as_many_of_its_groups_fit_as_it_needs() -> None:
    async with world(node("n1", cpu="3")) as (cluster, _):
        cluster.apply([workload("a", "b"), composite("root", 2), *child("a", 2), *child("b", 2)])
        await until(lambda: told_of_root(cluster) and told(cluster, "a"))
        assert (told_of_root(cluster)["status"], told(cluster, "a")["status"]) == ("False", "False")
        assert not nodes_of(cluster)

        cluster.apply([node("n2", cpu="1")])
        await until(lambda: len(nodes_of(cluster)) == 4)
        await until(lambda: told_of_root(cluster)["status"] == "True")
        await until(lambda: {told(cluster, name)["status"] for name in "ab"} == {"True"})


async def test_any_of_the_groups_that_are_alike_are_enough() -> None:
    async with world(node("n1", cpu="3")) as (cluster, daemon):
        cluster.apply([workload("a", "b", "c"), composite("root", 1), *child("a", 2), *child("b", 2), *child("c", 2)])
        await until(lambda: len(nodes_of(cluster)) == 2)
        await until(lambda: told_of_root(cluster).get("status") == "True")
        await digested(cluster, daemon)
        assert len({name.rpartition("-")[0] for name in nodes_of(cluster)}) == 1


async def test_of_unequal_groups_those_that_fit_are_enough_and_the_others_say_why_they_wait() -> None:
    async with world(node("n1", cpu="3")) as (cluster, daemon):
        cluster.apply([workload("a", "b", "c"), composite("root", 2), *child("a", 3), *child("b", 2), *child("c", 1)])
        await until(lambda: told_of_root(cluster).get("status") == "True")
        await until(lambda: told(cluster, "a").get("status") == "False")
        await digested(cluster, daemon)
        assert {name.rpartition("-")[0] for name in nodes_of(cluster)} == {"b", "c"}
        assert {told(cluster, name)["status"] for name in "bc"} == {"True"}
        assert "sub-group podGroups/a" in told(cluster, "a")["message"]


def in_zone(name: str, cpu: str) -> Obj:
    """A node whose zone is the first letter of its name."""
    return {**node(name, cpu=cpu), "metadata": {"name": name, "labels": {"zone": name[0], "host": name}}}


def keyed(key: str) -> dict[str, Any]:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


async def test_a_tree_below_a_tree_counts_once_it_has_its_own_minimum_in_one_zone() -> None:
    async with world(in_zone("a1", "2"), in_zone("a2", "1"), in_zone("b1", "2")) as (cluster, _):
        inner = composite("inner", 2, parentCompositePodGroupName="root", **keyed("zone"))
        parts = [*child("a", 2, "inner", **keyed("host")), *child("b", 2, "inner")]
        cluster.apply([workload("a", "b", "c"), composite("root", 2), inner, *parts, *child("c", 1)])
        unfit = jobs_words.in_no_domains(jobs_words.sub_groups_of(["inner/a", "inner/b"]))
        await until(lambda: unfit in told_of_root(cluster).get("message", ""))
        assert not nodes_of(cluster)

        cluster.apply([in_zone("b2", "2")])
        await until(lambda: told_of_root(cluster)["status"] == "True")
        nodes = nodes_of(cluster)
        assert {nodes[name][0] for name in ("a-0", "a-1", "b-0", "b-1")} == {"b"}
        assert nodes["a-0"] == nodes["a-1"]
        found = cluster.client.get("scheduling.k8s.io/compositepodgroups", "default", "inner")
        assert condition_of(found, "CompositePodGroupInitiallyScheduled")["status"] == "True"


async def test_a_circle_of_groups_is_told_as_invalid() -> None:
    async with world(node("n1")) as (cluster, _):
        other = composite("other", 1, parentCompositePodGroupName="root")
        cluster.apply([workload("a"), composite("root", 1, parentCompositePodGroupName="other"), other, *child("a", 1)])

        def reasons() -> set[str]:
            trees = cluster.client.list("scheduling.k8s.io/compositepodgroups", "default")
            return {condition_of(tree, "CompositePodGroupInitiallyScheduled").get("reason", "") for tree in trees}

        await until(lambda: "Invalid" in reasons())
        assert not nodes_of(cluster)


async def test_a_queue_is_closed_once_its_groups_are_gone() -> None:
    def of(name: str) -> Obj:
        return queue_status(cluster, name)

    closed = {"scheduling.volcano.sh/queue-state": "closed"}
    team: Obj = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "team"},
        "spec": {"weight": 1},
    }
    in_team = {"annotations": {"scheduling.volcano.sh/queue-name": "team"}}
    settings = ClusterSettings(native_groups=(NEWER,))
    async with Cluster([node("n1", cpu="3")], settings=settings) as cluster:
        async with scheduling(cluster.url, writeback=WRITTEN_SOON):
            cluster.apply([team, group("g", 2, metadata=in_team), *members("g", 2)])
            cluster.apply([group("h", 2, metadata=in_team), *members("h", 2)])
            await until(lambda: len(nodes_of(cluster)) == 2)
            await until(lambda: (of("team").get("running"), of("team").get("inqueue")) == (1, 1))
            cluster.client.patch(
                QUEUES, "", "team", lambda found: {**found, "metadata": {**found["metadata"], "annotations": closed}}
            )
            await until(lambda: of("team").get("state") == "Closing")

        async with scheduling(cluster.url, writeback=WRITTEN_SOON) as daemon:
            await digested(cluster, daemon)
            assert of("team")["state"] == "Closing", "a daemon that starts again knows of the groups first"
            for name in "gh":
                for number in range(2):
                    cluster.client.delete("pods", "default", f"{name}-{number}")
                cluster.client.delete(GROUPS, "default", name)
            await until(lambda: of("team").get("state") == "Closed")


async def test_groups_of_other_schedulers_are_left_alone() -> None:
    async with world(node("n1", cpu="1")) as (cluster, daemon):
        cluster.apply([group("theirs", 2), *members("theirs", 2, schedulerName="default-scheduler")])
        cluster.apply([group("ours", 2), *members("ours", 2)])
        await until(lambda: told(cluster, "ours"))
        await digested(cluster, daemon)

        assert not told(cluster, "theirs")


async def test_a_deleted_group_takes_no_new_pods_and_goes_with_its_last() -> None:
    async with world(node("n1")) as (cluster, _):
        cluster.apply([group("g", 1), *members("g", 1)])
        await until(lambda: len(nodes_of(cluster)) == 1)
        cluster.client.delete(GROUPS, "default", "g")
        cluster.apply([member("new", "g")])
        await until(lambda: condition_of(cluster.client.get("pods", "default", "new"), "PodScheduled"))
        why = condition_of(cluster.client.get("pods", "default", "new"), "PodScheduled")["message"]
        assert "is being deleted, and takes no new pods" in why
        assert cluster.client.get(GROUPS, "default", "g")
        for name in ("new", "g-0"):
            cluster.client.delete("pods", "default", name)
        await until(lambda: not cluster.client.get(GROUPS, "default", "g"))


async def test_a_cluster_without_the_api_is_scheduled_as_ever() -> None:
    async with world(node("n1"), version="") as (cluster, daemon):
        plain = member("p", "none")
        del plain["spec"]["schedulingGroup"]
        cluster.apply([plain])
        await until(lambda: len(nodes_of(cluster)) == 1)
        assert {
            daemon.reflectors[kind].statistics.state.value for kind in ("PodGroup.scheduling.k8s.io", "Workload")
        } == {"missing"}

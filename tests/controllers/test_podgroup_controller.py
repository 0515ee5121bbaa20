"""PodGroups for pods that name none, at an embedded cluster with the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.controllers.plain import (
    MIN_MEMBER,
    QUEUE_NAME,
    groups,
    named,
    only_group,
    say,
    scale,
    spec_of,
    uid_of,
    workload,
    writes,
)
from tests.support.fault_proxy import faulty
from tests.support.queue_commands import events, queue, state, wish
from tests.support.running import PODGROUPS, digested, gang, node, nodes_of, pod, scheduling, status_of
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
PLUGINS = "actions: allocate\ntiers:\n- plugins: [{{name: {}}}, {{name: predicates}}]\n"


def asking(name: str) -> Obj:
    """A single pod that asks for a PodGroup."""
    made = pod(name)
    return {**made, "metadata": {**made["metadata"], "annotations": {MIN_MEMBER: "1"}}}


@pytest.mark.parametrize(
    ("kind", "owner"),
    [
        pytest.param("Deployment", "ReplicaSet", id="a Deployment, by its ReplicaSet"),
        pytest.param("StatefulSet", "StatefulSet", id="a StatefulSet"),
        pytest.param("Job", "Job", id="a Job"),
    ],
)
async def test_the_pods_of_a_workload_get_one_podgroup_that_ends_with_it(kind: str, owner: str) -> None:
    says = {MIN_MEMBER: "2", QUEUE_NAME: "q", "volcano.sh/network-topology-mode": "soft"}
    made = workload(kind, "web", 3, says)
    async with (
        Cluster([node("n1")], manifests=[queue("q"), made]) as cluster,
        scheduling(cluster.url),
    ):
        await until(lambda: len(nodes_of(cluster, "web")) == 3)
        await until(lambda: len(named(cluster)) == 3)
        group = only_group(cluster)
        reference = group["metadata"]["ownerReferences"][0]
        assert (reference["kind"], reference["controller"]) == (owner, True)
        assert group["metadata"]["name"] == f"podgroup-{reference['uid']}"
        assert set(named(cluster).values()) == {group["metadata"]["name"]}
        assert group["spec"] == {
            "minMember": 2,
            "queue": "q",
            "minResources": {"cpu": "2"},
            "networkTopology": {"mode": "soft"},
        }
        await until(lambda: status_of(cluster, group["metadata"]["name"]).get("running") == 3)
        resource = {"Deployment": "apps/deployments", "StatefulSet": "apps/statefulsets", "Job": "batch/jobs"}[kind]
        cluster.client.delete(resource, "default", "web")
        await until(lambda: not groups(cluster))


@pytest.mark.parametrize(
    ("made", "options"),
    [
        pytest.param(asking("p"), {}, id="which says a minimum"),
        pytest.param(pod("p"), {"podgroups_of_single_pods": True}, id="where each is to have one"),
    ],
)
async def test_a_bare_pod_gets_a_podgroup_that_ends_with_it(made: Obj, options: dict[str, Any]) -> None:
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url, **options):
        name = f"podgroup-{uid_of(cluster, 'pods', 'p')}"
        await until(lambda: named(cluster) == {"p": name})
        group = only_group(cluster)
        assert group["metadata"]["ownerReferences"][0]["kind"] == "Pod"
        assert group["spec"] == {"minMember": 1, "queue": "default", "minResources": {"cpu": "1"}}
        await until(lambda: status_of(cluster, name).get("phase") == "Running")
        cluster.client.delete("pods", "default", "p")
        await until(lambda: not groups(cluster))


async def test_pods_that_name_a_podgroup_and_those_of_others_are_left_alone() -> None:
    foreign = pod("foreign")
    foreign["spec"]["schedulerName"] = "default-scheduler"
    async with (
        Cluster([node("n1")], manifests=[*gang("g", 2), foreign, asking("p")]) as cluster,
        scheduling(cluster.url),
    ):
        await until(lambda: "p" in named(cluster))
        await until(lambda: len(nodes_of(cluster)) == 3)
        assert groups(cluster).keys() - {"g"} == {f"podgroup-{uid_of(cluster, 'pods', 'p')}"}
        assert (named(cluster)["g-0"], "foreign" in named(cluster)) == ("g", False)


@pytest.mark.parametrize(
    ("made", "options"),
    [
        pytest.param(asking("p"), {"podgroup_controller": False}, id="without the controller"),
        pytest.param(pod("p"), {}, id="for a single pod that nobody asked to have one"),
    ],
)
async def test_nothing_is_made(made: Obj, options: dict[str, Any]) -> None:
    async with Cluster([node("n1")], manifests=[made]) as cluster:
        async with scheduling(cluster.url, **options):
            await until(lambda: nodes_of(cluster, "p"))
            wish(cluster, "default", "closed")
            await until(lambda: state(cluster, "default") == "Closing")
            cluster.client.delete("pods", "default", "p")
            await until(lambda: state(cluster, "default") == "Closed")
        assert (groups(cluster), named(cluster)) == ({}, {})


async def test_a_job_of_one_pod_that_asks_for_nothing_gets_a_podgroup_where_the_policy_ends_jobs(
    tmp_path: Path,
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(PLUGINS.format("gang"))
    made = [workload("Job", "alone", 1, {QUEUE_NAME: "default"}), workload("Job", "wide", 2)]
    made.append(workload("Job", "says", 1, {"volcano.sh/sla-waiting-time": "1h"}))

    def owners() -> set[str]:
        return {one["metadata"]["ownerReferences"][0]["name"] for one in groups(cluster).values()}

    async with (
        Cluster([node("n1", cpu="8")], manifests=made) as cluster,
        scheduling(cluster.url, policy_file=policy) as daemon,
    ):
        await until(lambda: len(nodes_of(cluster)) == 4)
        await until(lambda: owners() == {"wide", "says"})
        await digested(cluster, daemon)
        assert (owners(), len(named(cluster))) == ({"wide", "says"}, 3)
        policy.write_text(PLUGINS.format("wall-time"))
        await until(lambda: owners() == {"alone", "wide", "says"})
        await until(lambda: len(named(cluster)) == 4)


async def test_a_workload_starts_as_a_gang_from_the_first_session_on() -> None:
    made = workload("ReplicaSet", "big", 4, {MIN_MEMBER: "4"})
    async with Cluster([node("n1", cpu="3")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: len(named(cluster)) == 4)
        name = only_group(cluster)["metadata"]["name"]
        await until(lambda: "Unschedulable" in events(cluster, name))
        assert nodes_of(cluster, "big") == {}
        say(cluster, "ReplicaSet", "big", group_min_member="3")
        await until(lambda: len(nodes_of(cluster, "big")) == 3)
        await until(lambda: spec_of(cluster)["minMember"] == 3)
        assert spec_of(cluster)["minResources"] == {"cpu": "3"}


async def test_what_changes_about_a_workload_changes_its_podgroup() -> None:
    async with (
        Cluster([node("n1")], manifests=[queue("q"), workload("Job", "w", 2)]) as cluster,
        scheduling(cluster.url),
    ):
        await until(lambda: spec_of(cluster).get("minMember") == 1)
        await until(lambda: len(nodes_of(cluster, "w")) == 2)
        say(cluster, "Job", "w", group_min_member="2", queue_name="q", group_min_resources='{"cpu": "1500m"}')
        await until(lambda: spec_of(cluster) == {"minMember": 2, "queue": "q", "minResources": {"cpu": "1500m"}})
        say(cluster, "Job", "w", group_min_member="many", queue_name=None, group_min_resources=None)
        await until(lambda: spec_of(cluster) == {"minMember": 1, "queue": "default", "minResources": {"cpu": "1"}})
        await until(lambda: "'many' (expected a 32-bit integer)" in events(cluster, "w").get("BadAnnotation", ""))
        say(cluster, "namespaces", "default", queue_name="q")
        await until(lambda: spec_of(cluster)["queue"] == "q")
        assert len(nodes_of(cluster, "w")) == 2


async def test_what_is_said_on_a_deployment_reaches_the_podgroup_by_way_of_its_replicaset() -> None:
    async with Cluster([node("n1")], manifests=[workload("Deployment", "w", 2)]) as cluster, scheduling(cluster.url):
        await until(lambda: spec_of(cluster).get("minMember") == 1)
        say(cluster, "Deployment", "w", group_min_member="2")
        await until(lambda: spec_of(cluster).get("minMember") == 2)
        assert len(groups(cluster)) == 1


async def test_a_workload_that_is_scaled_to_nothing_loses_its_podgroup_and_gets_it_back() -> None:
    made = workload("ReplicaSet", "web", 2)
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: len(named(cluster)) == 2)
        name = only_group(cluster)["metadata"]["name"]
        scale(cluster, "ReplicaSet", "web", 0)
        await until(lambda: not groups(cluster))
        scale(cluster, "ReplicaSet", "web", 1)
        await until(lambda: groups(cluster).keys() == {name})
        await until(lambda: len(nodes_of(cluster, "web")) == 1)


async def test_a_podgroup_that_somebody_deletes_or_edits_is_put_right_again() -> None:
    async with Cluster([node("n1")], manifests=[asking("p")]) as cluster, scheduling(cluster.url):
        await until(lambda: named(cluster))
        name = only_group(cluster)["metadata"]["name"]
        cluster.client.delete(PODGROUPS, "default", name)
        await until(lambda: groups(cluster))
        cluster.client.patch(PODGROUPS, "default", name, lambda obj: {**obj, "spec": {**obj["spec"], "minMember": 7}})
        await until(lambda: spec_of(cluster).get("minMember") == 1)
        await until(lambda: status_of(cluster, name).get("phase") == "Running")


@pytest.mark.parametrize(("method", "path"), [("POST", "podgroups"), ("PATCH", "pods")])
@pytest.mark.parametrize("code", [503, 0], ids=["before the write", "before the answer"])
async def test_a_daemon_that_dies_between_two_writes_is_succeeded_by_one_that_goes_on(
    method: str, path: str, code: int
) -> None:
    """The first daemon's writes are not carried out, or carried out unseen; it ends, and another one takes over."""
    async with Cluster([node("n1", cpu="100m")], manifests=[workload("StatefulSet", "db", 2)]) as cluster:
        async with faulty(cluster.url) as proxy, scheduling(proxy.url, drain_seconds=0.1):
            proxy.spoil(method, f".*/{path}(/db-[0-9])?", code, times=1000)
            await until(lambda: proxy.seen[f"{method} {path}", code])
        left = len(groups(cluster)), len(named(cluster)) == 2
        assert left == {("POST", 503): (0, False), ("PATCH", 503): (1, False)}.get((method, code), left)
        async with scheduling(cluster.url):
            await until(lambda: len(named(cluster)) == 2)
            group = only_group(cluster)["metadata"]["name"]
            assert set(named(cluster).values()) == {group}
            await until(lambda: status_of(cluster, group).get("phase") == "Inqueue")
        assert sum(line.startswith("ADDED") for line in writes(cluster, PODGROUPS)) == 1


async def test_a_pod_that_is_bound_gets_the_name_of_its_podgroup_without_a_write_of_its_own() -> None:
    async with Cluster([node("n1")], manifests=[asking("p")]) as cluster, scheduling(cluster.url) as daemon:
        name = f"podgroup-{uid_of(cluster, 'pods', 'p')}"
        await until(lambda: named(cluster) == {"p": name})
        assert nodes_of(cluster, "p"), "its binding has the name"
        await until(lambda: status_of(cluster, name).get("phase") == "Running")
        await digested(cluster, daemon)
        assert daemon.housekeeping.podgroups is not None
        assert not daemon.housekeeping.podgroups.pods.busy, "nothing waits to be written"
        assert (
            daemon.telemetry.registry.get_sample_value("vsched_api_writes_total", {"kind": "pod", "code": "200"})
            is None
        )
        await until(lambda: "Scheduled" in events(cluster, "p"))
        assert events(cluster, name) == {}, "what the pod's Event says is not said again"


async def test_what_is_as_it_should_be_is_not_written() -> None:
    made = [workload("StatefulSet", "db", 3), asking("p")]
    async with Cluster([node("n1")], manifests=made) as cluster:
        async with scheduling(cluster.url):
            await until(lambda: len(named(cluster)) == 4)
            await until(lambda: all(status_of(cluster, name).get("running") for name in groups(cluster)))
        before = writes(cluster, PODGROUPS), writes(cluster, "pods")
        async with scheduling(cluster.url) as daemon:
            assert daemon.housekeeping.podgroups is not None
            await until(lambda: daemon.mirror.describe()["jobs"] == 2)
            await digested(cluster, daemon)
        assert (writes(cluster, PODGROUPS), writes(cluster, "pods")) == before

"""What operators make starts as gangs, end to end: found through owners, with PodGroups, minima by role, and words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.killing import killed_after
from tests.support.operators import SAMPLES, Obj, definition, definitions, made_of, owned, pod, sample
from tests.support.running import PODGROUPS, digested, node, nodes_of, scheduling
from tests.support.running import pod as plain
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.explain.explaining import explain
from vsched.explain.records import Explanation
from vsched.explain.words.reasons import grouped_by_owner
from vsched.mirror.ingest.workload_kinds import WorkloadTable
from vsched.mirror.state import words
from vsched.settings.built_in import REGISTRY
from vsched.settings.workloads import built_in_table, load_table
from vsched.sim.api.fault_plan import FaultInjector, FaultKind, FaultPlan, FaultRule
from vsched.sim.auth.rbac import forbidden
from vsched.sim.authentication import UserInfo
from vsched.sim.cluster import Cluster
from vsched.sim.requests.attributes import attributes_of
from vsched.sim.requests.request import ApiRequest

MADE_THERE = ("Job", "StatefulSet")
"""Kinds whose pods the embedded cluster makes."""


def paths(table: WorkloadTable) -> dict[str, str]:
    """Where the API server has each kind that owns pods."""
    found = {kind.kind: f"{kind.group}/{kind.resources[0].plural}" for kind in table.kinds}
    return found | {"Pod": "pods", "Job": "batch/jobs", "StatefulSet": "apps/statefulsets"}


@asynccontextmanager
async def world(*nodes: Obj, **options: Any) -> AsyncIterator[tuple[Cluster, Daemon]]:
    async with Cluster(nodes) as cluster:
        cluster.apply(list(definitions()))
        async with scheduling(cluster.url, **options) as daemon:
            yield cluster, daemon


def make(cluster: Cluster, *objects: Obj, table: WorkloadTable | None = None) -> None:
    """Make objects one after another, owned by those that are there."""
    where = paths(table or built_in_table())

    def uid_of(kind: str, name: str) -> str:
        found = cluster.client.get(where[kind], "default", name) if kind in where else None
        return str(found["metadata"]["uid"]) if found is not None else f"{kind}-{name}".lower()

    for obj in objects:
        made = owned(obj, uid_of)
        references = made["metadata"].get("ownerReferences", ())
        if obj["kind"] == "StatefulSet" and references:
            continue  # the embedded cluster would delete the pods that it did not make itself
        for reference in references:
            if reference["kind"] == "StatefulSet":
                reference["apiVersion"] = "unserved.example.com/v1"
        made["metadata"].setdefault("namespace", "default")
        if "ownerReferences" in made["metadata"]:
            cluster.client.create(where[obj["kind"]], made)
        else:
            cluster.apply([made])


def groups(cluster: Cluster) -> dict[str, tuple[int, dict[str, int]]]:
    """Minimum and minima by role of each PodGroup, by owner."""
    found: dict[str, tuple[int, dict[str, int]]] = {}
    for each in cluster.client.list(PODGROUPS, "default"):
        (owner,) = each["metadata"]["ownerReferences"]
        spec = each["spec"]
        found[f"{owner['kind']} {owner['name']}"] = (spec["minMember"], spec.get("minTaskMember") or {})
    return found


def named(cluster: Cluster) -> set[str]:
    """The PodGroups that pods name."""
    pods = cluster.client.list("pods", "default")
    return {(each["metadata"].get("annotations") or {}).get("scheduling.k8s.io/group-name", "") for each in pods}


async def explained(daemon: Daemon, name: str) -> Explanation:
    """What explain says of a PodGroup or a pod."""
    seen = await daemon.inspection.snapshots.look()
    found = explain(seen.snapshot, seen.policy, REGISTRY, seen.report, "default", name, simulations=0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "lacking", "early", "late", "made"),
    [
        pytest.param("jobset", 4, 0, 5, {"JobSet train": (5, {"driver": 1, "worker": 4})}, id="JobSet"),
        pytest.param("leaderworkerset", 5, 3, 6, {"LeaderWorkerSet llm": (3, {"leader": 1, "worker": 2})}, id="LWS"),
        pytest.param("trainjob", 2, 0, 3, {"JobSet tune": (3, {})}, id="TrainJob"),
        pytest.param("pytorchjob", 3, 0, 4, {"PyTorchJob bert": (4, {"master": 1, "worker": 3})}, id="PyTorchJob"),
        pytest.param("mpijob", 3, 0, 4, {"MPIJob pi": (4, {"launcher": 1, "worker": 3})}, id="MPIJob"),
        pytest.param("raycluster", 2, 0, 5, {"RayCluster lab": (3, {"head": 1, "small": 2})}, id="RayCluster"),
        pytest.param(
            "rayjob",
            2,
            1,
            4,
            {"RayCluster sum-cluster": (3, {"head": 1, "small": 2}), "Job sum": (1, {})},
            id="RayJob: the pod that submits starts by itself",
        ),
        pytest.param("statefulset", 3, 0, 4, {"StatefulSet ring": (4, {})}, id="StatefulSet"),
        pytest.param("job", 3, 0, 4, {"Job sweep": (4, {})}, id="Job"),
        pytest.param(
            "workflow",
            2,
            1,
            4,
            {"Workflow nightly": (3, {}), "Pod nightly-prepare": (1, {})},
            id="Workflow: a step by itself, and one that is a gang",
        ),
        pytest.param(
            "podgang", 2, 0, 3, {"PodGang chat-0": (3, {"chat-0-decode": 1, "chat-0-prefill": 2})}, id="PodGang"
        ),
    ],
)
async def test_what_an_operator_makes_starts_together(
    name: str, lacking: int, early: int, late: int, made: dict[str, Any]
) -> None:
    """On ``lacking`` CPUs ``early`` pods start, with more all of them."""
    async with world(node("n1", cpu=str(lacking))) as (cluster, daemon):
        obj = sample(name)
        make(cluster, obj, *(() if obj["kind"] in MADE_THERE else made_of(obj)))
        await until(lambda: groups(cluster) == made)
        await digested(cluster, daemon)
        assert len(nodes_of(cluster)) == early
        cluster.apply([node("n2", cpu="8")])
        await until(lambda: len(nodes_of(cluster)) == late)
        await digested(cluster, daemon)
        assert "" not in named(cluster)


async def test_an_elastic_ray_cluster_starts_with_its_minimum_and_grows() -> None:
    async with world(node("n1", cpu="4")) as (cluster, daemon):
        obj = sample("raycluster")
        make(cluster, obj, *made_of(obj))
        await until(lambda: len(nodes_of(cluster)) == 4)
        await digested(cluster, daemon)
        assert "lab-head" in nodes_of(cluster)
        cluster.apply([node("n2", cpu="4")])
        await until(lambda: len(nodes_of(cluster)) == 5)


async def test_executors_start_with_their_minimum_after_the_driver() -> None:
    async with world(node("n1", cpu="2")) as (cluster, daemon):
        obj = sample("sparkapplication")
        driver, *executors = made_of(obj)
        make(cluster, obj, driver)
        await until(lambda: set(nodes_of(cluster)) == {"etl-driver"})
        make(cluster, *executors)
        await digested(cluster, daemon)
        assert set(nodes_of(cluster)) == {"etl-driver"}, "one CPU is left, and two executors start together"
        cluster.apply([node("n2", cpu="1")])
        await until(lambda: len(nodes_of(cluster)) == 3)


async def test_pods_that_come_before_their_owner_wait_for_it() -> None:
    async with world(node("n1", cpu="8")) as (cluster, daemon):
        obj = sample("podgang")
        make(cluster, *made_of(obj))
        await digested(cluster, daemon)
        assert not nodes_of(cluster)
        assert not groups(cluster)
        why = words.waits_for_owner("PodGang", "chat-0", words.which_label_names("grove.io/podgang"))
        assert why in (await explained(daemon, "chat-0-decode-0")).message
        make(cluster, obj)
        await until(lambda: len(nodes_of(cluster)) == 3)


async def test_a_restarted_daemon_goes_on_with_the_same_gangs() -> None:
    async with Cluster([node("n1", cpu="3")]) as cluster:
        cluster.apply(list(definitions()))
        obj = sample("pytorchjob")
        made = {"PyTorchJob bert": (4, {"master": 1, "worker": 3})}
        async with scheduling(cluster.url) as daemon:
            make(cluster, obj, *made_of(obj))
            await until(lambda: groups(cluster) == made and "" not in named(cluster))
            await digested(cluster, daemon)
        async with scheduling(cluster.url) as daemon:
            await digested(cluster, daemon)
            assert (groups(cluster), len(nodes_of(cluster))) == (made, 0)
            cluster.apply([node("n2", cpu="3")])
            await until(lambda: len(nodes_of(cluster)) == 4)


@pytest.mark.parametrize("count", [1, 2, 4, 6, 8])
async def test_a_daemon_that_is_killed_leaves_nothing_half_done(count: int) -> None:
    """After the n-th write of PodGroups, names and bindings; the next daemon goes on."""
    async with Cluster([node("n1", cpu="8")]) as cluster:
        cluster.apply(list(definitions()))
        obj = sample("pytorchjob")
        make(cluster, obj, *made_of(obj))
        await killed_after(cluster, r"POST .*/(podgroups|pods/[^/]+/binding)|PATCH .*/pods/[^/]+$", count)
        async with scheduling(cluster.url) as daemon:
            await until(lambda: len(nodes_of(cluster)) == 4 and "" not in named(cluster))
            await digested(cluster, daemon)
        assert groups(cluster) == {"PyTorchJob bert": (4, {"master": 1, "worker": 3})}
        assert len(named(cluster)) == 1


async def test_a_kind_that_is_installed_while_the_daemon_runs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vsched.daemon.watches.NOT_SERVED_SECONDS", 0.2)
    async with Cluster([node("n1", cpu="3")]) as cluster, scheduling(cluster.url) as daemon:
        await until(lambda: daemon.health.ready().ok)
        assert not any("kubeflow" in kind for kind in daemon.health.ready().details["absent"])
        cluster.apply(list(definitions()))
        obj = sample("pytorchjob")
        make(cluster, obj, *made_of(obj))
        await until(lambda: groups(cluster) == {"PyTorchJob bert": (4, {"master": 1, "worker": 3})})
        await digested(cluster, daemon)
        assert not nodes_of(cluster)
        cluster.apply([node("n2", cpu="3")])
        await until(lambda: len(nodes_of(cluster)) == 4)


class Refusing:
    """Refuses to read the kinds of an API group to others than the operator."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.on = True

    async def __call__(self, call: ApiRequest) -> None:
        wanted = attributes_of(call)
        if self.on and wanted.group == self.group and wanted.verb in ("list", "watch"):
            raise forbidden(UserInfo("vsched"), wanted)


async def test_pods_of_a_kind_that_may_not_be_read_are_placed_as_with_volcano() -> None:
    refusing = Refusing("kubeflow.org")
    async with Cluster([node("n1", cpu="3")], gate=refusing) as cluster:
        cluster.apply(list(definitions()))
        obj = sample("pytorchjob")
        make(cluster, obj, *made_of(obj))
        async with scheduling(cluster.url) as daemon:
            await until(lambda: len(nodes_of(cluster)) == 3)
            assert groups(cluster) == {"PyTorchJob bert": (1, {})}
            assert "403" in daemon.health.ready().details["absent"]["PyTorchJob.kubeflow.org"]
            refusing.on = False
            await until(lambda: groups(cluster) == {"PyTorchJob bert": (4, {"master": 1, "worker": 3})})


async def test_a_kind_that_the_server_cannot_list_keeps_nobody_else_waiting() -> None:
    rule = FaultRule(fault=FaultKind.ERROR, percent=100, verbs=("list",), resources=("pytorchjobs",))
    faults = FaultInjector(FaultPlan(rules=(rule,)))
    async with Cluster([node("n1", cpu="8")], faults=faults) as cluster:
        cluster.apply(list(definitions()))
        obj = sample("pytorchjob")
        make(cluster, obj, *made_of(obj))
        cluster.apply([plain("other")])
        async with scheduling(cluster.url) as daemon:
            await until(lambda: "other" in nodes_of(cluster))
            await until(lambda: daemon.health.ready().ok)
            assert set(nodes_of(cluster)) == {"other"}, "its pods wait for it"
            faults.enabled = False
            await until(lambda: len(nodes_of(cluster)) == 5)


async def test_the_podgroup_of_a_group_that_is_gone_goes() -> None:
    async with world(node("n1", cpu="8")) as (cluster, daemon):
        obj = sample("leaderworkerset")
        make(cluster, obj, *made_of(obj))
        await until(lambda: len(nodes_of(cluster)) == 6)
        await digested(cluster, daemon)
        assert len(cluster.client.list(PODGROUPS, "default")) == 2
        for name in ("llm-1-1", "llm-1-2", "llm-1"):
            cluster.client.delete("pods", "default", name)
        await until(lambda: len(cluster.client.list(PODGROUPS, "default")) == 1)


async def test_an_edit_of_the_owner_reaches_the_podgroup() -> None:
    async with world(node("n1", cpu="3")) as (cluster, daemon):
        obj = sample("pytorchjob")
        make(cluster, obj, *made_of(obj))
        await until(lambda: groups(cluster) == {"PyTorchJob bert": (4, {"master": 1, "worker": 3})})
        obj["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 2
        (made,) = cluster.client.list(PODGROUPS, "default")
        notes = (await explained(daemon, made["metadata"]["name"])).notes
        assert grouped_by_owner("PyTorchJob bert", 4, "1 master, 3 worker") in notes
        make(cluster, obj)
        await until(lambda: groups(cluster) == {"PyTorchJob bert": (3, {"master": 1, "worker": 2})})
        await until(lambda: len(nodes_of(cluster)) == 3)


async def test_a_kind_of_ones_own_by_a_file() -> None:
    path = SAMPLES / "own-kind.yaml"
    table = load_table(path)
    obj = {
        "apiVersion": "example.com/v1",
        "kind": "InferenceService",
        "metadata": {"name": "chat"},
        "spec": {"queue": "default", "parts": [{"name": "prefill", "replicas": 2}, {"name": "decode"}]},
    }
    parts = (("prefill", 2), ("decode", 1))
    pods = [
        pod(f"chat-{replica}-{part}-{number}", obj, {"example.com/part": part, "example.com/replica": replica})
        for replica in ("0", "1")
        for part, count in parts
        for number in range(count)
    ]
    async with Cluster([node("n1", cpu="5")]) as cluster:
        cluster.apply([definition(table.kinds[0])])
        async with scheduling(cluster.url, workloads_file=path) as daemon:
            make(cluster, obj, *pods, table=table)
            await until(lambda: len(nodes_of(cluster)) == 3)
            await digested(cluster, daemon)
            assert len({name.split("-")[1] for name in nodes_of(cluster)}) == 1, "one replica, and all of it"
            assert groups(cluster) == {"InferenceService chat": (3, {"decode": 1, "prefill": 2})}


ADDED = """
workloads:
  - apiVersions: [example.com/v1]
    kind: InferenceService
    roles: [{each: spec.parts, nameFrom: name, pods: {example.com/part: "{name}"}, replicas: [replicas, 1]}]
"""


async def test_an_edited_table_is_in_force_without_a_restart(tmp_path: Path) -> None:
    """A kind is added while its pods wait for room, its rules change, and it goes."""
    path = tmp_path / "table.yaml"
    path.write_text("workloads: []\n")
    sample_table = load_table(SAMPLES / "own-kind.yaml")
    obj: Obj = {
        "apiVersion": "example.com/v1",
        "kind": "InferenceService",
        "metadata": {"name": "chat"},
        "spec": {"parts": [{"name": "decode", "replicas": 3}], "fewest": 2},
    }
    pods = [pod(f"chat-decode-{number}", obj, {"example.com/part": "decode"}) for number in range(3)]
    async with Cluster([node("n1", cpu="0")]) as cluster:
        cluster.apply([definition(sample_table.kinds[0])])
        async with scheduling(cluster.url, workloads_file=path) as daemon:
            make(cluster, obj, *pods, table=sample_table)
            await until(lambda: groups(cluster) == {"InferenceService chat": (1, {})} and "" not in named(cluster))
            path.write_text(ADDED)
            await until(lambda: groups(cluster) == {"InferenceService chat": (3, {})})
            cluster.apply([node("n2", cpu="2")])
            await digested(cluster, daemon)
            assert not nodes_of(cluster)
            path.write_text(f"{ADDED}    minimum: spec.fewest\n")
            await until(lambda: groups(cluster) == {"InferenceService chat": (2, {})})
            await until(lambda: len(nodes_of(cluster)) == 2)
            path.write_text("")
            await until(lambda: groups(cluster) == {"InferenceService chat": (1, {})})
            assert "InferenceService.example.com" not in daemon.reflectors
            assert daemon.mirror.describe()["pod_owners"] == daemon.mirror.describe()["owned_gangs"] == 0

"""The embedded cluster as a whole: things happen by themselves, and come to rest where they should."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support.waiting import until
from tests.support.workload_objects import workload
from vsched.apimachinery.meta.objects import is_ready, is_true
from vsched.errors import BadInput, BadObject
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, JobTimes, PodTimes, start_engine

Obj = dict[str, Any]

QUICK = ControllerSettings(pods=PodTimes(termination=0.0), jobs=JobTimes(backoff=0.0), orphan_quarantine=0.05)


BUDGET: Obj = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(3, settings=ClusterSettings(controllers=QUICK)) as running:
        yield running


def pod(name: str = "p", node: str = "node-0", *, finalizers: list[str] | None = None, **annotations: str) -> Obj:
    metadata: Obj = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    if annotations:
        metadata["annotations"] = {f"vsched.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    if finalizers:
        metadata["finalizers"] = finalizers
    spec: Obj = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def phase(cluster: Cluster, name: str = "p") -> str | None:
    found = cluster.client.get("pods", "default", name)
    return found["status"].get("phase") if found else None


def made(kind: str, api_version: str = "apps/v1", **spec: Any) -> Obj:
    """A workload object as a user writes it."""
    obj = workload(kind, spec=spec)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": obj["spec"],
    }


async def test_without_kubelets_nodes_are_as_created_and_bound_pods_never_start() -> None:
    node: Obj = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-0"},
        "status": {"capacity": {"cpu": "2"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    async with Cluster([node], settings=ClusterSettings(ControllerSettings(kubelets=False))) as cluster:
        cluster.client.create("pods", pod())
        assert await cluster.settle()
        found = cluster.client.get("nodes", "", "node-0")
        assert found is not None
        assert not found["spec"].get("taints")
        assert found["status"]["allocatable"] == {"cpu": "2"}
        assert "addresses" not in found["status"]
        assert phase(cluster) == "Pending"


async def post(cluster: Cluster, path: str, body: Obj) -> int:
    async with aiohttp.ClientSession() as session, session.post(cluster.url + path, json=body) as answer:
        await answer.read()
        return answer.status


async def bind_everything(cluster: Cluster) -> None:
    """A scheduler as simple as can be: until it is cancelled, every pod goes to the first node."""
    async with aiohttp.ClientSession(cluster.url) as session:
        while True:
            for waiting in cluster.client.list("pods"):
                meta = waiting["metadata"]
                if waiting["spec"].get("nodeName") or meta.get("deletionTimestamp"):
                    continue
                binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]},
                           "target": {"kind": "Node", "name": "node-0"}}  # fmt: skip
                path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding"
                async with session.post(path, json=binding) as answer:
                    await answer.read()
            await asyncio.sleep(0.002)


@pytest.fixture
async def scheduled(cluster: Cluster) -> AsyncIterator[Cluster]:
    task = asyncio.create_task(bind_everything(cluster))
    yield cluster
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# --- pods and nodes


async def test_a_bound_pod_runs_and_ends_as_its_annotations_say(cluster: Cluster) -> None:
    cluster.client.create("pods", pod("good", duration="50ms"))
    cluster.client.create("pods", pod("bad", duration="50ms", exit_code="3"))
    cluster.client.create("pods", pod("free"))
    await until(lambda: phase(cluster, "free") == "Running")
    await until(lambda: phase(cluster, "good") == "Succeeded" and phase(cluster, "bad") == "Failed")
    free = cluster.client.get("pods", "default", "free")
    assert free is not None
    assert is_ready(free)
    assert free["status"]["hostIP"].startswith("172.16.")
    assert phase(cluster, "free") == "Running"


async def test_an_unbound_pod_waits_and_a_deleted_one_goes(cluster: Cluster) -> None:
    cluster.client.create("pods", pod("waits", node=""))
    cluster.client.create("pods", pod("goes"))
    await until(lambda: phase(cluster, "goes") == "Running")
    cluster.client.delete("pods", "default", "goes")
    await until(lambda: phase(cluster, "goes") is None)
    assert phase(cluster, "waits") == "Pending"


async def test_running_costs_one_status_write(cluster: Cluster) -> None:
    subscription = cluster.store.subscribe(cluster.store.registry.resource("pods"))
    cluster.client.create("pods", pod())
    await until(lambda: phase(cluster) == "Running")
    assert await cluster.settle()
    assert [event.type for event in subscription.take()] == ["ADDED", "MODIFIED"]


async def test_nodes_come_up_ready_without_taints_and_with_leases(cluster: Cluster) -> None:
    cluster.client.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}, "spec": {}})

    def up() -> bool:
        nodes = cluster.client.list("nodes")
        return all(is_true(node, "Ready") and not node["spec"].get("taints") for node in nodes) and len(nodes) == 4

    await until(up)
    await until(lambda: len(cluster.client.list("coordination.k8s.io/leases", "kube-node-lease")) == 4)


async def test_a_node_that_fails_is_tainted_and_loses_its_pods(cluster: Cluster) -> None:
    patient, hasty = pod("patient", "node-1"), pod("hasty", "node-1")
    key = "node.kubernetes.io/unreachable"
    patient["spec"]["tolerations"] = [{"key": key, "operator": "Exists"}]
    hasty["spec"]["tolerations"] = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]
    for each in (patient, hasty):
        cluster.client.create("pods", each)
    await until(lambda: phase(cluster, "patient") == phase(cluster, "hasty") == "Running")

    def fail(node: Obj) -> Obj:
        conditions = [
            {**each, "status": "Unknown"} if each["type"] == "Ready" else each for each in node["status"]["conditions"]
        ]
        return {**node, "status": {**node["status"], "conditions": conditions}}

    cluster.client.patch_status("nodes", "", "node-1", fail)
    await until(
        lambda: (cluster.client.get("pods", "default", "hasty") or {"metadata": {}})["metadata"].get(
            "deletionTimestamp"
        )
    )
    assert phase(cluster, "patient") == "Running"
    node = cluster.client.get("nodes", "", "node-1")
    assert node is not None
    assert {each["effect"] for each in node["spec"]["taints"]} == {"NoSchedule", "NoExecute"}


async def test_pods_do_not_outlive_their_node(cluster: Cluster) -> None:
    cluster.client.create("pods", pod("kept", "node-0"))
    cluster.client.create("pods", pod("lost", "node-2"))
    await until(lambda: phase(cluster, "lost") == "Running")
    cluster.client.delete("nodes", "", "node-2")
    await until(lambda: phase(cluster, "lost") is None)
    assert phase(cluster, "kept") == "Running"


# --- workloads


async def test_a_deployment_rolls_out_and_over(scheduled: Cluster) -> None:
    client = scheduled.client
    client.create("apps/deployments", made("Deployment", replicas=3))

    def done(image: str) -> bool:
        status = client.get("apps/deployments", "default", "w")["status"]  # type: ignore[index]
        pods = client.list("pods", "default")
        return status.get("availableReplicas") == 3 and [
            each["spec"]["containers"][0]["image"] for each in pods
        ] == 3 * [image]

    await until(lambda: done("i:1"))
    template = workload("Deployment")["spec"]["template"]
    template["spec"]["containers"][0]["image"] = "i:2"
    client.patch("apps/deployments", "default", "w", lambda obj: {**obj, "spec": {**obj["spec"], "template": template}})
    await until(lambda: done("i:2"))
    sets = {each["spec"]["replicas"] for each in client.list("apps/replicasets", "default")}
    assert sets == {0, 3}
    client.delete("apps/deployments", "default", "w")
    await until(lambda: not client.list("apps/replicasets") and not client.list("pods"))


async def test_a_stateful_set_grows_in_order(scheduled: Cluster) -> None:
    client = scheduled.client
    client.create("apps/statefulsets", made("StatefulSet", replicas=3, serviceName="s"))
    await until(lambda: (client.get("apps/statefulsets", "default", "w") or {})["status"].get("readyReplicas") == 3)
    born = sorted(client.list("pods", "default"), key=lambda each: int(each["metadata"]["resourceVersion"]))
    assert [each["metadata"]["name"] for each in born] == ["w-0", "w-1", "w-2"]


def job(**more: Any) -> Obj:
    obj = made("Job", "batch/v1", **more)
    obj["spec"].pop("selector")
    obj["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    obj["spec"]["template"]["metadata"]["annotations"] = {"vsched.io/duration": "10ms"}
    return obj


async def test_an_indexed_job_completes(scheduled: Cluster) -> None:
    client = scheduled.client
    client.create("batch/jobs", job(completions=4, parallelism=2, completionMode="Indexed"))
    await until(lambda: is_true(client.get("batch/jobs", "default", "w") or {}, "Complete"))
    status = (client.get("batch/jobs", "default", "w") or {})["status"]
    assert (status["succeeded"], status["completedIndexes"], status.get("failed", 0)) == (4, "0-3", 0)
    assert all(not each["metadata"].get("finalizers") for each in client.list("pods"))


async def test_a_failing_job_fails_after_its_limit(scheduled: Cluster) -> None:
    failing = job(backoffLimit=1)
    failing["spec"]["template"]["metadata"]["annotations"]["vsched.io/exit-code"] = "1"
    scheduled.client.create("batch/jobs", failing)
    await until(lambda: is_true(scheduled.client.get("batch/jobs", "default", "w") or {}, "Failed"))
    assert (scheduled.client.get("batch/jobs", "default", "w") or {})["status"]["failed"] == 2


async def test_a_deleted_job_takes_its_running_pods_along(scheduled: Cluster) -> None:
    client = scheduled.client
    running = job(completions=2, parallelism=2)
    running["spec"]["template"]["metadata"].pop("annotations")
    client.create("batch/jobs", running)
    await until(lambda: [each["status"]["phase"] for each in client.list("pods")] == ["Running"] * 2)
    client.delete("batch/jobs", "default", "w")
    await until(lambda: not client.list("pods"))


async def test_a_cluster_comes_to_rest_and_then_writes_nothing(scheduled: Cluster) -> None:
    client = scheduled.client
    client.create("apps/deployments", made("Deployment", replicas=2))
    client.create("apps/statefulsets", made("StatefulSet", replicas=2, serviceName="s", podManagementPolicy="Parallel"))
    client.create("batch/jobs", job(completions=2, parallelism=2))
    client.create("policy/poddisruptionbudgets", BUDGET)
    await until(lambda: len(client.list("pods")) == 6 and is_true(client.list("batch/jobs")[0], "Complete"))
    await until(lambda: client.list("policy/poddisruptionbudgets")[0]["status"]["currentHealthy"] == 4)
    async with asyncio.timeout(30):
        before = -1
        while scheduled.store.revision != before:  # a delayed key may still be under way
            await scheduled.settle()
            before = scheduled.store.revision
            await asyncio.sleep(0.15)


# --- garbage, namespaces, budgets


@pytest.mark.parametrize(
    ("propagation", "pods_left"),
    [
        pytest.param("Background", 0, id="in the background the pods follow"),
        pytest.param("Foreground", 0, id="in the foreground the pods go first"),
        pytest.param("Orphan", 2, id="orphaned pods stay"),
    ],
)
async def test_deleting_an_owner(cluster: Cluster, propagation: str, pods_left: int) -> None:
    client = cluster.client
    client.create("apps/replicasets", made("ReplicaSet", replicas=2))
    await until(lambda: len(client.list("pods")) == 2)
    await cluster.settle()
    client.delete("apps/replicasets", "default", "w", propagation=propagation)
    await until(lambda: not client.list("apps/replicasets"))
    await cluster.settle()
    left = client.list("pods")
    assert len(left) == pods_left
    assert all(not each["metadata"].get("ownerReferences") for each in left)


async def test_custom_resources_own_pods_too(cluster: Cluster) -> None:
    group = cluster.client.create("scheduling.volcano.sh/podgroups", {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 1},
    })  # fmt: skip
    owned = pod(node="")
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": group["apiVersion"], "kind": "PodGroup", "name": "g", "uid": group["metadata"]["uid"]}
    ]
    cluster.client.create("pods", owned)
    await cluster.settle()
    assert phase(cluster) == "Pending"
    cluster.client.delete("scheduling.volcano.sh/podgroups", "default", "g")
    await until(lambda: phase(cluster) is None)


async def test_kinds_defined_later_own_pods_too(cluster: Cluster) -> None:
    client = cluster.client
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    }  # fmt: skip
    for _ in range(2):
        client.create("apiextensions.k8s.io/customresourcedefinitions", definition)
        await until(lambda: cluster.store.registry.preferred("example.com", "things"))
        await cluster.settle()
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        owner = client.create("example.com/things", thing)
        owned = pod(node="")
        owned["metadata"]["ownerReferences"] = [
            {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": owner["metadata"]["uid"]}
        ]
        client.create("pods", owned)
        client.delete("example.com/things", "", "t")
        await until(lambda: phase(cluster) is None)
        client.delete("apiextensions.k8s.io/customresourcedefinitions", "", "things.example.com")
        await until(lambda: not cluster.store.registry.preferred("example.com", "things"))


async def test_a_deleted_namespace_is_emptied_and_goes(cluster: Cluster) -> None:
    client = cluster.client
    client.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    await until(lambda: client.get("serviceaccounts", "team", "default"))
    inside = pod("inside")
    inside["metadata"]["namespace"] = "team"
    client.create("pods", inside)
    client.delete("namespaces", "", "team")
    await until(lambda: client.get("namespaces", "", "team") is None)
    assert client.list("pods", "team") == client.list("serviceaccounts", "team") == []


async def test_a_budget_is_kept_and_refuses_evictions(scheduled: Cluster) -> None:
    client = scheduled.client
    client.create("apps/replicasets", made("ReplicaSet", replicas=2))
    client.create("policy/poddisruptionbudgets", BUDGET)

    def status() -> Obj:
        return dict((client.get("policy/poddisruptionbudgets", "default", "b") or {}).get("status") or {})

    await until(lambda: status().get("currentHealthy") == 2)
    assert (status()["disruptionsAllowed"], status()["expectedPods"]) == (0, 2)
    victim = client.list("pods")[0]["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": victim}}
    assert await post(scheduled, f"/api/v1/namespaces/default/pods/{victim}/eviction", eviction) == 429
    client.patch("apps/replicasets", "default", "w", lambda obj: {**obj, "spec": {**obj["spec"], "replicas": 3}})
    await until(lambda: status().get("disruptionsAllowed") == 1)
    assert await post(scheduled, f"/api/v1/namespaces/default/pods/{victim}/eviction", eviction) == 201


# --- the cluster itself


async def test_controllers_started_again_go_on_where_the_others_ended() -> None:
    async with Cluster(1, settings=ClusterSettings(controllers=None)) as bare:
        bare.client.create("pods", pod(duration="30ms"))
        await asyncio.sleep(0)
        assert phase(bare) == "Pending"
        for wanted in ("Running", "Succeeded"):
            engine = start_engine(bare.store, bare.client, QUICK)
            await until(lambda wanted=wanted: phase(bare) == wanted)
            await engine.close()


async def test_one_bad_object_does_not_stop_the_others(cluster: Cluster) -> None:
    broken = pod("broken")
    broken["metadata"]["ownerReferences"] = [{"apiVersion": "no/v1", "kind": "Thing", "name": "x", "uid": "u"}]
    cluster.client.create("pods", broken)
    cluster.client.create("pods", pod("fine"))
    await until(lambda: phase(cluster, "fine") == phase(cluster, "broken") == "Running")


async def test_manifests_are_applied_in_an_order_that_works(tmp_path: Path) -> None:
    in_team = pod("a", node="")
    in_team["metadata"]["namespace"] = "team"
    owner = made("ReplicaSet", replicas=1)
    owner["metadata"] |= {"uid": "old-uid", "resourceVersion": "77"}
    owned = pod("b", node="")
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": "old-uid"}
    ]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "spec": {"weight": 5},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [owned, owner]}
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all([in_team, listed, namespace, queue]))
    async with Cluster(manifests=[path], settings=ClusterSettings(controllers=QUICK)) as running:
        await running.settle()
        stored = running.client.get("apps/replicasets", "default", "w")
        child = running.client.get("pods", "default", "b")
        assert stored is not None
        assert child is not None
        assert child["metadata"]["ownerReferences"][0]["uid"] == stored["metadata"]["uid"]
        assert (running.client.get("scheduling.volcano.sh/queues", "", "default") or {})["spec"]["weight"] == 5
        assert running.client.get("pods", "team", "a") is not None


async def test_a_dump_is_loaded_with_its_statuses() -> None:
    finished, running = pod("finished"), pod("running")
    finished["status"] = {"phase": "Succeeded"}
    running["status"] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "podIP": "10.9.9.9"}
    async with Cluster(1, manifests=[finished, running], settings=ClusterSettings(controllers=QUICK)) as loaded:
        assert await loaded.settle()
        assert phase(loaded, "finished") == "Succeeded"
        assert (loaded.client.get("pods", "default", "running") or {})["status"]["podIP"] == "10.9.9.9"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: Pod", r"m.yaml: document 1: apiVersion is missing", id="no apiVersion"),
        pytest.param("apiVersion: v1\nkind: Pod", r"document 1: Pod without metadata.name", id="no name"),
        pytest.param("---\n- 1", r"document 1: expected a Kubernetes object, found list", id="no object at all"),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems: [7]", r"document 1, items\[0\]: expected", id="a bad item of a List"
        ),
        pytest.param(
            "apiVersion: x/v1\nkind: Foo\nmetadata: {name: a}", 'Foo a.: no kind "Foo" is served in version "x/v1"',
            id="an unknown kind",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: absent}, spec: {containers: [{name: c}]}}",
            r'Pod a.: namespaces "absent" not found', id="a refusal of the server",
        ),
    ],
)  # fmt: skip
async def test_bad_manifests_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(BadObject, match=message):
        async with Cluster(manifests=[path]):
            pass


async def test_a_second_cluster_cannot_have_the_same_port(cluster: Cluster) -> None:
    port = int(cluster.url.rpartition(":")[2])
    with pytest.raises(BadInput, match=r"cannot listen on .*in use"):
        async with Cluster(port=port):
            pass


def test_only_loopback_addresses() -> None:
    with pytest.raises(BadInput, match="not a loopback address"):
        Cluster(host="0.0.0.0")


async def test_the_kubeconfig_names_the_server(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "new" / "config"
    cluster.write_kubeconfig(path)
    written = yaml.safe_load(path.read_text())
    assert written["clusters"][0]["cluster"]["server"] == cluster.url
    assert written["current-context"] == written["contexts"][0]["name"]


async def test_hundreds_of_bound_pods_run_at_once(cluster: Cluster) -> None:
    for number in range(500):
        cluster.client.create("pods", pod(f"p{number}", f"node-{number % 3}"))
    await until(lambda: all(each["status"]["phase"] == "Running" for each in cluster.client.list("pods")))
    addresses = {each["status"]["podIP"] for each in cluster.client.list("pods")}
    assert len(addresses) == 500

"""Pods over HTTP: bound, evicted and deleted the way schedulers rely on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import APPLY, PODS, Api, pod
from vsched.sim.client import LocalClient

Obj = dict[str, Any]
NODES = "/api/v1/nodes"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def test_a_binding_sets_the_node_and_the_condition_and_nothing_else(api: Api) -> None:
    made = await api.pod("a")
    await api.patch(f"{PODS}/a/status", {"status": {"nominatedNodeName": "n2"}})
    reply = await api.bind("a")
    assert reply.code == 201
    assert reply.body == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    bound = (await api.get(f"{PODS}/a")).body
    assert bound["spec"] == {**made["spec"], "nodeName": "n1"}
    assert bound["metadata"]["generation"] == 1
    [condition] = bound["status"].pop("conditions")
    assert condition.pop("lastTransitionTime")
    assert condition == {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    assert bound["status"] == made["status"]


async def test_a_binding_replaces_an_unschedulable_condition(api: Api) -> None:
    await api.pod("a")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}
    await api.patch(f"{PODS}/a/status", {"status": {"conditions": [condition]}})
    await api.bind("a")
    [after] = (await api.get(f"{PODS}/a")).body["status"]["conditions"]
    assert after["status"] == "True"
    assert not after.keys() & {"reason", "message"}


async def test_a_binding_through_the_collection(api: Api) -> None:
    await api.pod("a")
    body = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}
    assert (await api.post("/api/v1/namespaces/default/bindings", body)).code == 201
    assert (await api.get(f"{PODS}/a")).body["spec"]["nodeName"] == "n1"


async def test_labels_of_the_binding_and_of_the_node_reach_the_pod(api: Api) -> None:
    zone = "topology.kubernetes.io/zone"
    await api.made(NODES, {"metadata": {"name": "n1", "labels": {zone: "z1", "other": "x"}}})
    await api.pod("a", labels={zone: "mine", "b": "1"})
    await api.bind("a", labels={"b": "2"}, annotations={"c": "3"})
    metadata = (await api.get(f"{PODS}/a")).body["metadata"]
    assert metadata["labels"] == {zone: "z1", "b": "2"}
    assert metadata["annotations"] == {"c": "3"}


async def test_a_dry_run_binds_nothing(api: Api) -> None:
    await api.pod("a")
    body = {"metadata": {"name": "a"}, "target": {"name": "n1"}}
    assert (await api.post(f"{PODS}/a/binding?dryRun=All", body)).code == 201
    assert "nodeName" not in (await api.get(f"{PODS}/a")).body["spec"]


async def test_a_second_binding_is_a_conflict_that_names_the_node(api: Api) -> None:
    await api.pod("a", bound=True)
    reply = await api.bind("a", "n2")
    assert (reply.code, reply.reason) == (409, "Conflict")
    assert reply.message == (
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"'
    )
    assert reply.body["details"] == {"name": "a", "kind": "pods/binding"}


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"uid": "other"}, "UID in precondition: other"),
        ({"resourceVersion": "1"}, "ResourceVersion in precondition: 1"),
    ],
    ids=["the uid", "the version"],
)
async def test_a_binding_is_refused_by_its_precondition_on(api: Api, metadata: Obj, text: str) -> None:
    await api.pod("a")
    reply = await api.bind("a", **metadata)
    assert reply.code == 409
    assert "StorageError: invalid object, Code: 4, Key: /registry/pods/default/a" in reply.message
    assert text in reply.message


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"metadata": {"name": "b"}, "target": {"name": "n1"}}, 400),
        ({"target": {"name": "n1"}}, 400),
        ({"metadata": {"name": "a"}}, 500),
        ({"metadata": {"name": "a"}, "target": {"kind": "Pod", "name": "x"}}, 500),
    ],
    ids=["another name", "no name", "no target", "a target that is no node"],
)
async def test_a_binding_is_refused_for(api: Api, body: Obj, code: int) -> None:
    await api.pod("a")
    assert (await api.post(f"{PODS}/a/binding", body)).code == code


async def test_gated_and_terminating_pods_cannot_be_bound(api: Api) -> None:
    await api.made(PODS, pod("gated", spec={"schedulingGates": [{"name": "g"}]}))
    assert "has non-empty .spec.schedulingGates" in (await api.bind("gated")).message
    await api.pod("going", finalizers=["a.b/c"])
    await api.delete(f"{PODS}/going")
    assert "is being deleted, cannot be assigned to a host" in (await api.bind("going")).message
    assert (await api.bind("missing")).code == 404
    assert (await api.get(f"{PODS}/gated/binding")).code == 405


async def test_an_unbound_pod_is_gone_at_once_in_two_events(api: Api) -> None:
    await api.pod("a")
    async with api.watch("/api/v1/pods?watch=1") as watch:
        await watch.take(1)
        reply = await api.delete(f"{PODS}/a")
        assert (reply.code, reply.body["kind"]) == (200, "Pod")
        assert reply.body["metadata"]["deletionGracePeriodSeconds"] == 0
        marked, gone = await watch.next(), await watch.next()
    assert [marked["type"], gone["type"]] == ["MODIFIED", "DELETED"]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in (marked, gone)]
    assert versions[0] < versions[1]
    assert marked["object"]["metadata"]["deletionTimestamp"]


async def test_a_bound_pod_stays_for_its_grace_period_until_zero_ends_it(api: Api) -> None:
    await api.pod("a", bound=True)
    async with api.watch("/api/v1/pods?watch=1") as watch:
        await watch.take(1)
        first = (await api.delete(f"{PODS}/a")).body["metadata"]
        assert (first["deletionGracePeriodSeconds"], first["generation"]) == (30, 2)
        assert (await api.delete(f"{PODS}/a")).body["metadata"] == first
        assert (await api.delete(f"{PODS}/a", {"gracePeriodSeconds": 60})).body["metadata"] == first
        shorter = (await api.delete(f"{PODS}/a", {"gracePeriodSeconds": 5})).body["metadata"]
        assert shorter["deletionGracePeriodSeconds"] == 5
        assert shorter["deletionTimestamp"] < first["deletionTimestamp"]
        await api.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
        types = [kind for kind, _ in await watch.take(4)]
    assert types == ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
    assert (await api.get(f"{PODS}/a")).code == 404


async def test_a_negative_grace_period_is_one_second(api: Api) -> None:
    await api.pod("a", bound=True)
    reply = await api.delete(f"{PODS}/a", {"gracePeriodSeconds": -5})
    assert reply.body["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_finalizers_keep_a_pod_until_the_last_one_goes(api: Api) -> None:
    await api.pod("a", finalizers=["a.b/c"])
    assert (await api.delete(f"{PODS}/a")).body["metadata"]["deletionGracePeriodSeconds"] == 0
    more = await api.patch(f"{PODS}/a", {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}})
    assert more.code == 422
    assert (await api.patch(f"{PODS}/a", {"metadata": {"finalizers": None}})).code == 200
    assert (await api.get(f"{PODS}/a")).code == 404


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
    ids=["foreground", "orphan"],
)
async def test_a_propagation_policy_leaves_its_finalizer(api: Api, propagation: str, finalizers: list[str]) -> None:
    await api.made("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
    reply = await api.delete("/api/v1/namespaces/default/configmaps/c", {"propagationPolicy": propagation})
    assert reply.body["metadata"]["finalizers"] == finalizers


async def test_preconditions_of_a_deletion_name_the_kind(api: Api) -> None:
    made = await api.pod("a")
    reply = await api.delete(f"{PODS}/a", {"preconditions": {"uid": "x"}})
    assert (reply.code, reply.body["details"]["kind"]) == (409, "Pod")
    assert reply.message.startswith(
        'Operation cannot be fulfilled on Pod "a": the UID in the precondition (x) does not match the UID in record'
    )
    assert (await api.delete(f"{PODS}/a", {"preconditions": {"uid": made["metadata"]["uid"]}})).code == 200


async def test_bodies_of_deletions(api: Api) -> None:
    node = await api.made(NODES, {"metadata": {"name": "n1"}})
    reply = await api.delete(f"{NODES}/n1")
    assert reply.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "n1", "kind": "nodes", "uid": node["metadata"]["uid"]},
    }
    await api.made("/api/v1/namespaces", {"metadata": {"name": "x"}})
    assert (await api.delete("/api/v1/namespaces/x")).body["status"]["phase"] == "Terminating"
    assert (await api.delete("/api/v1/namespaces/default")).code == 403
    refused = await api.post("/api/v1/namespaces/x/pods", pod("a"))
    assert (refused.code, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")


async def test_a_collection_is_deleted_by_selector_and_answered_as_it_was(api: Api) -> None:
    for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
        await api.pod(name, labels={"app": app})
    reply = await api.delete(f"{PODS}?labelSelector=app=x")
    assert reply.names() == ["a", "b"]
    assert "deletionTimestamp" not in reply.body["items"][0]["metadata"]
    assert (await api.get(PODS)).names() == ["c"]


def budget(**status: Any) -> Obj:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    return {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": {"name": "pdb1"}, "spec": spec}


async def running(api: Api, client: LocalClient, name: str, *, ready: bool = True) -> None:
    await api.pod(name, bound=True, labels={"app": "x"})
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"phase": "Running", "conditions": conditions}
    client.patch_status("pods", "default", name, lambda obj: {**obj, "status": {**obj["status"], **status}})


async def evict(api: Api, name: str, **options: Any) -> Any:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return await api.post(f"{PODS}/{name}/eviction", body)


async def test_an_eviction_without_a_budget_announces_and_deletes(api: Api, client: LocalClient) -> None:
    await running(api, client, "a")
    reply = await evict(api, "a")
    assert (reply.code, reply.body["status"]) == (201, "Success")
    after = (await api.get(f"{PODS}/a")).body
    assert after["metadata"]["deletionGracePeriodSeconds"] == 30
    target = next(each for each in after["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (target["reason"], target["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")
    assert (await evict(api, "a")).code == 201


async def test_a_budget_is_spent_and_then_refuses(api: Api, client: LocalClient) -> None:
    await running(api, client, "a")
    await running(api, client, "b")
    await api.made(BUDGETS, budget())
    early = await evict(api, "a")
    assert (early.code, early.headers["Retry-After"]) == (429, "10")
    status = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    client.patch_status("policy/poddisruptionbudgets", "default", "pdb1", lambda obj: {**obj, "status": status})
    assert (await evict(api, "a")).code == 201
    spent = (await api.get(f"{BUDGETS}/pdb1")).body["status"]
    assert spent["disruptionsAllowed"] == 0
    assert list(spent["disruptedPods"]) == ["a"]
    refused = await evict(api, "b")
    assert (refused.code, refused.reason) == (429, "TooManyRequests")
    assert refused.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.body["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget pdb1 needs 1 healthy pods and has 2 currently",
        }
    ]
    assert "Retry-After" not in refused.headers


async def test_two_budgets_on_one_pod_are_an_error(api: Api, client: LocalClient) -> None:
    await running(api, client, "a")
    await api.made(BUDGETS, budget())
    await api.made(BUDGETS, {**budget(), "metadata": {"name": "pdb2"}})
    reply = await evict(api, "a")
    assert reply.code == 500
    assert reply.message.startswith("This pod has more than one PodDisruptionBudget")


async def test_a_pending_pod_is_evicted_past_its_budget_and_a_dry_run_evicts_nothing(api: Api) -> None:
    await api.pod("a", labels={"app": "x"})
    await api.made(BUDGETS, budget())
    assert (await evict(api, "a", dryRun=["All"])).code == 201
    assert (await api.get(f"{PODS}/a")).code == 200
    assert (await evict(api, "a")).code == 201
    assert (await api.get(f"{PODS}/a")).code == 404


async def test_the_log_of_a_pod_is_text_and_names_its_containers(api: Api) -> None:
    await api.pod("a")
    assert "does not have a host assigned" in (await api.get(f"{PODS}/a/log")).message
    assert (await api.get(f"{PODS}/a/log?container=x")).code == 400
    await api.bind("a")
    assert (await api.get(f"{PODS}/a/log")).code == 200


async def test_an_applied_field_belongs_to_its_manager_until_forced(api: Api) -> None:
    def labelled(value: str) -> Obj:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"a": value}}}

    path = "/api/v1/namespaces/default/configmaps/c"
    assert (await api.patch(f"{path}?fieldManager=m1", labelled("1"), APPLY)).code == 201
    refused = await api.patch(f"{path}?fieldManager=m2", labelled("2"), APPLY)
    assert refused.message == 'Apply failed with 1 conflict: conflict with "m1": .metadata.labels.a'
    assert (await api.patch(f"{path}?fieldManager=m2&force=true", labelled("2"), APPLY)).code == 200
    await api.patch(f"{path}?fieldManager=m3", {"metadata": {"labels": {"a": "3"}}})
    again = await api.patch(f"{path}?fieldManager=m2", labelled("2"), APPLY)
    assert 'conflict with "m3" using v1' in again.message

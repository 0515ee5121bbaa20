"""Binding pods: what it changes, and the words it refuses with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import MERGE, PODS, STRATEGIC, Api, pod

Obj = dict[str, Any]
BINDINGS = "/api/v1/namespaces/default/bindings"
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def binding(name: str = "b", node: str = "n1", **metadata: Any) -> Obj:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}, "target": target}


@pytest.mark.parametrize("path", [f"{PODS}/b/binding", BINDINGS], ids=["at the pod", "in the collection"])
async def test_a_binding_is_answered_with_a_bare_status(api: Api, path: str) -> None:
    await api.pod("b")
    dry = await api.post(f"{path}?dryRun=All", binding())
    assert (dry.code, dry.body) == (201, SUCCESS)
    reply = await api.post(path, binding())
    assert (reply.code, reply.body) == (201, SUCCESS)
    assert (await api.get(f"{PODS}/b")).body["spec"]["nodeName"] == "n1"


async def test_a_binding_leaves_the_rest_of_the_pod_alone(api: Api) -> None:
    await api.pod("b")
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}
    status = {"nominatedNodeName": "n9", "conditions": [unschedulable, {"type": "Ready", "status": "False"}]}
    await api.patch(f"{PODS}/b/status", {"status": status}, STRATEGIC)
    before = (await api.get(f"{PODS}/b")).body
    await api.post(f"{PODS}/b/binding", binding())
    bound = (await api.get(f"{PODS}/b")).body
    condition, ready = bound["status"]["conditions"]
    assert condition.keys() == {"type", "status", "lastProbeTime", "lastTransitionTime"}
    assert (condition["status"], condition["lastProbeTime"]) == ("True", None)
    assert ready == before["status"]["conditions"][1]
    assert bound["spec"] == {**before["spec"], "nodeName": "n1"}
    assert {**bound["metadata"], "resourceVersion": ""} == {**before["metadata"], "resourceVersion": ""}
    assert {key: bound["status"].get(key) for key in ("phase", "qosClass", "nominatedNodeName")} == {
        "phase": "Pending",
        "qosClass": "Burstable",
        "nominatedNodeName": None,
    }


async def test_neither_phase_nor_node_matters(api: Api) -> None:
    await api.made(PODS, pod("b", spec={"nodeSelector": {"no": "such"}}))
    await api.patch(f"{PODS}/b/status", {"status": {"phase": "Succeeded"}}, MERGE)
    assert (await api.post(f"{PODS}/b/binding", binding(node="nowhere"))).code == 201


async def test_annotations_and_labels_of_the_binding_win(api: Api) -> None:
    await api.pod("b", labels={"a": "1", "b": "1"}, annotations={"c": "1"})
    await api.post(f"{PODS}/b/binding", binding(labels={"a": "2"}, annotations={"c": "2", "d": "2"}))
    metadata = (await api.get(f"{PODS}/b")).body["metadata"]
    assert metadata["labels"] == {"a": "2", "b": "1"}
    assert metadata["annotations"] == {"c": "2", "d": "2"}


PREFIX = 'Operation cannot be fulfilled on pods/binding "b": pod b '


@pytest.mark.parametrize(
    ("spec", "metadata", "why"),
    [
        ({"nodeName": "n1"}, {}, 'is already assigned to node "n1"'),
        ({"schedulingGates": [{"name": "g"}]}, {}, "has non-empty .spec.schedulingGates"),
        ({}, {"finalizers": ["a.b/c"]}, "is being deleted, cannot be assigned to a host"),
    ],
    ids=["bound", "gated", "terminating"],
)
@pytest.mark.parametrize("node", ["n1", "n2"])
async def test_a_pod_cannot_be_bound_that_is(api: Api, spec: Obj, metadata: Obj, why: str, node: str) -> None:
    await api.made(PODS, pod("b", spec=spec, **metadata))
    if metadata:
        await api.delete(f"{PODS}/b")
    reply = await api.post(f"{PODS}/b/binding", binding(node=node))
    assert (reply.code, reply.reason, reply.message) == (409, "Conflict", PREFIX + why)
    assert reply.body["details"] == {"name": "b", "kind": "pods/binding"}


@pytest.mark.parametrize(
    ("metadata", "word", "field"),
    [
        ({"uid": "x"}, "UID", "uid"),
        ({"resourceVersion": "1"}, "ResourceVersion", "resourceVersion"),
        ({"uid": "x", "resourceVersion": "1"}, "UID", "uid"),
    ],
    ids=["uid", "version", "uid before its version"],
)
async def test_a_binding_is_for_one_pod_by_its(api: Api, metadata: Obj, word: str, field: str) -> None:
    made = await api.pod("b")
    reply = await api.post(f"{PODS}/b/binding", binding(**metadata))
    assert (reply.code, reply.body["details"]) == (409, {"name": "b", "kind": "pods"})
    assert reply.message == (
        'Operation cannot be fulfilled on pods "b": StorageError: invalid object, Code: 4,'
        " Key: /registry/pods/default/b, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed:"
        f" {word} in precondition: {metadata[field]}, {word} in object meta: {made['metadata'][field]}"
    )
    right = {key: made["metadata"][key] for key in ("uid", "resourceVersion")}
    assert (await api.post(f"{PODS}/b/binding", binding(**right))).code == 201


KIND = 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'
MISNAMED = "name in URL does not match name in Binding object"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (binding("other"), 400, MISNAMED),
        ({"target": {"name": "n1"}}, 400, MISNAMED),
        ({"metadata": {"name": "b"}}, 500, "target.name: Required value"),
        ({"metadata": {"name": "b"}, "target": {"kind": "Pod", "name": "x"}}, 500, KIND),
        ({"metadata": {"name": "b"}, "target": {"kind": "Pod"}}, 500, f"[{KIND}, target.name: Required value]"),
        (
            binding(namespace="other"),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            {**binding(), "kind": "Pod"},
            400,
            'Pod in version "v1" cannot be handled as a Binding: converting (v1.Pod) to (core.Binding):'
            " unknown conversion",
        ),
        (
            {**binding(), "target": "n1"},
            400,
            'Binding in version "v1" cannot be handled as a Binding: json: cannot unmarshal string into Go struct'
            " field Binding.target of type v1.ObjectReference",
        ),
    ],
    ids=[
        "another name",
        "no name",
        "no target",
        "a target that is no node",
        "a target that is nothing",
        "another namespace",
        "another kind",
        "a target of the wrong type",
    ],
)
async def test_a_binding_is_refused_for(api: Api, body: Obj, code: int, message: str) -> None:
    await api.pod("b")
    reply = await api.post(f"{PODS}/b/binding", body)
    assert (reply.code, reply.message) == (code, message)
    assert reply.reason == {400: "BadRequest", 500: None}[code]
    assert "details" not in reply.body


async def test_a_binding_needs_its_pod_and_its_namespace(api: Api) -> None:
    missing = await api.post(f"{PODS}/b/binding", binding())
    assert (missing.code, missing.message) == (404, 'pods "b" not found')
    nowhere = await api.post("/api/v1/namespaces/nons/pods/b/binding", binding())
    assert (nowhere.code, nowhere.message) == (404, 'namespaces "nons" not found')


async def test_nothing_is_bound_in_a_namespace_that_goes(api: Api) -> None:
    await api.made("/api/v1/namespaces", {"metadata": {"name": "x"}})
    await api.made("/api/v1/namespaces/x/pods", pod("b"))
    await api.delete("/api/v1/namespaces/x")
    reply = await api.post("/api/v1/namespaces/x/pods/b/binding", binding())
    assert (reply.code, reply.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    assert reply.message == (
        'pods "b" is forbidden: unable to create new content in namespace x because it is being terminated'
    )


async def test_a_binding_in_the_collection_needs_a_name_and_has_no_uid(api: Api) -> None:
    await api.pod("b")
    nameless = await api.post(BINDINGS, {"target": {"name": "n1"}})
    assert (nameless.code, nameless.message) == (400, "Name parameter required.")
    assert (await api.post(BINDINGS, binding(uid="x"))).code == 201


async def test_unknown_fields_of_a_binding_are_told(api: Api) -> None:
    await api.pod("b")
    path = f"{PODS}/b/binding?dryRun=All"
    warned = await api.post(path, {**binding(), "nope": 1})
    assert (warned.code, warned.headers["Warning"]) == (201, '299 - "unknown field \\"nope\\""')
    assert "Warning" not in (await api.post(f"{path}&fieldValidation=Ignore", {**binding(), "nope": 1})).headers
    strict = await api.post(f"{path}&fieldValidation=Strict", {**binding(), "nope": 1})
    why = 'Binding in version "v1" cannot be handled as a Binding: strict decoding error: unknown field "nope"'
    assert (strict.code, strict.message) == (400, why)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_a_binding_is_only_made(api: Api, method: str) -> None:
    await api.pod("b")
    reply = await api.request(method, f"{PODS}/b/binding", None if method == "GET" else {})
    message = "the server does not allow this method on the requested resource"
    assert (reply.code, reply.reason, reply.message) == (405, "MethodNotAllowed", message)
    assert reply.body["details"] == {}

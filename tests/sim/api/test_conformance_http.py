"""The server below the objects: unknown paths, media types, discovery, tables and server-side apply."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.sim.api_client import APPLY, PODS, SCHEDULING, Api, pod, queue

Obj = dict[str, Any]
NO_RESOURCE = "the server could not find the requested resource"
NO_METHOD = "the server does not allow this method on the requested resource"
TEXT = "404 page not found\n"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1/foos", NO_RESOURCE),
        ("/api/v1/namespaces/default/foos/x", NO_RESOURCE),
        ("/api/v1/namespaces/default/nodes", NO_RESOURCE),
        (f"{PODS}/x/foo", NO_RESOURCE),
        ("/apis/nope/v1/foos", TEXT),
        ("/apis/nope", TEXT),
        ("/apis/apps/v9/deployments", TEXT),
        ("/api/v2/pods", TEXT),
        ("/nope", TEXT),
        (f"{SCHEDULING}/foos", TEXT),
        (f"{SCHEDULING}/namespaces/default/queues", TEXT),
    ],
)
async def test_what_is_not_found(api: Api, path: str, message: str) -> None:
    reply = await api.get(path)
    assert reply.code == 404
    if message == TEXT:
        assert (reply.body, reply.headers["Content-Type"]) == (TEXT, "text/plain; charset=utf-8")
    else:
        assert (reply.message, reply.reason, reply.body["details"]) == (message, "NotFound", {})


async def test_a_subresource_a_custom_kind_does_not_have(api: Api) -> None:
    reply = await api.get(f"{SCHEDULING}/queues/x/foo")
    assert (reply.code, reply.message) == (404, 'queues.scheduling.volcano.sh "x" not found')


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/v1/pods"), ("PUT", PODS), ("PATCH", PODS), ("GET", f"{PODS}/x/binding"), ("POST", f"{PODS}/x")],
)
async def test_methods_that_are_not_allowed(api: Api, method: str, path: str) -> None:
    reply = await api.request(method, path)
    assert (reply.code, reply.reason, reply.message) == (405, "MethodNotAllowed", NO_METHOD)
    assert reply.body["details"] == {}


async def test_a_custom_kind_of_namespaces_is_not_created_outside_of_them(api: Api) -> None:
    assert (await api.post(f"{SCHEDULING}/podgroups", {})).body == TEXT


ALL_MEDIA = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


async def test_media_types(api: Api) -> None:
    unacceptable = await api.get(PODS, Accept="text/html")
    assert (unacceptable.code, unacceptable.reason) == (406, "NotAcceptable")
    assert unacceptable.message == f"only the following media types are accepted: {ALL_MEDIA}"
    unsupported = await api.request("POST", PODS, b"{}", Content_Type="text/plain")
    start = "the body of the request was in an unknown format - accepted media types include: "
    assert (unsupported.code, unsupported.reason) == (415, "UnsupportedMediaType")
    assert unsupported.message == start + ALL_MEDIA
    patched = await api.patch(f"{SCHEDULING}/queues/x", {}, "application/strategic-merge-patch+json")
    media = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    assert (patched.code, patched.message) == (415, start + media)


async def test_a_body_that_is_too_large(api: Api) -> None:
    body = io.BytesIO(b"x" * (3 * 1024 * 1024 + 1))
    async with api.session.post(PODS, data=body, headers={"Content-Type": "application/json"}) as response:
        reply = await response.json()
    assert (response.status, reply["code"], reply["reason"]) == (413, 413, "RequestEntityTooLarge")
    assert reply["message"] == "Request entity too large: limit is 3145728"


@pytest.mark.parametrize("path", [PODS, "/apis", f"{PODS}/nobody"], ids=["a list", "discovery", "a refusal"])
async def test_nothing_is_cached(api: Api, path: str) -> None:
    assert (await api.get(path)).headers["Cache-Control"] == "no-cache, private"


OPTIONS = [
    ("POST", "dryRun=x", "CreateOptions", 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
    (
        "PATCH",
        "fieldValidation=x",
        "PatchOptions",
        'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"',
    ),
    ("PUT", "dryRun=x", "UpdateOptions", 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
]


@pytest.mark.parametrize(("method", "query", "kind", "why"), OPTIONS, ids=[row[0] for row in OPTIONS])
async def test_options_of_a_write(api: Api, method: str, query: str, kind: str, why: str) -> None:
    path = PODS if method == "POST" else f"{PODS}/a"
    media = {"Content_Type": "application/merge-patch+json"} if method == "PATCH" else {}
    await api.pod("a")
    reply = await api.request(method, f"{path}?{query}", pod("a"), **media)
    assert (reply.code, reply.message) == (422, f'{kind}.meta.k8s.io "" is invalid: {why}')


def row(resources: list[Obj], name: str) -> Obj:
    return next(each for each in resources if each.get("name", each.get("resource")) == name)


async def test_plain_discovery(api: Api) -> None:
    core = (await api.get("/api/v1")).body
    assert row(core["resources"], "pods/eviction") == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert row(core["resources"], "pods/binding")["kind"] == "Binding"
    custom = (await api.get(SCHEDULING)).body
    order = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    assert row(custom["resources"], "queues")["verbs"] == order
    assert row(core["resources"], "pods")["verbs"] == sorted(order)
    group = (await api.get("/apis/apps")).body
    assert (group["kind"], group["preferredVersion"]["groupVersion"]) == ("APIGroup", "apps/v1")


async def test_aggregated_discovery(api: Api) -> None:
    async with api.session.get("/api", headers={"Accept": f"{AGGREGATED},application/json"}) as response:
        assert response.headers["Content-Type"] == AGGREGATED
        found = await response.json()
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    pods = row(found["items"][0]["versions"][0]["resources"], "pods")
    kinds = {each["subresource"]: each["responseKind"] for each in pods["subresources"]}
    assert kinds["binding"] == {"group": "", "version": "", "kind": "Binding"}
    assert kinds["eviction"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert kinds["status"] == {"group": "", "version": "v1", "kind": "Pod"}


@pytest.mark.parametrize("rest", ["", ",application/json"], ids=["alone", "or plain"])
async def test_the_older_aggregated_form_is_gone(api: Api, rest: str) -> None:
    reply = await api.get("/apis", Accept=AGGREGATED.replace("v=v2;", "v=v2beta1;") + rest)
    assert (reply.code, reply.body["kind"], reply.headers["Content-Type"]) == (200, "APIGroupList", "application/json")


async def test_the_table_of_pods(api: Api) -> None:
    await api.pod("t1")
    await api.patch(f"{PODS}/t1/status", {"status": {"phase": "Running"}})
    reply = await api.get(PODS, Accept=TABLE)
    columns = [(each["name"], each["priority"]) for each in reply.body["columnDefinitions"]]
    narrow = [(name, 0) for name in ("Name", "Ready", "Status", "Restarts", "Age")]
    wide = [(name, 1) for name in ("IP", "Node", "Nominated Node", "Readiness Gates")]
    assert columns == narrow + wide
    cells = reply.body["rows"][0]["cells"]
    assert (cells[:4], cells[5:]) == (["t1", "0/1", "Running", "0"], ["<none>"] * 4)
    shown = reply.body["rows"][0]["object"]
    assert (shown["kind"], shown["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert shown.keys() == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize(
    ("include", "kind"), [("None", None), ("Metadata", "PartialObjectMetadata"), ("Object", "Pod")]
)
async def test_what_the_rows_of_a_table_carry(api: Api, include: str, kind: str | None) -> None:
    await api.pod("a")
    shown = (await api.get(f"{PODS}?includeObject={include}", Accept=TABLE)).body["rows"][0]["object"]
    assert (shown and shown["kind"]) == kind


async def test_a_table_cannot_carry_anything_else(api: Api) -> None:
    reply = await api.get(f"{PODS}?includeObject=x", Accept=TABLE)
    why = "includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', 'None', or empty"
    assert (reply.code, reply.message) == (400, f"Unable to convert to Table as requested: {why}")


@pytest.mark.parametrize("form", ["as=Foo;v=v1;g=meta.k8s.io", "as=Table;v=v2;g=meta.k8s.io", "as=Table;v=v1;g=other"])
async def test_a_form_nobody_knows_is_not_acceptable(api: Api, form: str) -> None:
    assert (await api.get(PODS, Accept=f"application/json;{form}")).code == 406
    assert (await api.get(PODS, Accept=f"application/json;{form},application/json")).body["kind"] == "PodList"


async def applied(api: Api, manager: str, value: str | None, query: str = "") -> Any:
    labels = {} if value is None else {"labels": {"a": value}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **labels}}
    return await api.patch(f"{PODS}/p?fieldManager={manager}{query}", body, APPLY)


async def test_who_owns_a_label(api: Api) -> None:
    container = {"name": "c", "image": "i"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    assert (await api.patch(f"{PODS}/p?fieldManager=maker", body, APPLY)).code == 201
    assert (await applied(api, "m1", "x")).code == 200
    reply = await applied(api, "m2", "y")
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".metadata.labels.a"}
    assert (reply.code, reply.reason, reply.body["details"]) == (409, "Conflict", {"causes": [cause]})
    assert reply.message == 'Apply failed with 1 conflict: conflict with "m1": .metadata.labels.a'
    assert (await applied(api, "m2", "x")).code == 200
    assert (await applied(api, "m1", None)).body["metadata"]["labels"] == {"a": "x"}
    assert (await applied(api, "m3", "z", "&force=true")).body["metadata"]["labels"] == {"a": "z"}
    assert "labels" not in (await applied(api, "m3", None)).body["metadata"]


async def test_a_conflict_with_an_update_names_its_version(api: Api) -> None:
    await api.pod("p")
    await api.patch(f"{PODS}/p?fieldManager=other", {"metadata": {"labels": {"a": "x"}}})
    await applied(api, "m1", None)
    await api.patch(f"{PODS}/p?fieldManager=other", {"metadata": {"labels": {"a": "y"}}})
    reply = await applied(api, "m1", "z")
    assert reply.message == 'Apply failed with 1 conflict: conflict with "other" using v1: .metadata.labels.a'


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (f"{PODS}/p?fieldManager=m", {"metadata": {"name": "p"}}, 400),
        (f"{PODS}/p?fieldManager=m", {**pod("p"), "spec": {"nope": 1}}, 500),
        (f"{PODS}/p?fieldManager=m", pod("other"), 400),
        (f"{PODS}/p", pod("p"), 422),
        (f"{PODS}/nobody/status?fieldManager=m", {"apiVersion": "v1", "kind": "Pod", "status": {}}, 404),
    ],
    ids=["no kind", "an unknown field", "another name", "no manager", "the status of nobody"],
)
async def test_an_apply_is_refused_for(api: Api, path: str, body: Obj, code: int) -> None:
    await api.pod("p")
    assert (await api.patch(path, body, APPLY)).code == code


async def test_a_custom_object_is_applied(api: Api) -> None:
    path = f"{SCHEDULING}/queues/q?fieldManager=m"
    assert (await api.patch(path, queue("q", weight=3), APPLY)).code == 201
    again = await api.patch(path, queue("q", weight=4), APPLY)
    assert (again.code, again.body["spec"]["weight"]) == (200, 4)

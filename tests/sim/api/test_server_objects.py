"""Single objects over HTTP: created, read, replaced, patched, and what is refused on the way."""

from __future__ import annotations

import io
import re
from typing import Any

import aiohttp
import pytest

from tests.sim.api_client import APPLY, JSON_PATCH, MERGE, PODS, SCHEDULING, STRATEGIC, Api, pod, queue
from vsched.apimachinery.meta.api_errors import too_many_requests
from vsched.sim.api.server import ApiServer
from vsched.sim.requests.request import ApiRequest
from vsched.sim.store.store import Store
from vsched.sim.writer import EventLimit, ObjectWriter

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
Obj = dict[str, Any]


def lease(name: str, **metadata: Any) -> Obj:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, **metadata},
        "spec": {"holderIdentity": "a"},
    }


async def test_a_new_pod_has_identity_generation_and_phase(api: Api) -> None:
    made = await api.pod("a")
    assert made["metadata"]["generation"] == 1
    assert made["metadata"]["uid"]
    assert made["metadata"]["namespace"] == "default"
    assert made["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    got = await api.get(f"{PODS}/a")
    assert [entry["operation"] for entry in got.body["metadata"]["managedFields"]] == ["Update"]
    assert got.plain == made


async def test_what_only_the_server_says_is_ignored_in_a_new_pod(api: Api) -> None:
    body = pod("a", uid="mine", generation=7, creationTimestamp="2001-01-01T00:00:00Z", selfLink="/x")
    made = await api.made(PODS, {**body, "status": {"phase": "Running"}})
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["generation"] == 1
    assert not made["metadata"]["creationTimestamp"].startswith("2001")
    assert made["status"]["phase"] == "Pending"


async def test_generate_name_adds_five_characters(api: Api) -> None:
    made = await api.made(PODS, pod("", generateName="web-"))
    assert re.fullmatch(r"web-[bcdfghjklmnpqrstvwxz2456789]{5}", made["metadata"]["name"])


REFUSED_CREATIONS: dict[str, tuple[str, Obj, int, str | None, str]] = {
    "a resourceVersion": (PODS, pod("a", resourceVersion="1"), 500, None, "resourceVersion should not be set"),
    "another namespace": (PODS, pod("a", namespace="other"), 400, "BadRequest", "does not match the namespace sent"),
    "another kind": (PODS, {**pod("a"), "kind": "Node"}, 400, "BadRequest", 'Node in version "v1" cannot be handled'),
    "no name": (PODS, pod(""), 422, "Invalid", "name or generateName is required"),
    "a missing namespace": (PODS.replace("default", "nons"), pod("a"), 404, "NotFound", 'namespaces "nons" not found'),
    "no namespace in the path": ("/api/v1/pods", pod("a"), 405, "MethodNotAllowed", "does not allow this method"),
    "a wrong type": (PODS, pod("a", spec={"nodeName": 3}), 400, "BadRequest", "cannot unmarshal number"),
    "a custom object without kind": (
        f"{SCHEDULING}/queues",
        {"metadata": {"name": "q"}},
        400,
        "BadRequest",
        "Object 'Kind' is missing",
    ),
}


@pytest.mark.parametrize(("path", "body", "code", "reason", "text"), REFUSED_CREATIONS.values(), ids=REFUSED_CREATIONS)
async def test_a_creation_is_refused_for(
    api: Api, path: str, body: Obj, code: int, reason: str | None, text: str
) -> None:
    reply = await api.post(path, body)
    assert (reply.code, reply.reason) == (code, reason)
    assert text in reply.message
    assert reply.body["code"] == code


async def test_a_taken_name_is_a_conflict(api: Api) -> None:
    await api.pod("a")
    reply = await api.post(PODS, pod("a"))
    assert (reply.code, reply.reason, reply.message) == (409, "AlreadyExists", 'pods "a" already exists')
    assert reply.body["details"] == {"name": "a", "kind": "pods"}


async def test_kind_and_version_may_be_left_out_for_built_in_kinds(api: Api) -> None:
    made = await api.made(PODS, {"metadata": {"name": "a"}, "spec": pod("a")["spec"]})
    assert (made["kind"], made["apiVersion"]) == ("Pod", "v1")


@pytest.mark.parametrize(
    ("query", "code", "warned"),
    [("", 201, True), ("?fieldValidation=Ignore", 201, False), ("?fieldValidation=Strict", 400, False)],
    ids=["are warned of", "are silent with Ignore", "are refused with Strict"],
)
async def test_unknown_fields(api: Api, query: str, code: int, warned: bool) -> None:
    reply = await api.post(PODS + query, pod("a", spec={"nope": 1}))
    assert reply.code == code
    assert (reply.headers.get("Warning") == '299 - "unknown field \\"spec.nope\\""') is warned
    if code == 400:
        assert 'strict decoding error: unknown field "spec.nope"' in reply.message


async def test_a_dry_run_creates_nothing_and_has_no_version(api: Api) -> None:
    reply = await api.post(PODS + "?dryRun=All", pod("a"))
    assert reply.code == 201
    assert reply.body["metadata"]["uid"]
    assert "resourceVersion" not in reply.body["metadata"]
    assert (await api.get(f"{PODS}/a")).code == 404


async def test_yaml_goes_in_and_out(api: Api) -> None:
    body = b"metadata: {name: cm}\ndata: {when: 2020-01-01}\n"
    path = "/api/v1/namespaces/default/configmaps"
    assert (await api.post(path, body, Content_Type="application/yaml")).code == 201
    reply = await api.get(f"{path}/cm", Accept="application/yaml")
    assert "when: '2020-01-01'" in reply.body


async def test_a_put_with_a_stale_version_is_a_conflict_and_without_one_is_taken(api: Api) -> None:
    made = await api.pod("a")
    labelled = {**made, "metadata": {**made["metadata"], "labels": {"a": "1"}}}
    first = await api.put(f"{PODS}/a", labelled)
    assert first.code == 200
    assert first.version > int(made["metadata"]["resourceVersion"])
    stale = await api.put(f"{PODS}/a", {**made, "metadata": {**made["metadata"], "labels": {"a": "2"}}})
    assert (stale.code, stale.reason) == (409, "Conflict")
    assert stale.message.endswith("please apply your changes to the latest version and try again")
    free = {**labelled, "metadata": {"name": "a", "labels": {"a": "3"}}}
    assert (await api.put(f"{PODS}/a", free)).body["metadata"]["labels"] == {"a": "3"}


async def test_a_put_that_changes_nothing_keeps_the_version(api: Api) -> None:
    made = await api.pod("a")
    assert (await api.put(f"{PODS}/a", made)).body == made
    assert (await api.patch(f"{PODS}/a", {"metadata": {"labels": None}})).body == made


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"uid": "other"}, 409, "Precondition failed: UID in precondition: other"),
        ({"name": "b"}, 400, "does not match the name on the URL (a)"),
        ({"resourceVersion": "x"}, 500, "invalid syntax"),
    ],
    ids=["another uid", "another name", "a version that is no number"],
)
async def test_a_put_is_refused_for(api: Api, change: Obj, code: int, text: str) -> None:
    made = await api.pod("a")
    reply = await api.put(f"{PODS}/a", {**made, "metadata": {**made["metadata"], **change}})
    assert reply.code == code
    assert text in reply.message


async def test_a_put_creates_a_lease_but_not_a_pod(api: Api) -> None:
    assert (await api.put(f"{LEASES}/le", lease("le"))).code == 201
    assert (await api.put(f"{PODS}/a", pod("a"))).code == 404


async def test_leases_and_custom_objects_need_a_version_in_a_put(api: Api) -> None:
    await api.made(LEASES, lease("le"))
    reply = await api.put(f"{LEASES}/le", lease("le"))
    assert reply.code == 422
    assert reply.message.startswith('leases.coordination.k8s.io "le" is invalid: metadata.resourceVersion: Invalid')
    await api.made(f"{SCHEDULING}/queues", queue("q"))
    assert (await api.put(f"{SCHEDULING}/queues/q", queue("q", weight=3))).code == 422


async def test_micro_times_need_six_decimals(api: Api) -> None:
    body = lease("le")
    assert (await api.post(LEASES, {**body, "spec": {"renewTime": "2026-01-01T00:00:05Z"}})).code == 400
    assert (await api.post(LEASES, {**body, "spec": {"renewTime": "2026-01-01T00:00:05.000000Z"}})).code == 201


async def test_generation_counts_changes_of_the_spec_only(api: Api) -> None:
    path = f"{SCHEDULING}/queues"
    await api.made(path, queue("q", weight=1))
    labelled = await api.patch(f"{path}/q", {"metadata": {"labels": {"a": "b"}}})
    heavier = await api.patch(f"{path}/q", {"spec": {"weight": 2}})
    told = await api.patch(f"{path}/q/status", {"status": {"state": "Open"}, "spec": {"weight": 9}})
    assert [reply.body["metadata"]["generation"] for reply in (labelled, heavier, told)] == [1, 2, 2]
    assert told.body["spec"]["weight"] == 2
    assert told.body["status"] == {"state": "Open"}


async def test_the_main_resource_ignores_status_and_status_takes_labels_of_pods(api: Api) -> None:
    await api.pod("a")
    assert (await api.patch(f"{PODS}/a", {"status": {"phase": "Running"}})).body["status"]["phase"] == "Pending"
    change = {"status": {"phase": "Dancing"}, "metadata": {"labels": {"a": "b"}}}
    told = (await api.patch(f"{PODS}/a/status", change)).body
    assert (told["status"]["phase"], told["metadata"]["labels"]) == ("Dancing", {"a": "b"})


async def test_every_kind_of_patch_reaches_the_object(api: Api) -> None:
    await api.pod("a", labels={"a": "1"})
    path = f"{PODS}/a"
    await api.patch(path, {"metadata": {"labels": {"b": "2"}}}, MERGE)
    await api.patch(path, {"metadata": {"labels": {"c": "3"}}}, STRATEGIC)
    await api.patch(path, [{"op": "add", "path": "/metadata/labels/d", "value": "4"}], JSON_PATCH)
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"e": "5"}}}
    reply = await api.patch(f"{path}?fieldManager=m", applied, APPLY)
    assert reply.body["metadata"]["labels"] == {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}


@pytest.mark.parametrize(
    ("kind", "body", "code", "text"),
    [
        ("application/json", {}, 415, "accepted media types include: application/json-patch+json"),
        (JSON_PATCH, [{"op": "test", "path": "/kind", "value": "Node"}], 422, "due to an error in our request"),
        (MERGE, {"metadata": {"resourceVersion": "1"}}, 409, "the object has been modified"),
        (APPLY, {"kind": "Pod", "apiVersion": "v1"}, 422, "fieldManager: Required value"),
    ],
    ids=["plain JSON", "a failed test", "a stale version", "an apply without a manager"],
)
async def test_a_patch_is_refused_for(api: Api, kind: str, body: Any, code: int, text: str) -> None:
    await api.pod("a")
    reply = await api.patch(f"{PODS}/a", body, kind)
    assert reply.code == code
    assert text in reply.message


async def test_custom_objects_take_no_strategic_patches(api: Api) -> None:
    await api.made(f"{SCHEDULING}/queues", queue("q"))
    assert (await api.patch(f"{SCHEDULING}/queues/q", {}, STRATEGIC)).code == 415


async def test_apply_creates_what_is_not_there_but_no_status(api: Api) -> None:
    applied = {**pod("a"), "metadata": {"name": "a"}}
    assert (await api.patch(f"{PODS}/a?fieldManager=m", applied, APPLY)).code == 201
    assert (await api.patch(f"{PODS}/b/status?fieldManager=m", pod("b"), APPLY)).code == 404


async def test_an_event_is_one_object_in_both_of_its_versions(api: Api) -> None:
    body = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"},
        "message": "m",
        "reason": "r",
        "type": "Normal",
        "count": 2,
    }
    await api.made("/api/v1/namespaces/default/events", body)
    other = (await api.get("/apis/events.k8s.io/v1/namespaces/default/events/e")).body
    assert other["apiVersion"] == "events.k8s.io/v1"
    assert (other["note"], other["regarding"]["name"], other["deprecatedCount"]) == ("m", "a", 2)
    listed = (await api.get("/apis/events.k8s.io/v1/events?fieldSelector=regarding.name=a")).body
    assert [item["note"] for item in listed["items"]] == ["m"]


async def test_the_scale_of_a_deployment_is_read_and_written(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await api.made(path, {"metadata": {"name": "d"}, "spec": spec})
    scale = (await api.get(f"{path}/d/scale")).body
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (2, "a=b")
    assert (await api.put(f"{path}/d/scale", {**scale, "spec": {"replicas": 5}})).body["spec"]["replicas"] == 5
    assert (await api.patch(f"{path}/d/scale", {"spec": {"replicas": 7}})).body["spec"]["replicas"] == 7
    stored = (await api.get(f"{path}/d")).body
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (7, 3)


async def test_a_patch_cannot_change_identity_or_break_types(api: Api) -> None:
    await api.pod("a")
    other = await api.patch(f"{PODS}/a", {"metadata": {"uid": "x"}})
    assert (other.code, "field is immutable" in other.message) == (422, True)
    await api.made(LEASES, lease("le"))
    reply = await api.patch(f"{LEASES}/le", {"spec": {"renewTime": "2026-01-01T00:00:05Z"}})
    assert (reply.code, reply.body["details"]["causes"][0]["field"]) == (422, "patch")


async def test_an_answer_can_be_a_table_or_metadata_alone(api: Api) -> None:
    await api.pod("a")
    table = (await api.get(f"{PODS}/a", Accept="application/json;as=Table;v=v1;g=meta.k8s.io, application/json")).body
    assert (table["kind"], table["rows"][0]["cells"][:4]) == ("Table", ["a", "0/1", "Pending", "0"])
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    partial = (await api.get(PODS, Accept=accept)).body
    assert partial["kind"] == "PartialObjectMetadataList"
    assert partial["items"][0].keys() == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/nopes", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/pods/a", 404),
        ("PUT", PODS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("POST", f"{PODS}/a", 405),
    ],
)
async def test_wrong_paths_and_methods_have_a_status(api: Api, method: str, path: str, code: int) -> None:
    reply = await api.request(method, path)
    assert reply.body["code"] == reply.code == code
    assert reply.body["details"] == {}


async def test_an_unknown_group_is_plain_text(api: Api) -> None:
    reply = await api.get("/apis/nope.example.com/v1/things")
    assert (reply.code, reply.body) == (404, "404 page not found\n")


async def test_bodies_and_answers_of_unknown_types_and_sizes_are_refused(api: Api) -> None:
    assert (await api.post(PODS, pod("a"), Content_Type="text/plain")).code == 415
    assert (await api.get(PODS, Accept="text/html")).code == 406
    async with api.session.post(PODS, data=io.BytesIO(b"x" * (3 * 1024 * 1024 + 1))) as response:
        assert response.status == 413
        assert (await response.json())["reason"] == "RequestEntityTooLarge"
    assert (await api.post(PODS, b"{")).code == 400
    assert (await api.post(PODS, b"[]")).code == 400


async def test_who_asks_may_do_everything(api: Api) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    made = await api.made("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    assert made["status"] == {"allowed": True}


async def test_a_pod_may_be_replaced_by_the_manifest_it_was_made_from(api: Api) -> None:
    made = await api.pod("a")
    body = pod("a", labels={"a": "b"})
    reply = await api.put(f"{PODS}/a", body)
    assert (reply.code, reply.body["spec"]) == (200, made["spec"])
    assert reply.body["metadata"]["generation"] == 1


async def test_fields_belong_to_whoever_created_the_object(api: Api) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    await api.made(f"{path}?fieldManager=maker", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "2"}}
    reply = await api.patch(f"{path}/c?fieldManager=m", applied, APPLY)
    assert reply.message == 'Apply failed with 1 conflict: conflict with "maker" using v1: .data.a'


async def test_a_warning_cannot_break_out_of_its_header(api: Api) -> None:
    reply = await api.post(PODS, pod("a", spec={"nope\r\nX-Evil: 1": 1}))
    assert reply.code == 201
    assert "X-Evil" not in reply.headers
    assert "nope  X-Evil: 1" in reply.headers["Warning"]


async def test_custom_objects_are_not_sent_as_protobuf(api: Api) -> None:
    reply = await api.post(f"{SCHEDULING}/queues", b"k8s\0", Content_Type="application/vnd.kubernetes.protobuf")
    assert (reply.code, reply.reason) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("events", [EventLimit(most=5, trimmed=2)], ids=["room for five"])
async def test_the_oldest_events_make_room(api: Api) -> None:
    path = "/api/v1/namespaces/default/events"
    for number in range(6):
        metadata = {"name": f"e{number}", "namespace": "default"}
        await api.made(path, {"metadata": metadata, "involvedObject": {"namespace": "default"}})
    assert (await api.get(path)).names() == ["e2", "e3", "e4", "e5"]


async def test_a_request_may_be_held_up_or_refused_at_the_gate(store: Store, writer: ObjectWriter) -> None:
    async def gate(call: ApiRequest) -> None:
        if call.method == "POST":
            raise too_many_requests("later", retry_after_seconds=1)

    server = ApiServer(store, writer=writer, gate=gate)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:
        reply = await Api(session).post(PODS, pod("a"))
        assert (reply.code, reply.headers["Retry-After"]) == (429, "1")
        assert (await Api(session).get(PODS)).code == 200
    await server.close()


POD = f"{PODS}/a"
MISSHAPEN: dict[str, tuple[str, str, Any, str, int]] = {
    "metadata of a pod": ("POST", PODS, {"metadata": "x"}, "", 400),
    "metadata of a queue": ("POST", f"{SCHEDULING}/queues", {**queue("q"), "metadata": "x"}, "", 400),
    "a label of a queue": (
        "POST",
        f"{SCHEDULING}/queues",
        {**queue("q"), "metadata": {"name": "q", "labels": {"a": 1}}},
        "",
        400,
    ),
    "the spec of a queue": ("POST", f"{SCHEDULING}/queues", {**queue("q"), "spec": "x"}, "", 422),
    "metadata of a binding": ("POST", f"{POD}/binding", {"metadata": "x"}, "", 400),
    "the target of a binding": ("POST", f"{POD}/binding", {"metadata": {"name": "a"}, "target": "x"}, "", 400),
    "options of an eviction": ("POST", f"{POD}/eviction", {"metadata": {"name": "a"}, "deleteOptions": "x"}, "", 400),
    "preconditions": ("DELETE", POD, {"preconditions": "x"}, "", 400),
    "a grace period": ("DELETE", POD, {"gracePeriodSeconds": "x"}, "", 400),
    "a merge patch": ("PATCH", POD, [1], MERGE, 400),
    "a merge patch that takes the metadata": ("PATCH", POD, {"metadata": None}, MERGE, 400),
    "a merge patch that takes the spec": ("PATCH", POD, {"spec": None}, MERGE, 422),
    "a JSON patch that takes the metadata": ("PATCH", POD, [{"op": "remove", "path": "/metadata"}], JSON_PATCH, 400),
    "a JSON patch without operations": ("PATCH", POD, {"op": "remove"}, JSON_PATCH, 400),
    "a strategic patch": ("PATCH", POD, "x", STRATEGIC, 400),
    "a status": ("PATCH", f"{POD}/status", {"status": "x"}, STRATEGIC, 422),
    "an applied list": ("PATCH", f"{POD}?fieldManager=m", [1], APPLY, 400),
    "applied metadata": ("PATCH", f"{POD}?fieldManager=m", {**pod("a"), "metadata": "x"}, APPLY, 400),
}


@pytest.mark.parametrize(("method", "path", "body", "kind", "code"), MISSHAPEN.values(), ids=MISSHAPEN)
async def test_a_client_is_told_of_a_misshapen(
    api: Api, method: str, path: str, body: Any, kind: str, code: int
) -> None:
    await api.pod("a")
    reply = await api.request(method, path, body, Content_Type=kind or "application/json")
    assert (reply.code, reply.body["kind"]) == (code, "Status")

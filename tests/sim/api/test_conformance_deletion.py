"""How deletions answer: bodies, grace, finalizers, preconditions, options, and the events they leave."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import PODS, SCHEDULING, Api, queue

Obj = dict[str, Any]
NAMESPACES = "/api/v1/namespaces"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SERVICES = "/api/v1/namespaces/default/services"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
JOB = {"metadata": {"name": "x"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
    {"name": "c", "image": "i"}]}}}}  # fmt: skip
SERVICE = {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}}


def marks(obj: Obj) -> tuple[bool, int | None]:
    metadata = obj["metadata"]
    return "deletionTimestamp" in metadata, metadata.get("deletionGracePeriodSeconds")


BODIES = [
    (NAMESPACES, {"metadata": {"name": "x"}}, "Namespace"),
    (SERVICES, SERVICE, "Service"),
    ("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "x"}}, "ServiceAccount"),
    (PODS, {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, "Pod"),
    ("/api/v1/nodes", {"metadata": {"name": "x"}}, "Status"),
    (CONFIGMAPS, {"metadata": {"name": "x"}}, "Status"),
    (LEASES, {"metadata": {"name": "x"}}, "Status"),
    (f"{SCHEDULING}/queues", queue("x"), "Status"),
]


@pytest.mark.parametrize(("path", "body", "kind"), BODIES, ids=[path.rpartition("/")[2] for path, _, _ in BODIES])
async def test_a_deletion_answers_with_the_object_or_a_status(api: Api, path: str, body: Obj, kind: str) -> None:
    made = await api.made(path, body)
    reply = await api.delete(f"{path}/x")
    assert (reply.code, reply.body["kind"]) == (200, kind)
    if kind == "Status":
        assert (reply.body["status"], "code" in reply.body) == ("Success", False)
        assert reply.body["details"]["uid"] == made["metadata"]["uid"]
        assert reply.body["details"]["kind"] == path.rpartition("/")[2]


@pytest.mark.parametrize(
    ("asked", "grace"),
    [(None, 30), (100, 30), (10, 10), (-5, 1)],
    ids=["nothing changes nothing", "longer is ignored", "shorter shortens", "negative is one second"],
)
async def test_a_repeated_deletion(api: Api, asked: int | None, grace: int) -> None:
    await api.pod("b", bound=True)
    first = (await api.delete(f"{PODS}/b")).body
    assert (marks(first), first["metadata"]["generation"]) == ((True, 30), 2)
    again = (await api.delete(f"{PODS}/b", None if asked is None else {"gracePeriodSeconds": asked})).body
    assert (marks(again), again["metadata"]["generation"]) == ((True, grace), 2)
    assert (again == first) is (grace == 30)


async def test_grace_zero_ends_a_graceful_deletion(api: Api) -> None:
    await api.pod("b", bound=True)
    async with api.watch(f"{PODS}?watch=1") as watch:
        await watch.next()
        await api.delete(f"{PODS}/b")
        reply = await api.delete(f"{PODS}/b?gracePeriodSeconds=0")
        events = [await watch.next() for _ in range(3)]
    assert (reply.code, marks(reply.body)) == (200, (True, 0))
    shown = [(event["type"], event["object"]["metadata"]["deletionGracePeriodSeconds"]) for event in events]
    assert shown == [("MODIFIED", 30), ("MODIFIED", 0), ("DELETED", 0)]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


@pytest.mark.parametrize("phase", ["", "Succeeded", "Failed"], ids=["unbound", "succeeded", "failed"])
async def test_what_no_kubelet_runs_goes_at_once(api: Api, phase: str) -> None:
    await api.pod("p", bound=bool(phase))
    if phase:
        await api.patch(f"{PODS}/p/status", {"status": {"phase": phase}})
    async with api.watch(f"{PODS}?watch=1") as watch:
        await watch.next()
        reply = await api.delete(f"{PODS}/p")
        events = [await watch.next() for _ in range(2)]
    assert marks(reply.body) == (True, 0)
    assert [(event["type"], *marks(event["object"])) for event in events] == [
        ("MODIFIED", True, 0),
        ("DELETED", True, 0),
    ]
    assert (await api.get(f"{PODS}/p")).code == 404


async def test_finalizers_hold_an_object_and_cannot_grow(api: Api) -> None:
    await api.pod("f", finalizers=["a.b/c"])
    assert marks((await api.delete(f"{PODS}/f")).body) == (True, 0)
    grown = await api.patch(f"{PODS}/f", {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}})
    assert (grown.code, grown.body["details"]["causes"][0]["reason"]) == (422, "FieldValueForbidden")
    assert (await api.patch(f"{PODS}/f", {"metadata": {"finalizers": None}})).code == 200
    assert (await api.get(f"{PODS}/f")).code == 404


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"]), ("Background", None)],
)
async def test_propagation_leaves_a_finalizer_to_the_collector(
    api: Api, policy: str, finalizers: list[str] | None
) -> None:
    await api.pod("p")
    reply = await api.delete(f"{PODS}/p", {"propagationPolicy": policy})
    assert reply.body["metadata"].get("finalizers") == finalizers
    assert ((await api.get(f"{PODS}/p")).code == 404) is (finalizers is None)


@pytest.mark.parametrize(
    ("preconditions", "why"),
    [
        ({"uid": "x"}, "the UID in the precondition (x) does not match the UID in record ("),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match the ResourceVersion in"),
    ],
    ids=["a uid", "a version"],
)
async def test_a_precondition_refuses(api: Api, preconditions: Obj, why: str) -> None:
    await api.pod("d7")
    reply = await api.delete(f"{PODS}/d7", {"preconditions": preconditions})
    assert (reply.code, reply.reason, reply.body["details"]) == (409, "Conflict", {"name": "d7", "kind": "Pod"})
    assert reply.message.startswith(f'Operation cannot be fulfilled on Pod "d7": {why}')


OPTIONS = {
    "an unknown policy": (
        {"propagationPolicy": "Nope"},
        'propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", "nil"',
    ),
    "two ways of saying it": (
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    ),
    "a dry run of some kind": (
        {"dryRun": ["x"]},
        'dryRun: Unsupported value: ["x"]: supported values: "All"',
    ),
}


@pytest.mark.parametrize(("body", "why"), OPTIONS.values(), ids=OPTIONS)
async def test_delete_options_are_checked_before_anything_is_looked_up(api: Api, body: Obj, why: str) -> None:
    reply = await api.delete(f"{PODS}/nobody", body)
    assert (reply.code, reply.message) == (422, f'DeleteOptions.meta.k8s.io "" is invalid: {why}')
    assert (reply.body["details"]["group"], reply.body["details"]["kind"]) == ("meta.k8s.io", "DeleteOptions")


async def test_the_query_is_read_only_where_there_is_no_body(api: Api) -> None:
    await api.pod("p")
    assert (await api.delete(f"{PODS}/p?dryRun=All")).code == 200
    assert (await api.get(f"{PODS}/p")).code == 200
    assert (await api.delete(f"{PODS}/p?dryRun=All", {})).code == 200
    assert (await api.get(f"{PODS}/p")).code == 404


async def test_a_collection_answers_with_what_was_there(api: Api) -> None:
    await api.pod("a", labels={"app": "x"})
    await api.pod("b", bound=True)
    reply = await api.delete(f"{PODS}?labelSelector=app%3Dx")
    assert (reply.body["kind"], reply.names(), marks(reply.body["items"][0])) == ("PodList", ["a"], (False, None))
    assert (await api.get(PODS)).names() == ["b"]
    assert (await api.delete(PODS)).names() == ["b"]
    assert marks((await api.get(f"{PODS}/b")).body) == (True, 30)
    assert (await api.delete("/api/v1/pods")).code == 405


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(api: Api, name: str) -> None:
    reply = await api.delete(f"{NAMESPACES}/{name}")
    assert (reply.code, reply.message) == (403, f'namespaces "{name}" is forbidden: this namespace may not be deleted')


async def test_a_namespace_is_terminating_first(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "n"}})
    reply = await api.delete(f"{NAMESPACES}/n")
    assert (reply.body["status"]["phase"], marks(reply.body)) == ("Terminating", (True, None))
    refused = await api.post(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "c"}})
    assert (refused.code, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")


async def test_a_node_leaves_its_pods_alone(api: Api) -> None:
    await api.made("/api/v1/nodes", {"metadata": {"name": "n1"}})
    await api.pod("p", bound=True)
    await api.delete("/api/v1/nodes/n1")
    assert marks((await api.get(f"{PODS}/p")).body) == (False, None)


async def test_deleting_a_job_warns_of_the_pods_it_leaves(api: Api) -> None:
    await api.made(JOBS, JOB)
    reply = await api.delete(f"{JOBS}/x")
    assert "child pods are preserved by default when jobs are deleted" in reply.headers["Warning"]
    assert reply.body["metadata"]["finalizers"] == ["orphan"]


@pytest.mark.parametrize(("orphan", "code"), [(False, 202), (True, 200)], ids=["dependents go", "dependents stay"])
async def test_the_older_word_for_propagation(api: Api, orphan: bool, code: int) -> None:
    await api.pod("p", finalizers=["a.b/c"])
    assert (await api.delete(f"{PODS}/p", {"orphanDependents": orphan})).code == code


async def test_a_body_of_another_kind_deletes_nothing(api: Api) -> None:
    made = await api.made(CONFIGMAPS, {"metadata": {"name": "x"}})
    reply = await api.delete(f"{CONFIGMAPS}/x", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}})
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")
    assert reply.body["message"].startswith('no kind "ConfigMap" is registered for version "v1" in scheme')
    assert (await api.get(f"{CONFIGMAPS}/x")).body["metadata"]["uid"] == made["metadata"]["uid"]
    assert (await api.delete(f"{CONFIGMAPS}/x", {"kind": "DeleteOptions", "apiVersion": "v1"})).code == 200

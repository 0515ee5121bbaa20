"""The kinds with rules of their own: leases, events, quotas, definitions and nodes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import CRDS, JSON_PATCH, MERGE, PODS, SCHEDULING, STRATEGIC, Api, pod

Obj = dict[str, Any]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
EVENTS = "/api/v1/namespaces/default/events"
NEWER_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
THINGS = "/apis/example.com/v1/namespaces/default/things"
TIME = "2026-01-01T00:00:05.123456Z"
LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


def lease(**spec: Any) -> Obj:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "le"}, "spec": spec}


MICRO_TIMES = [
    ("2026-01-01T00:00:05.123456Z", None),
    ("2026-01-01T00:00:05.123456+00:00", None),
    (None, None),
    ("2026-01-01T00:00:05Z", 'cannot parse "Z" as ".000000"'),
    ("2026-01-01T00:00:05.123Z", 'cannot parse ".123Z" as ".000000"'),
    ("2026-01-01T00:00:05.123456789Z", 'cannot parse "789Z" as "Z07:00"'),
    ("soon", 'cannot parse "soon" as "2006"'),
]


@pytest.mark.parametrize(("time", "why"), MICRO_TIMES, ids=[str(time) for time, _ in MICRO_TIMES])
async def test_times_of_a_lease_have_six_decimals(api: Api, time: str | None, why: str | None) -> None:
    for field in ("renewTime", "acquireTime"):
        reply = await api.post(LEASES, lease(**{field: time}))
        if why is None:
            assert (reply.code, reply.body["spec"].get(field)) == (201, time and TIME)
            await api.delete(f"{LEASES}/le")
            continue
        prefix = 'Lease in version "v1" cannot be handled as a Lease: '
        assert (reply.code, reply.message) == (400, f'{prefix}parsing time "{time}" as "{LAYOUT}": {why}')


@pytest.mark.parametrize("media", [MERGE, STRATEGIC, JSON_PATCH], ids=["merge", "strategic", "JSON patch"])
async def test_a_bad_time_in_a_patch_is_invalid(api: Api, media: str) -> None:
    await api.made(LEASES, lease(renewTime=TIME))
    bad = "2026-01-01T00:00:05Z"
    body: Any = [{"op": "replace", "path": "/spec/renewTime", "value": bad}]
    reply = await api.patch(f"{LEASES}/le", body if media == JSON_PATCH else {"spec": {"renewTime": bad}}, media)
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert reply.message.endswith('cannot parse "Z" as ".000000"')


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
        ({"leaseDurationSeconds": -1}, "spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0"),
        ({"leaseTransitions": -1}, "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"),
        ({"holderIdentity": "", "leaseDurationSeconds": 1}, ""),
    ],
    ids=["no duration", "a negative one", "negative transitions", "nobody holds it"],
)
async def test_what_a_lease_may_say(api: Api, spec: Obj, why: str) -> None:
    reply = await api.post(LEASES, lease(**spec))
    assert reply.code == (422 if why else 201)
    if why:
        assert reply.message == f'Lease.coordination.k8s.io "le" is invalid: {why}'


async def test_a_lease_is_updated_by_version_and_created_by_put(api: Api) -> None:
    assert (await api.put(f"{LEASES}/le", lease())).code == 201
    reply = await api.put(f"{LEASES}/le", lease())
    assert (reply.code, reply.message.startswith('leases.coordination.k8s.io "le" is invalid')) == (422, True)
    current = (await api.get(f"{LEASES}/le")).body
    renewed = {**current, "spec": {"renewTime": TIME}}
    assert (await api.put(f"{LEASES}/le", renewed)).code == 200
    assert (await api.put(f"{LEASES}/le", renewed)).reason == "Conflict"


def event(**fields: Any) -> Obj:
    return {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, **fields}


def newer(**fields: Any) -> Obj:
    return {"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, **fields}


REPORT = {"reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal", "eventTime": TIME}
TIMED = {**REPORT, "reportingComponent": "a/b"}
TIMED_NEWER = {**REPORT, "reportingController": "a/b"}
EVENT_RULES: dict[str, tuple[str, Obj, list[str]]] = {
    "another namespace": (EVENTS, event(involvedObject={"namespace": "o"}), ["involvedObject.namespace"]),
    "no namespace in the default one": (EVENTS, event(involvedObject={"kind": "Node"}), []),
    "any type": (EVENTS, event(type="Odd", firstTimestamp=None, count=3), []),
    "a time and nothing else": (
        EVENTS,
        event(eventTime=TIME),
        ["reportingComponent"] * 3 + ["reportingInstance", "action", "reason", "type"],
    ),
    "a time and all that goes with it": (EVENTS, event(**TIMED), []),
    "a long note": (EVENTS, event(**TIMED, message="x" * 1025), ["message"]),
    "a long note without a time": (EVENTS, event(message="x" * 1025), []),
    "a series of one": (EVENTS, event(**TIMED, series={"count": 1, "lastObservedTime": TIME}), ["series.count"]),
    "another type with a time": (EVENTS, event(**{**TIMED, "type": "Odd"}), ["type"]),
    "the newer API without a time": (NEWER_EVENTS, newer(), ["eventTime", "type"]),
    "the newer API": (NEWER_EVENTS, newer(**TIMED_NEWER, note="n"), []),
    "the newer API with older fields": (
        NEWER_EVENTS,
        newer(**TIMED_NEWER, deprecatedCount=1, deprecatedSource={"component": "x"}),
        ["count", "source"],
    ),
    "the newer API with a long note": (NEWER_EVENTS, newer(**TIMED_NEWER, note="x" * 1025), ["message"]),
}


@pytest.mark.parametrize(("path", "body", "fields"), EVENT_RULES.values(), ids=EVENT_RULES)
async def test_what_events_may_say(api: Api, path: str, body: Obj, fields: list[str]) -> None:
    reply = await api.post(path, body)
    assert reply.code == (422 if fields else 201), reply.body
    if fields:
        assert [cause["field"] for cause in reply.body["details"]["causes"]] == fields


async def test_one_event_in_both_views(api: Api) -> None:
    await api.made(NEWER_EVENTS, newer(**TIMED_NEWER, note="n"))
    series = {"count": 2, "lastObservedTime": TIME}
    assert (await api.patch(f"{NEWER_EVENTS}/e", {"series": series})).code == 200
    older = (await api.get(f"{EVENTS}/e")).body
    assert (older["message"], older["reportingComponent"], older["series"]) == ("n", "a/b", series)
    assert ("count" in older, older["firstTimestamp"], older["involvedObject"]["kind"]) == (False, None, "Pod")
    for path, field in ((EVENTS, "message"), (NEWER_EVENTS, "note")):
        reply = await api.patch(f"{path}/e", {field: "other"})
        cause = reply.body["details"]["causes"][0]
        assert (reply.code, cause["field"]) == (422, "message")
        assert cause["message"] == 'Invalid value: "other": field is immutable'


async def test_an_event_without_a_time_is_counted(api: Api) -> None:
    await api.made(EVENTS, event(count=1, message="m"))
    reply = await api.patch(f"{EVENTS}/e", {"count": 2, "message": "n"}, STRATEGIC)
    assert (reply.code, reply.body["count"], reply.body["eventTime"]) == (200, 2, None)
    shown = (await api.get(f"{NEWER_EVENTS}/e")).body
    assert (shown["deprecatedCount"], shown["note"], shown["deprecatedSource"]) == (2, "n", {})


AMOUNTS = [
    ("volcano.sh/namespace.weight", "3", "3"),
    ("volcano.sh/namespace.weight", 3, "3"),
    ("volcano.sh/namespace.weight", 0, "0"),
    ("volcano.sh/namespace.weight", "1.5", None),
    ("volcano.sh/namespace.weight", "1500m", None),
    ("volcano.sh/namespace.weight", "-1", None),
    ("weight", "1", None),
    ("count/jobs.batch", "1", "1"),
    ("count/jobs.batch", "1.5", None),
    ("requests.nvidia.com/gpu", "1", "1"),
    ("requests.nvidia.com/gpu", "1.5", None),
    ("pods", "1.5", None),
    ("requests.cpu", "1.5", "1500m"),
]


@pytest.mark.parametrize(("name", "value", "stored"), AMOUNTS, ids=[f"{n}={v!r}" for n, v, _ in AMOUNTS])
async def test_the_amounts_of_a_quota(api: Api, name: str, value: Any, stored: str | None) -> None:
    reply = await api.post(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {name: value}}})
    assert reply.code == (201 if stored else 422)
    if stored:
        assert reply.body["spec"]["hard"] == {name: stored}


async def quota(api: Api, **amounts: str) -> None:
    hard = {name.replace("_", "."): value for name, value in amounts.items()}
    await api.made(QUOTAS, {"metadata": {"name": "q6"}, "spec": {"hard": hard}})
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    assert (await api.patch(f"{QUOTAS}/q6/status", {"status": status})).code == 200


async def test_a_quota_nobody_has_counted_restricts_nothing(api: Api) -> None:
    await api.made(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    await api.pod("a")


async def test_a_quota_refuses_and_is_charged_before_the_object_is_stored(api: Api) -> None:
    await quota(api, requests_cpu="3")
    await api.pod("a")
    assert (await api.post(PODS, pod("a"))).reason == "AlreadyExists"
    used = (await api.get(f"{QUOTAS}/q6")).body["status"]["used"]
    assert used == {"requests.cpu": "2"}
    big = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}]}
    reply = await api.post(PODS, pod("big", spec=big))
    why = "exceeded quota: q6, requested: requests.cpu=5, used: requests.cpu=2, limited: requests.cpu=3"
    assert (reply.code, reply.message) == (403, f'pods "big" is forbidden: {why}')


async def test_a_quota_of_compute_wants_to_know(api: Api) -> None:
    await quota(api, requests_cpu="3", limits_memory="1Gi")
    reply = await api.post(PODS, pod("a", spec={"containers": [{"name": "c", "image": "i"}]}))
    why = "failed quota: q6: must specify limits.memory for: c; requests.cpu for: c"
    assert (reply.code, reply.message) == (403, f'pods "a" is forbidden: {why}')


def definition(group: str = "example.com", **metadata: Any) -> Obj:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": group, "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"}}
    return {"metadata": {"name": f"things.{group}", **metadata}, "spec": {**spec, "versions": [version]}}


def told(obj: Obj) -> dict[str, tuple[str, str, str]]:
    conditions = obj["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in conditions}


def thing(name: str = "t") -> Obj:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}}


@pytest.mark.parametrize("query", ["", "?watch=1"], ids=["a list", "a watch"])
async def test_a_storage_starts_on_first_use(api: Api, query: str) -> None:
    assert (await api.get(THINGS)).body == "404 page not found\n"
    await api.made(CRDS, definition())
    reply = await api.get(THINGS + query)
    assert (reply.code, reply.reason, reply.headers["Retry-After"]) == (429, "TooManyRequests", "1")
    assert (reply.message, reply.body["details"]) == ("storage is (re)initializing", {"retryAfterSeconds": 1})
    assert (await api.get(THINGS)).names() == []


@pytest.mark.parametrize("first", ["POST", "GET"])
async def test_any_other_first_use_starts_it_as_well(api: Api, first: str) -> None:
    await api.made(CRDS, definition())
    await api.request(first, f"{THINGS}/t" if first == "GET" else THINGS, thing() if first == "POST" else None)
    assert (await api.get(THINGS)).code == 200


async def test_the_shipped_definitions_have_started(api: Api) -> None:
    assert (await api.get(f"{SCHEDULING}/queues")).code == 200


async def test_a_definition_is_established_in_steps(api: Api) -> None:
    async with api.watch(f"{CRDS}?watch=1&resourceVersion={(await api.get(CRDS)).version}") as watch:
        made = await api.made(CRDS, definition())
        events = [await watch.next() for _ in range(3)]
    assert made["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED"]
    shown = [
        {
            each["type"]: (each["status"], each["reason"], each["message"])
            for each in event["object"]["status"]["conditions"]
        }
        for event in events[1:]
    ]
    accepted, text = ("True", "NoConflicts", "no conflicts found"), "the initial names have been accepted"
    assert shown == [
        {"NamesAccepted": accepted, "Established": ("False", "Installing", text)},
        {"NamesAccepted": accepted, "Established": ("True", "InitialNamesAccepted", text)},
    ]


async def test_a_dying_definition_takes_no_more_objects(api: Api) -> None:
    await api.made(CRDS, definition())
    await api.made(THINGS, {**thing(), "metadata": {"name": "t", "finalizers": ["a.b/c"]}})
    reply = await api.delete(f"{CRDS}/things.example.com")
    assert reply.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert reply.body["status"]["conditions"][-1]["type"] == "Terminating"
    refused = await api.post(THINGS, thing("u"))
    assert (refused.code, refused.reason) == (405, "MethodNotAllowed")
    assert refused.message == "create not allowed while custom resource definition is terminating"
    assert (await api.get(THINGS)).names() == ["t"]
    await api.patch(f"{THINGS}/t", {"metadata": {"finalizers": None}})
    assert (await api.get(THINGS)).code == 404


ANNOTATION = "api-approved.kubernetes.io"
WHERE = f"metadata.annotations[{ANNOTATION}]"
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
WANTED = f'protected groups must have approval annotation "{ANNOTATION}"'
APPROVALS = {
    None: f"{WHERE}: Required value: {WANTED}, {SEE}",
    "yes": f'{WHERE}: Invalid value: "yes": {WANTED} with either a URL or a reason starting with "unapproved", {SEE}',
    "https://example.com/1": ("True", "ApprovedAnnotation", "approved in https://example.com/1"),
    "unapproved, wild": ("False", "UnapprovedAnnotation", 'not approved: "unapproved, wild"'),
}


@pytest.mark.parametrize(("text", "outcome"), APPROVALS.items(), ids=map(str, APPROVALS))
@pytest.mark.parametrize("group", ["kube-arbitrator.incubator.k8s.io", "x.kubernetes.io"])
async def test_protected_groups_need_approval(api: Api, group: str, text: str | None, outcome: Any) -> None:
    reply = await api.post(CRDS, definition(group, **({"annotations": {ANNOTATION: text}} if text else {})))
    if isinstance(outcome, str):
        named = f'CustomResourceDefinition.apiextensions.k8s.io "things.{group}" is invalid: '
        assert (reply.code, reply.message) == (422, named + outcome)
        return
    found = told((await api.get(f"{CRDS}/things.{group}")).body)
    assert (reply.code, found["KubernetesAPIApprovalPolicyConformant"]) == (201, outcome)


async def test_a_new_node_is_tainted_and_keeps_its_status(api: Api) -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "4"}}
    made = await api.made("/api/v1/nodes", {"metadata": {"name": "n"}, "status": status})
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert made["status"]["allocatable"] == {"cpu": "4"}
    assert "capacity" not in made["status"]
    assert (await api.patch("/api/v1/nodes/n", {"spec": {"taints": None}})).body["spec"] == {}
    assert (await api.patch("/api/v1/nodes/n", {"spec": {"providerID": "a"}})).code == 200
    assert (await api.patch("/api/v1/nodes/n", {"spec": {"providerID": "b"}})).code == 422


CUSTOM_BODIES: dict[str, tuple[Obj, int, str]] = {
    "no kind": (
        {"metadata": {"name": "t"}},
        400,
        "the object provided is unrecognized (must be of type Thing): Object",
    ),
    "another kind": (
        {**thing(), "kind": "Other"},
        422,
        'Thing.example.com "t" is invalid: kind: Invalid value: "Other": must be Thing',
    ),
    "another version": (
        {**thing(), "apiVersion": "example.com/v9"},
        400,
        "the API version in the data (example.com/v9) does not match the expected API version (example.com/v1)",
    ),
}


@pytest.mark.parametrize(("body", "code", "start"), CUSTOM_BODIES.values(), ids=CUSTOM_BODIES)
async def test_a_custom_object_says_what_it_is(api: Api, body: Obj, code: int, start: str) -> None:
    await api.made(CRDS, definition())
    reply = await api.post(THINGS, body)
    assert reply.code == code
    assert reply.message.startswith(start)

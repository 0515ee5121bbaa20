"""Evictions: what they do to pods and budgets, and the words they refuse with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import PODS, STRATEGIC, Api, Reply, pod

Obj = dict[str, Any]
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


async def running(api: Api, name: str = "a", *, ready: bool = True, phase: str = "Running") -> Obj:
    made = await api.pod(name, bound=True, labels={"app": "x"})
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
    assert (await api.patch(f"{PODS}/{name}/status", {"status": status}, STRATEGIC)).code == 200
    return made


async def guarded(api: Api, name: str = "pdb1", **status: Any) -> None:
    """A budget its controller has seen, with one pod to spare unless it is told otherwise."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    await api.made(BUDGETS, {"metadata": {"name": name}, "spec": spec})
    seen = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1}
    assert (await api.patch(f"{BUDGETS}/{name}/status", {"status": {**seen, **status}})).code == 200


def eviction(name: str = "a", **options: Any) -> Obj:
    body: Obj = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return {**body, "deleteOptions": options} if options else body


async def evict(api: Api, name: str = "a", **options: Any) -> Reply:
    return await api.post(f"{PODS}/{name}/eviction", eviction(name, **options))


@pytest.mark.parametrize(
    "body",
    [
        eviction(),
        {"metadata": {"name": "a"}},
        {**eviction(), "apiVersion": "policy/v1beta1"},
    ],
    ids=["in full", "without a kind", "of the old version"],
)
async def test_an_eviction(api: Api, body: Obj) -> None:
    await api.pod("a")
    reply = await api.post(f"{PODS}/a/eviction", body)
    assert (reply.code, reply.body) == (201, SUCCESS)
    assert (await api.get(f"{PODS}/a")).code == 404


async def test_a_bound_pod_says_why_it_goes_and_goes_in_its_time(api: Api) -> None:
    await running(api)
    assert (await evict(api)).code == 201
    after = (await api.get(f"{PODS}/a")).body
    assert after["metadata"]["deletionGracePeriodSeconds"] == 30
    target = dict(after["status"]["conditions"][-1])
    assert target.pop("lastTransitionTime")
    assert target == {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    assert (await evict(api)).code == 201
    assert (await api.get(f"{PODS}/a")).body == after


@pytest.mark.parametrize("phase", ["Pending", "Succeeded"])
async def test_pods_nobody_misses_go_past_their_budget(api: Api, phase: str) -> None:
    if phase == "Pending":
        await api.pod("a", labels={"app": "x"})
    else:
        await running(api, phase=phase)
    await guarded(api, disruptionsAllowed=0)
    async with api.watch("/api/v1/pods?watch=1") as watch:
        await watch.take(1)
        assert (await evict(api)).code == 201
        events = await watch.take(3)
    assert [kind for kind, _ in events] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert (await api.get(f"{PODS}/a")).code == 404


async def test_the_options_of_the_deletion_are_honoured(api: Api) -> None:
    await running(api)
    assert (await evict(api, dryRun=["All"])).body == SUCCESS
    assert (await api.post(f"{PODS}/a/eviction?dryRun=All", eviction())).body == SUCCESS
    assert "deletionTimestamp" not in (await api.get(f"{PODS}/a")).body["metadata"]
    assert (await evict(api, gracePeriodSeconds=7)).code == 201
    assert (await api.get(f"{PODS}/a")).body["metadata"]["deletionGracePeriodSeconds"] == 7


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
async def test_preconditions_name_the_kind(api: Api, field: str) -> None:
    await running(api)
    reply = await evict(api, preconditions={field: "1"})
    assert (reply.code, reply.reason) == (409, "Conflict")
    assert reply.body["details"] == {"name": "a", "kind": "Pod"}
    word = {"uid": "UID", "resourceVersion": "ResourceVersion"}[field]
    assert reply.message.startswith(
        f'Operation cannot be fulfilled on Pod "a": the {word} in the precondition (1) does not match the {word} in'
    )
    right = (await api.get(f"{PODS}/a")).body["metadata"][field]
    assert (await evict(api, preconditions={field: right})).code == 201


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (eviction("b"), "name in URL does not match name in Eviction object"),
        ({}, "name in URL does not match name in Eviction object"),
        (
            {**eviction(), "metadata": {"name": "a", "namespace": "other"}},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            {**eviction(), "apiVersion": "v1"},
            'Eviction in version "v1" cannot be handled as a Eviction: no kind "Eviction" is registered for version'
            ' "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            {**eviction(), "apiVersion": "v1", "kind": "Pod"},
            'Pod in version "v1" cannot be handled as a Eviction: converting (v1.Pod) to (policy.Eviction):'
            " unknown conversion",
        ),
    ],
    ids=["another name", "no name", "another namespace", "another group", "another kind"],
)
async def test_an_eviction_is_refused_for(api: Api, body: Obj, message: str) -> None:
    await api.pod("a")
    reply = await api.post(f"{PODS}/a/eviction", body)
    assert (reply.code, reply.reason, reply.message) == (400, "BadRequest", message)


async def test_an_eviction_needs_its_pod_and_its_namespace(api: Api) -> None:
    assert (await evict(api)).message == 'pods "a" not found'
    nowhere = await api.post("/api/v1/namespaces/nons/pods/a/eviction", eviction())
    assert (nowhere.code, nowhere.message) == (404, 'namespaces "nons" not found')
    await api.made("/api/v1/namespaces", {"metadata": {"name": "x"}})
    await api.made("/api/v1/namespaces/x/pods", pod("a"))
    await api.delete("/api/v1/namespaces/x")
    closing = await api.post("/api/v1/namespaces/x/pods/a/eviction", eviction())
    assert (closing.code, closing.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")


async def test_unknown_fields_of_an_eviction_are_told(api: Api) -> None:
    await api.pod("a")
    path = f"{PODS}/a/eviction?dryRun=All"
    warned = await api.post(path, {**eviction(), "nope": 1})
    assert (warned.code, warned.headers["Warning"]) == (201, '299 - "unknown field \\"nope\\""')
    strict = await api.post(f"{path}&fieldValidation=Strict", {**eviction(), "nope": 1})
    assert (strict.code, "details" in strict.body) == (400, False)


@pytest.mark.parametrize(
    ("status", "text", "wait"),
    [
        ({"disruptionsAllowed": 0, "currentHealthy": 1}, "needs 1 healthy pods and has 1 currently", None),
        ({"observedGeneration": 0}, "is still being processed by the server.", 10),
    ],
    ids=["spent", "not yet seen by its controller"],
)
async def test_a_budget_refuses_that_is(api: Api, status: Obj, text: str, wait: int | None) -> None:
    made = await running(api)
    await guarded(api, **status)
    cause = {"reason": "DisruptionBudget", "message": f"The disruption budget pdb1 {text}"}
    details = {"causes": [cause], **({"retryAfterSeconds": wait} if wait else {})}
    # The budget is asked before the preconditions are.
    for options in ({}, {"preconditions": {"uid": "x"}}, {"preconditions": {"uid": made["metadata"]["uid"]}}):
        reply = await evict(api, **options)
        assert (reply.code, reply.reason, reply.message) == (429, "TooManyRequests", REFUSED)
        assert reply.body["details"] == details
        assert reply.headers.get("Retry-After") == (str(wait) if wait else None)


async def test_two_budgets_are_one_too_many(api: Api) -> None:
    await running(api)
    await guarded(api)
    await guarded(api, "pdb2")
    reply = await evict(api)
    message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    expected = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    assert (reply.code, reply.body) == (500, {**expected, "code": 500})


async def test_an_eviction_is_paid_for(api: Api) -> None:
    await running(api)
    await running(api, "b")
    await guarded(api)
    assert (await evict(api, dryRun=["All"])).code == 201
    assert (await evict(api)).code == 201
    status = (await api.get(f"{BUDGETS}/pdb1")).body["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["a"]
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )
    assert (condition["observedGeneration"], condition["message"]) == (1, "")
    assert (await evict(api, "b")).code == 429


@pytest.mark.parametrize(
    ("status", "code", "left"),
    [
        ({"currentHealthy": 1, "disruptionsAllowed": 0}, 201, 0),
        ({"currentHealthy": 2, "disruptionsAllowed": 1}, 201, 1),
        ({"currentHealthy": 0, "disruptionsAllowed": 0}, 429, 0),
        ({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 1}, 201, 0),
    ],
    ids=["is free while enough are healthy", "costs nothing", "costs when too few are", "costs when none are needed"],
)
async def test_a_pod_that_is_not_ready(api: Api, status: Obj, code: int, left: int) -> None:
    await running(api, ready=False)
    await guarded(api, **status)
    assert (await evict(api)).code == code
    assert (await api.get(f"{BUDGETS}/pdb1")).body["status"]["disruptionsAllowed"] == left


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_eviction_is_only_made(api: Api, method: str) -> None:
    await api.pod("a")
    assert (await api.request(method, f"{PODS}/a/eviction")).code == 405

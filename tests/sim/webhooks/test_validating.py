"""Validating webhooks of the embedded cluster: whom it asks, what it sends over HTTPS, and what answers come to."""

from __future__ import annotations

import asyncio
import shutil
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.sim.api_client import APPLY, PODS, Api, pod
from tests.support.hooks import HOOKS, NAME, Hook, Obj, answered, bundle, configuration, rule, serve
from vsched.sim.client import LocalClient

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str = "m", labels: Obj | None = None, **data: str) -> Obj:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


# -- what is sent ---------------------------------------------------------------------------------------------------


async def test_a_review_carries_the_write_in_full(api: Api, hook: Hook) -> None:
    await api.made(HOOKS, configuration(hook))
    made = await api.made(f"{MAPS}?fieldManager=me", config_map(a="1"))
    await api.patch(f"{MAPS}/m", {"data": {"a": "2"}})
    await api.delete(f"{MAPS}/m", {"propagationPolicy": "Orphan"})
    assert hook.seen() == [("CREATE", "configmaps"), ("UPDATE", "configmaps"), ("DELETE", "configmaps")]
    assert set(hook.paths) == {"/check?timeout=10s"}
    create, update, delete = (each["request"] for each in hook.asked)
    assert hook.asked[0]["apiVersion"] == "admission.k8s.io/v1"
    assert create == {
        "uid": create["uid"],
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "m",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": {**made, "metadata": create["object"]["metadata"]},
        "oldObject": None,
        "dryRun": False,
        "options": {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
            "fieldValidation": "Warn",
        },
    }
    assert create["object"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert (update["oldObject"]["data"], update["object"]["data"]) == ({"a": "1"}, {"a": "2"})
    assert (delete["oldObject"]["data"], delete["object"]) == ({"a": "2"}, None)
    assert delete["options"]["propagationPolicy"] == "Orphan"


async def test_what_was_reviewed_is_what_is_stored_down_to_a_generated_name(api: Api, hook: Hook) -> None:
    await api.made(HOOKS, configuration(hook))
    body = config_map(a="1")
    made = await api.made(MAPS, {**body, "metadata": {"generateName": "m-"}})
    [review] = hook.asked
    assert "name" not in review["request"]
    shown = review["request"]["object"]["metadata"]
    assert {key: made["metadata"][key] for key in shown} == shown


async def test_a_dry_run_is_reviewed_as_one(api: Api, hook: Hook) -> None:
    await api.made(HOOKS, configuration(hook))
    assert (await api.post(f"{MAPS}?dryRun=All", config_map())).code == 201
    assert [each["request"]["dryRun"] for each in hook.asked] == [True]
    assert (await api.get(f"{MAPS}/m")).code == 404


async def test_subresources_are_reviewed_by_their_names(api: Api, hook: Hook) -> None:
    await api.pod("p")
    deployment = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}
    deployment["template"]["spec"] = pod()["spec"]
    kind = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    scaled = "/apis/apps/v1/namespaces/default/deployments"
    await api.made(scaled, {**kind, "spec": deployment})
    await api.made(HOOKS, configuration(hook, rule("pods/* deployments/scale")))
    await api.bind("p")
    await api.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}})
    await api.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(f"{scaled}/d/scale", {"spec": {"replicas": 3}})
    await api.post(f"{PODS}/p/eviction", {"metadata": {"name": "p"}})
    assert hook.seen() == [
        ("CREATE", "pods/binding"),
        ("UPDATE", "pods/status"),
        ("UPDATE", "pods"),
        ("UPDATE", "deployments/scale"),
        ("CREATE", "pods/eviction"),
    ]
    kinds = [each["request"]["kind"]["kind"] for each in hook.asked]
    assert kinds == ["Binding", "Pod", "Pod", "Scale", "Eviction"]
    scale = hook.asked[3]["request"]
    assert (scale["oldObject"]["spec"], scale["object"]["spec"]) == ({"replicas": 1}, {"replicas": 3})
    hook.deny(message="stay")
    assert (await api.patch(f"{scaled}/d/scale", {"spec": {"replicas": 5}})).code == 400
    assert (await api.get(f"{scaled}/d")).body["spec"]["replicas"] == 3


async def test_an_equivalent_version_is_shown_unless_the_match_must_be_exact(api: Api, hook: Hook) -> None:
    by_old = rule("events", groups="events.k8s.io", apiVersions=["v1"])
    await api.made(HOOKS, configuration(hook, by_old))
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "message": "hello"}
    await api.made("/api/v1/namespaces/default/events", event)
    [request] = [each["request"] for each in hook.asked]
    assert (request["kind"]["group"], request["requestKind"]["group"]) == ("events.k8s.io", "")
    assert (request["object"]["apiVersion"], request["object"]["note"]) == ("events.k8s.io/v1", "hello")
    await api.patch(f"{HOOKS}/{NAME}", [{"op": "replace", "path": "/webhooks/0/matchPolicy", "value": "Exact"}],
                    "application/json-patch+json")  # fmt: skip
    await api.made("/api/v1/namespaces/default/events", {**event, "metadata": {"name": "f"}})
    assert len(hook.asked) == 1


# -- who is asked ---------------------------------------------------------------------------------------------------

ASKED: dict[str, tuple[Obj, list[str]]] = {
    "every write": ({"rules": [rule("*", groups="*")]}, ["map", "patch", "node", "delete"]),
    "one operation": ({"rules": [rule("*", "UPDATE")]}, ["patch"]),
    "one group": ({"rules": [rule("*", groups="apps")]}, []),
    "one version": ({"rules": [rule("*", apiVersions=["v1beta1"])]}, []),
    "what is in a namespace": ({"rules": [rule("*", scope="Namespaced")]}, ["map", "patch", "delete"]),
    "what is in none": ({"rules": [rule("*", scope="Cluster")]}, ["node"]),
    "subresources alone": ({"rules": [rule("*/status")]}, []),
    "any of two rules": ({"rules": [rule("nodes", "DELETE"), rule("nodes", "CREATE")]}, ["node"]),
    "objects with a label, before or after": (
        {"rules": [rule("*")], "objectSelector": {"matchLabels": {"a": "b"}}}, ["patch", "delete"]),
    "namespaces without a label": (
        {"rules": [rule("*")], "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}},
        ["map", "patch", "node", "delete"]),
    "namespaces with a label": (
        {"rules": [rule("*")], "namespaceSelector": {"matchLabels": {"a": "b"}}}, ["node"]),
    "a condition": (
        {"rules": [rule("*")],
         "matchConditions": [{"name": "c", "expression": "request.operation == 'DELETE' && oldObject.data.a == '2'"}]},
        ["delete"]),
    "all of the conditions": (
        {"rules": [rule("*")],
         "matchConditions": [{"name": "c", "expression": "object.nope == 1"}, {"name": "d", "expression": "false"}]},
        []),
    "conditions that cannot be worked out, where that is ignored": (
        {"rules": [rule("*")], "failurePolicy": "Ignore",
         "matchConditions": [{"name": "c", "expression": "object.metadata.name == 'n'"}]},
        ["node"]),
}  # fmt: skip


@pytest.mark.parametrize(("more", "expected"), ASKED.values(), ids=ASKED)
async def test_a_webhook_is_asked_about(api: Api, hook: Hook, more: Obj, expected: list[str]) -> None:
    await api.made(HOOKS, configuration(hook, **more))
    heard: list[str] = []

    async def step(name: str, reply: Awaitable[Any]) -> None:
        before = len(hook.asked)
        assert (await reply).code in (200, 201)
        heard.extend([name] * (len(hook.asked) - before))

    await step("map", api.post(MAPS, config_map(a="1")))
    await step("patch", api.patch(f"{MAPS}/m", {"metadata": {"labels": {"a": "b"}}, "data": {"a": "2"}}))
    await step("node", api.post("/api/v1/nodes", {"metadata": {"name": "n"}}))
    await step("delete", api.delete(f"{MAPS}/m"))
    assert heard == expected


async def test_a_condition_that_cannot_be_worked_out_refuses(api: Api, hook: Hook) -> None:
    condition = {"name": "c", "expression": "object.nope == 1"}
    await api.made(HOOKS, configuration(hook, matchConditions=[condition]))
    reply = await api.post(MAPS, config_map())
    assert (reply.code, reply.reason) == (403, "Forbidden")
    assert "expression 'object.nope == 1' resulted in error: no such key: nope" in reply.message
    assert hook.asked == []


async def test_configurations_of_webhooks_are_nobodys_business(api: Api, hook: Hook) -> None:
    hook.deny(message="no")
    await api.made(HOOKS, configuration(hook, rule("*/*")))
    assert (await api.patch(f"{HOOKS}/{NAME}", {"metadata": {"labels": {"a": "b"}}})).code == 200
    assert (await api.delete(f"{HOOKS}/{NAME}")).code == 200
    await api.made(MAPS, config_map())
    assert hook.asked == []


async def test_the_clusters_own_controllers_are_not_reviewed(api: Api, hook: Hook, client: LocalClient) -> None:
    hook.deny(message="no")
    await api.made(HOOKS, configuration(hook))
    body = config_map("own")
    client.create("configmaps", {**body, "metadata": {"name": "own", "namespace": "default"}})
    assert (await api.get(f"{MAPS}/own")).code == 200


async def test_reads_are_not_reviewed(api: Api, hook: Hook) -> None:
    await api.made(HOOKS, configuration(hook, rule("*/*")))
    assert (await api.get(MAPS)).code == 200
    assert (await api.get(f"{MAPS}/nope")).code == 404
    assert hook.asked == []


# -- what answers come to -------------------------------------------------------------------------------------------

DENIED: dict[str, tuple[Obj, int, str | None, str]] = {
    "a code, a reason and a message": (
        {"code": 403, "reason": "Forbidden", "message": "not you"}, 403, "Forbidden", "denied the request: not you"),
    "a message alone": ({"message": "not you"}, 400, None, "denied the request: not you"),
    "a reason alone": ({"reason": "Gone", "code": 410}, 410, "Gone", "denied the request: Gone"),
    "not a word": ({}, 400, None, "denied the request without explanation"),
    "a code of success": ({"code": 200, "message": "ha"}, 400, None, "denied the request: ha"),
}  # fmt: skip


@pytest.mark.parametrize(("status", "code", "reason", "text"), DENIED.values(), ids=DENIED)
async def test_a_denial_with(api: Api, hook: Hook, status: Obj, code: int, reason: str | None, text: str) -> None:
    hook.deny(**status)
    await api.made(HOOKS, configuration(hook))
    reply = await api.post(MAPS, config_map())
    assert (reply.code, reply.reason) == (code, reason)
    assert reply.message == f'admission webhook "{NAME}" {text}'
    assert (await api.get(f"{MAPS}/m")).code == 404


async def test_warnings_reach_the_client_once(api: Api, hook: Hook) -> None:
    hook.response = {"allowed": True, "warnings": ["mind the gap"]}
    await api.made(HOOKS, configuration(hook))
    reply = await api.post(MAPS, {**config_map(), "nope": 1})
    assert reply.code == 201
    async with api.session.post(MAPS, json={**config_map("n"), "nope": 1}) as response:
        assert response.headers.getall("Warning") == ['299 - "mind the gap"', '299 - "unknown field \\"nope\\""']
    hook.response = {"allowed": False, "warnings": ["and go"]}
    async with api.session.post(MAPS, json=config_map("o")) as response:
        assert (response.status, response.headers.getall("Warning")) == (400, ['299 - "and go"'])


async def test_the_first_of_many_refuses_and_all_are_asked(api: Api, hook: Hook) -> None:
    for name in ("b", "a", "c"):
        await api.made(HOOKS, configuration(hook, name=f"{name}.vsched.example"))
    hook.deny(message="no")
    reply = await api.post(MAPS, config_map())
    assert reply.message == 'admission webhook "a.vsched.example" denied the request: no'
    assert len(hook.asked) == 3


async def _text(_: Obj) -> web.Response:
    return web.Response(text="hello")


async def _broken(_: Obj) -> web.Response:
    return web.Response(status=500, text="oh no")


async def _moved(_: Obj) -> web.Response:
    return web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"})


async def _silent(_: Obj) -> web.Response:
    await asyncio.sleep(60)
    return web.Response()


async def _empty(review: Obj) -> web.Response:
    return web.json_response({"apiVersion": review["apiVersion"], "kind": "AdmissionReview"})


async def _other(review: Obj) -> web.Response:
    body = answered(review, allowed=True)
    return web.json_response({**body, "response": {**body["response"], "uid": "other"}})


async def _beta(review: Obj) -> web.Response:
    return web.json_response({**answered(review, allowed=True), "apiVersion": "admission.k8s.io/v1beta1"})


async def _long(_: Obj) -> web.Response:
    return web.Response(text="x" * (1 << 21))


FAILING: dict[str, tuple[Callable[[Obj], Awaitable[web.Response]], str]] = {
    "no JSON": (_text, "failed to call webhook: couldn't get version/kind; json parse error"),
    "an error": (_broken, 'failed to call webhook: an error on the server ("oh no") has prevented the request'),
    "a way elsewhere": (_moved, "has prevented the request from succeeding (code 302)"),
    "nothing in time": (_silent, 'check?timeout=1s": context deadline exceeded'),
    "no response": (_empty, "received invalid webhook response: webhook response was absent"),
    "the answer to another question": (_other, 'received invalid webhook response: expected response.uid="'),
    "another version": (_beta, "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got"),
    "far too much": (_long, "the answer has more than 1048576 bytes"),
}


@pytest.mark.parametrize(("reply", "text"), FAILING.values(), ids=FAILING)
async def test_a_webhook_that_answers_with(
    api: Api, hook: Hook, reply: Callable[[Obj], Awaitable[web.Response]], text: str
) -> None:
    hook.reply = reply
    await api.made(HOOKS, configuration(hook, timeoutSeconds=1))
    refused = await api.post(MAPS, config_map())
    assert (refused.code, refused.reason) == (500, "InternalError")
    assert refused.message.startswith(f'Internal error occurred: failed calling webhook "{NAME}": ')
    assert text in refused.message
    assert (await api.get(f"{MAPS}/m")).code == 404


async def test_a_webhook_may_be_passed_over_when_it_fails(api: Api, hook: Hook) -> None:
    hook.reply = _broken
    await api.made(HOOKS, configuration(hook, failurePolicy="Ignore"))
    await api.made(MAPS, config_map())
    assert len(hook.asked) == 1
    hook.reply = None
    hook.deny(message="no")
    assert (await api.post(MAPS, config_map("n"))).code == 400


CLIENTS: dict[str, tuple[Obj, str]] = {
    "nobody listens": ({"url": "https://127.0.0.1:1/check"}, "dial tcp 127.0.0.1:1: connect: "),
    "an authority that is not trusted": ({"caBundle": ""}, "tls: failed to verify certificate: "),
    "a bundle that is none": ({"caBundle": b64encode(b"hello").decode()}, "unable to parse bytes as PEM block"),
    "a name that the certificate does not have": ({"url": "https://localhost:{port}/check"}, "tls: failed to verify"),
    "somebody else's machine": ({"url": "https://example.com/check"}, "example.com is no address of this machine"),
    "a service that is not there": (
        {"url": None, "service": {"name": "s", "namespace": "default"}}, 'service "s" not found'),
}  # fmt: skip


@pytest.mark.real_time
@pytest.mark.parametrize(("client", "text"), CLIENTS.values(), ids=CLIENTS)
async def test_a_webhook_cannot_be_called(api: Api, hook: Hook, client: Obj, text: str) -> None:
    given = {"url": hook.url, "caBundle": bundle(), **client}
    given = {key: value for key, value in given.items() if value is not None}
    if "url" in given:
        given["url"] = given["url"].replace("{port}", str(hook.port))
    await api.made(HOOKS, configuration(hook, clientConfig=given))
    reply = await api.post(MAPS, config_map())
    assert (reply.code, reply.reason) == (500, "InternalError")
    assert text in reply.message
    assert hook.asked == []


# -- writes that take a while ---------------------------------------------------------------------------------------


async def test_an_update_is_decided_on_what_is_there_once_the_review_is_over(api: Api, hook: Hook) -> None:
    made = await api.made(MAPS, config_map(a="1"))
    await api.made(HOOKS, configuration(hook))

    async def overtaken(review: Obj) -> web.Response:
        hook.reply = None
        await api.patch(f"{MAPS}/m", {"data": {"b": review["request"]["uid"]}})
        return web.json_response(answered(review, allowed=True))

    hook.reply = overtaken
    stale = await api.put(f"{MAPS}/m", {**made, "data": {"a": "3"}})
    assert (stale.code, stale.reason) == (409, "Conflict")
    hook.reply, hook.asked = overtaken, []
    patched = await api.patch(f"{MAPS}/m", {"data": {"a": "4"}})
    first, inner, again = (each["request"] for each in hook.asked)
    assert patched.body["data"] == {"a": "4", "b": first["uid"]}
    assert inner["object"]["data"]["a"] == "1"
    # The patch was looked at again for what it makes of the newer object.
    assert again["object"]["data"] == patched.body["data"] != first["object"]["data"]


async def test_a_name_taken_meanwhile_is_taken(api: Api, hook: Hook) -> None:
    await api.made(HOOKS, configuration(hook))

    async def overtaken(review: Obj) -> web.Response:
        hook.reply = None
        await api.made(MAPS, config_map(a="first"))
        return web.json_response(answered(review, allowed=True))

    hook.reply = overtaken
    reply = await api.post(MAPS, config_map(a="second"))
    assert (reply.code, reply.reason) == (409, "AlreadyExists")


async def test_an_object_that_never_holds_still_is_a_conflict(api: Api, hook: Hook) -> None:
    await api.made(MAPS, config_map())
    await api.made(HOOKS, configuration(hook, rule(operations="DELETE")))

    async def restless(review: Obj) -> web.Response:
        await api.patch(f"{MAPS}/m", {"data": {"n": str(len(hook.asked))}})
        return web.json_response(answered(review, allowed=True))

    hook.reply = restless
    reply = await api.delete(f"{MAPS}/m")
    assert (reply.code, reply.reason) == (409, "Conflict")
    assert len(hook.asked) == 5


async def test_a_collection_goes_as_a_whole_or_not_at_all(api: Api, hook: Hook) -> None:
    for name in ("a", "b", "c"):
        await api.made(MAPS, config_map(name))
    await api.made(HOOKS, configuration(hook, rule(operations="DELETE")))

    async def keeps_b(review: Obj) -> web.Response:
        return web.json_response(answered(review, allowed=review["request"]["name"] != "b"))

    hook.reply = keeps_b
    assert (await api.delete(MAPS)).code == 400
    assert (await api.get(MAPS)).names() == ["a", "b", "c"]
    hook.reply = None
    assert (await api.delete(MAPS)).names() == ["a", "b", "c"]
    assert (await api.get(MAPS)).names() == []
    assert len(hook.asked) == 6


async def test_apply_is_reviewed_as_what_it_comes_to(api: Api, hook: Hook) -> None:
    await api.made(HOOKS, configuration(hook))
    path = f"{MAPS}/m?fieldManager=me"
    assert (await api.patch(path, config_map(a="1"), APPLY)).code == 201
    assert (await api.patch(path, config_map(a="2"), APPLY)).code == 200
    assert [operation for operation, _ in hook.seen()] == ["CREATE", "UPDATE"]


# -- services -------------------------------------------------------------------------------------------------------


@pytest.mark.real_time
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not on the PATH: it makes the certificate")
@pytest.mark.parametrize("kind", ["endpoints", "endpointslices"])
async def test_a_service_is_found_by_its_endpoints(api: Api, tmp_path: Path, kind: str) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    names = "subjectAltName=DNS:checks.default.svc"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    made += ["-subj", "/CN=checks", "-addext", names, "-keyout", str(key), "-out", str(certificate)]
    process = await asyncio.create_subprocess_exec(*made, stderr=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0
    hook = Hook()
    runner = await serve(hook, certificate, key)
    try:
        ports = [{"name": "https", "port": 443}, {"name": "metrics", "port": 80}]
        service = {"metadata": {"name": "checks"}, "spec": {"ports": ports}}
        await api.made("/api/v1/namespaces/default/services", service)
        reference = {"name": "checks", "namespace": "default", "path": "/check"}
        client = {"service": reference, "caBundle": bundle(certificate)}
        await api.made(HOOKS, configuration(hook, clientConfig=client))
        refused = await api.post(MAPS, config_map())
        assert 'Post "https://checks.default.svc:443/check' in refused.message
        assert 'no endpoints available for service "checks"' in refused.message
        await _endpoints(api, kind, hook.port)
        await api.made(MAPS, config_map())
        assert hook.seen() == [("CREATE", "configmaps")]
    finally:
        await runner.cleanup()


async def _endpoints(api: Api, kind: str, port: int) -> None:
    ports = [{"name": "metrics", "port": 1}, {"name": "https", "port": port}]
    if kind == "endpoints":
        subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": ports}
        await api.made("/api/v1/namespaces/default/endpoints", {"metadata": {"name": "checks"}, "subsets": [subset]})
        return
    labels = {"kubernetes.io/service-name": "checks"}
    body = {"metadata": {"name": "checks-1", "labels": labels}, "addressType": "IPv4", "ports": ports}
    gone = {"addresses": ["127.0.0.2"], "conditions": {"ready": False}}
    body["endpoints"] = [gone, {"addresses": ["127.0.0.1"]}]
    await api.made("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body)

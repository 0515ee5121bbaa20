"""Mutating webhooks of the embedded cluster: what they change, in which order, and what becomes of bad patches."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import PODS, Api, pod
from tests.support.hooks import HOOKS, MUTATING, Hook, Obj, configuration, mutating, patch_of, rule

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(**data: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data}


def add(path: str, value: Any) -> Obj:
    return {"op": "add", "path": path, "value": value}


async def test_a_new_object_and_a_changed_one_are_patched(api: Api, hook: Hook) -> None:
    await api.made(MUTATING, mutating(hook))
    hook.response = patch_of(add("/data/b", "2"), add("/metadata/labels", {"by": "hook"}))
    made = await api.made(MAPS, config_map(a="1"))
    assert (made["data"], made["metadata"]["labels"]) == ({"a": "1", "b": "2"}, {"by": "hook"})
    hook.response = patch_of(add("/data/c", "3"))
    reply = await api.patch(f"{MAPS}/m", {"data": {"a": "9"}})
    assert reply.body["data"] == {"a": "9", "b": "2", "c": "3"}
    assert hook.seen() == [("CREATE", "configmaps"), ("UPDATE", "configmaps")]
    uids = {each["request"]["object"]["metadata"]["uid"] for each in hook.asked}
    assert uids == {made["metadata"]["uid"]}, "what was reviewed is what is stored"


async def test_what_a_patch_adds_has_its_defaults(api: Api, hook: Hook) -> None:
    await api.made(MUTATING, mutating(hook, rule("pods")))
    hook.response = patch_of(add("/spec/containers/-", {"name": "more", "image": "busybox"}))
    made = await api.made(PODS, pod("p"))
    assert made["spec"]["containers"][-1]["terminationMessagePath"] == "/dev/termination-log"


async def test_each_gets_what_those_before_made_and_validating_ones_see_it_all(api: Api, hook: Hook) -> None:
    await api.made(MUTATING, mutating(hook, name="b.second.example"))
    await api.made(MUTATING, mutating(hook, name="a.first.example"))
    await api.made(HOOKS, configuration(hook))
    hook.response = patch_of(add("/data/seen", "yes"))
    await api.made(MAPS, config_map(a="1"))
    shown = [each["request"]["object"]["data"] for each in hook.asked]
    assert shown == [{"a": "1"}, {"a": "1", "seen": "yes"}, {"a": "1", "seen": "yes"}]


async def test_a_denial_is_one(api: Api, hook: Hook) -> None:
    await api.made(MUTATING, mutating(hook))
    hook.deny(code=403, reason="Forbidden", message="no")
    reply = await api.post(MAPS, config_map())
    assert (reply.code, reply.reason) == (403, "Forbidden")


@pytest.mark.parametrize(
    ("response", "text"),
    [
        pytest.param({"allowed": True, "patch": "W10="}, "response.patch but not response.patchType", id="no type"),
        pytest.param({"allowed": True, "patch": "W10=", "patchType": "Merge"}, "invalid patchType of Merge", id="type"),
        pytest.param({"allowed": True, "patch": "?", "patchType": "JSONPatch"}, "patch: ", id="no base64"),
        pytest.param({"allowed": True, "patch": "W10", "patchType": "JSONPatch"}, "patch: ", id="cut off"),
    ],
)
async def test_an_answer_that_cannot_be_used(api: Api, hook: Hook, response: Obj, text: str) -> None:
    await api.made(MUTATING, mutating(hook))
    hook.response = response
    reply = await api.post(MAPS, config_map())
    assert reply.code == 500
    assert text in reply.body["message"]


async def test_a_patch_of_what_is_not_there(api: Api, hook: Hook) -> None:
    await api.made(MUTATING, mutating(hook))
    hook.response = patch_of({"op": "remove", "path": "/spec/none"})
    reply = await api.post(MAPS, config_map())
    assert reply.code == 500


async def test_one_that_fails_is_passed_over_if_it_may_be(api: Api, hook: Hook) -> None:
    await api.made(MUTATING, mutating(hook, failurePolicy="Ignore"))
    hook.response = {"allowed": True, "patch": "W10="}
    made = await api.made(MAPS, config_map(a="1"))
    assert made["data"] == {"a": "1"}
    assert len(hook.asked) == 1


async def test_configurations_are_checked(api: Api, hook: Hook) -> None:
    wrong = mutating(hook, reinvocationPolicy="Often")
    reply = await api.post(MUTATING, wrong)
    assert reply.code == 422
    assert 'reinvocationPolicy: Unsupported value: "Often"' in reply.body["message"]

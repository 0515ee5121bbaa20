"""Lists over HTTP: order, selectors, pages, versions."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from tests.sim.api_client import PODS, SCHEDULING, Api, pod, queue
from vsched.sim.api.server import ServerSettings
from vsched.sim.store.store import Store

Obj = dict[str, Any]


def token_of(page: Any) -> Obj:
    text = page.body["metadata"]["continue"]
    found: Obj = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


async def test_items_are_ordered_by_the_joined_name_and_leave_out_their_kind(api: Api) -> None:
    for namespace in ("probe", "probe-2"):
        await api.made("/api/v1/namespaces", {"metadata": {"name": namespace}})
        await api.made(f"/api/v1/namespaces/{namespace}/pods", pod("a"))
    reply = await api.get("/api/v1/pods")
    assert [item["metadata"]["namespace"] for item in reply.body["items"]] == ["probe-2", "probe"]
    assert (reply.body["kind"], reply.body["apiVersion"]) == ("PodList", "v1")
    assert not reply.body["items"][0].keys() & {"kind", "apiVersion"}


async def test_custom_items_carry_their_kind(api: Api) -> None:
    await api.made(f"{SCHEDULING}/queues", queue("q"))
    assert (await api.get(f"{SCHEDULING}/queues")).body["items"][0]["kind"] == "Queue"


async def test_a_missing_namespace_lists_nothing(api: Api) -> None:
    assert (await api.get("/api/v1/namespaces/nons/pods")).names() == []


async def test_pages_show_the_state_of_the_first_one(api: Api) -> None:
    for name in ("l1", "l2", "l3"):
        await api.pod(name)
    first = await api.get(f"{PODS}?limit=1")
    assert first.names() == ["l1"]
    assert first.body["metadata"]["remainingItemCount"] == 2
    assert token_of(first) == {"v": "meta.k8s.io/v1", "rv": first.version, "start": "/l1\0"}
    await api.delete(f"{PODS}/l2")
    await api.pod("l25")
    second = await api.get(f"{PODS}?limit=5&continue={first.body['metadata']['continue']}")
    assert second.names() == ["l2", "l3"]
    assert second.version == first.version
    assert (await api.get(PODS)).names() == ["l1", "l25", "l3"]


async def test_a_token_whose_version_is_forgotten_comes_back_fresh(api: Api, store: Store) -> None:
    for name in ("l1", "l2"):
        await api.pod(name)
    first = await api.get(f"{PODS}?limit=1")
    await api.pod("l3")
    store.compact(store.revision)
    expired = await api.get(f"{PODS}?limit=1&continue={first.body['metadata']['continue']}")
    assert (expired.code, expired.reason) == (410, "Expired")
    assert token_of(expired)["rv"] == -1
    again = await api.get(f"{PODS}?continue={expired.body['metadata']['continue']}")
    assert again.names() == ["l2", "l3"]


async def test_with_a_selector_nobody_counts_what_remains(api: Api) -> None:
    for name in ("a", "b", "c"):
        await api.pod(name, labels={"app": "x"})
    reply = await api.get(f"{PODS}?limit=1&labelSelector=app%3Dx")
    assert "remainingItemCount" not in reply.body["metadata"]
    assert reply.body["metadata"]["continue"]


async def test_version_zero_ignores_the_limit(api: Api) -> None:
    for name in ("a", "b"):
        await api.pod(name)
    assert len((await api.get(f"{PODS}?limit=1&resourceVersion=0")).names()) == 2


async def test_an_exact_version_shows_the_past(api: Api, store: Store) -> None:
    made = await api.pod("a")
    version = made["metadata"]["resourceVersion"]
    await api.pod("b")
    await api.delete(f"{PODS}/a")
    exact = await api.get(f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert (exact.names(), exact.version) == (["a"], int(version))
    assert (await api.get(f"{PODS}?resourceVersion={version}&limit=5")).names() == ["a"]
    assert (await api.get(f"{PODS}?resourceVersion={version}")).names() == ["b"]
    store.compact(store.revision)
    gone = await api.get(f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert (gone.code, gone.message) == (410, "The resourceVersion for the provided list is too old.")


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("resourceVersion=x", 400, "invalid resource version: "),
        ("resourceVersionMatch=Exact", 422, "is forbidden unless resourceVersion is provided"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, 'is forbidden for resourceVersion "0"'),
        ("resourceVersion=1&resourceVersionMatch=Some", 422, 'Unsupported value: "Some"'),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
        ("continue=eHg", 400, "continue key is not valid"),
        ("limit=x", 400, "invalid syntax"),
        ("labelSelector=a%3D%3D%3Db", 400, "unable to parse requirement"),
        ("fieldSelector=spec.nope%3Da", 400, "field label not supported: spec.nope"),
    ],
)
async def test_a_list_is_refused_for(api: Api, query: str, code: int, text: str) -> None:
    reply = await api.get(f"{PODS}?{query}")
    assert reply.code == code
    assert text in reply.message


async def test_continue_with_a_version_is_refused(api: Api) -> None:
    for name in ("a", "b"):
        await api.pod(name)
    token = (await api.get(f"{PODS}?limit=1")).body["metadata"]["continue"]
    reply = await api.get(f"{PODS}?continue={token}&resourceVersion=5")
    assert (reply.code, "not allowed when using continue" in reply.message) == (400, True)


@pytest.mark.parametrize("settings", [ServerSettings(future_seconds=0.1)], ids=["impatient"])
async def test_a_version_of_the_future_times_out_after_a_while(api: Api) -> None:
    for path in (PODS, f"{PODS}/a"):
        reply = await api.get(f"{path}?resourceVersion=999999")
        assert (reply.code, reply.reason, reply.headers["Retry-After"]) == (504, "Timeout", "1")
        assert reply.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


FIELD_SELECTORS = {
    "spec.nodeName=n1": ["b"],
    "spec.nodeName!=n1": ["a"],
    "spec.nodeName=": ["a"],
    "status.phase=Pending,metadata.name=a": ["a"],
    "spec.schedulerName==default-scheduler": ["a", "b"],
    "spec.hostNetwork=false": ["a", "b"],
    "metadata.namespace=other": [],
}


@pytest.mark.parametrize(("selector", "names"), FIELD_SELECTORS.items(), ids=FIELD_SELECTORS)
async def test_field_selectors(api: Api, selector: str, names: list[str]) -> None:
    await api.pod("a")
    await api.pod("b", bound=True)
    async with api.session.get("/api/v1/pods", params={"fieldSelector": selector}) as response:
        assert [item["metadata"]["name"] for item in (await response.json())["items"]] == names


async def test_long_lists_come_whole(api: Api, store: Store) -> None:
    for number in range(1201):
        await api.made("/api/v1/namespaces/default/configmaps", {"metadata": {"name": f"c{number:05}"}})
    reply = await api.get("/api/v1/configmaps")
    assert reply.names() == [f"c{number:05}" for number in range(1201)]


async def test_a_version_that_comes_in_time_is_waited_for(api: Api, store: Store) -> None:
    waiting = asyncio.create_task(api.get(f"{PODS}?resourceVersion={store.revision + 1}"))
    await asyncio.sleep(0)
    await api.pod("a")
    assert (await waiting).names() == ["a"]

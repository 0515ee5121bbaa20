"""What watches say: where they start, which bookmarks they send, how they refuse and how they end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sim.api_client import PODS, SCHEDULING, Api
from vsched.sim.store.store import Store

Obj = dict[str, Any]
ALL = "/api/v1/pods?watch=1"
END = {"k8s.io/initial-events-end": "true"}
EVENTS = "/api/v1/namespaces/default/events"


@pytest.mark.parametrize("query", ["", "&resourceVersion=", "&resourceVersion=0"], ids=["none", "empty", "zero"])
@pytest.mark.parametrize("bookmarks", [True, False], ids=["bookmarks", "no bookmarks"])
async def test_from_the_start(api: Api, query: str, bookmarks: bool, store: Store) -> None:
    await api.pod("a")
    async with api.watch(f"{ALL}{query}&allowWatchBookmarks={str(bookmarks).lower()}") as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        if bookmarks:
            mark = await watch.next()
            assert mark["object"]["metadata"] == {"resourceVersion": str(store.revision), "annotations": END}
        await api.pod("b")
        assert await watch.take(1) == [("ADDED", "b")]


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", True),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=1", True),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", False),
    ],
    ids=["as asked", "from an old version", "without bookmarks"],
)
async def test_initial_events(api: Api, query: str, marked: bool) -> None:
    await api.pod("a")
    async with api.watch(f"{ALL}&{query}") as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        if marked:
            assert (await watch.next())["object"]["metadata"]["annotations"] == END
        assert await watch.is_silent(0.05)


async def test_no_initial_events_if_they_are_not_wanted(api: Api) -> None:
    await api.pod("a")
    async with api.watch(f"{ALL}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan") as watch:
        await api.pod("b")
        assert await watch.take(1) == [("ADDED", "b")]


BOOKMARKS = {
    "/api/v1/pods": {"spec": {"containers": None}, "status": {}},
    "/api/v1/configmaps": {},
    "/api/v1/namespaces": {"spec": {}, "status": {}},
    "/apis/coordination.k8s.io/v1/leases": {"spec": {}},
    f"{SCHEDULING}/queues": {},
}


@pytest.mark.parametrize(("path", "fields"), BOOKMARKS.items(), ids=BOOKMARKS)
async def test_a_bookmark_is_an_empty_object(api: Api, path: str, fields: Obj) -> None:
    async with api.watch(f"{path}?watch=1&allowWatchBookmarks=1") as watch:
        while (event := await watch.next())["type"] != "BOOKMARK":
            pass
    rest = {key: value for key, value in event["object"].items() if key not in ("kind", "apiVersion", "metadata")}
    assert rest == fields


FORBIDDEN = "resourceVersionMatch: Forbidden: "
NEEDS = f"{FORBIDDEN}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
ALONE = f"{FORBIDDEN}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
EXACT = 'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"'
REFUSED = {
    "sendInitialEvents=true": NEEDS,
    "sendInitialEvents=false": NEEDS,
    "sendInitialEvents=true&resourceVersionMatch=Exact": f"[{NEEDS}, {EXACT}]",
    "resourceVersionMatch=NotOlderThan": ALONE,
    "resourceVersionMatch=Exact&resourceVersion=5": f"[{ALONE}, {EXACT}]",
}


@pytest.mark.parametrize(("query", "why"), REFUSED.items(), ids=REFUSED)
async def test_options_of_a_watch_that_do_not_go_together(api: Api, query: str, why: str) -> None:
    reply = await api.get(f"{ALL}&{query}")
    assert (reply.code, reply.message) == (422, f'ListOptions.meta.k8s.io "" is invalid: {why}')


async def test_a_version_that_is_no_number(api: Api) -> None:
    reply = await api.get(f"{ALL}&resourceVersion=x")
    why = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    assert (reply.code, reply.reason, reply.message) == (500, None, why)


@pytest.mark.parametrize("value", ["true", "True", "1", "maybe", "yes"])
async def test_what_opens_a_watch(api: Api, value: str) -> None:
    async with api.watch(f"/api/v1/pods?watch={value}") as watch:
        await api.pod("a")
        assert await watch.take(1) == [("ADDED", "a")]


@pytest.mark.parametrize("value", ["", "0", "false", "False"])
async def test_what_opens_none(api: Api, value: str) -> None:
    assert (await api.get(f"/api/v1/pods?watch={value}")).body["kind"] == "PodList"


async def test_a_forgotten_version(api: Api, store: Store) -> None:
    event = {"involvedObject": {"namespace": "default"}}
    for name in "ab":
        await api.pod(name)
        await api.made(EVENTS, {"metadata": {"name": name}, **event})
    store.compact(store.revision)
    shown = []
    for path in (PODS, EVENTS):
        async with api.watch(f"{path}?watch=1&resourceVersion=1") as watch:
            error = await watch.next()
            assert await watch.ended()
        assert (error["type"], error["object"]["kind"], error["object"]["status"]) == ("ERROR", "Status", "Failure")
        assert (error["object"]["reason"], error["object"]["code"]) == ("Expired", 410)
        shown.append(error["object"]["message"])
    assert shown[0] == f"too old resource version: 1 ({store.oldest(store.registry.resource('pods'))})"
    assert shown[1] == "The resourceVersion for the provided watch is too old."


async def test_a_selector_is_left_with_the_old_labels_and_the_new_version(api: Api) -> None:
    await api.pod("a", labels={"app": "x"})
    async with api.watch(f"{ALL}&labelSelector=app%3Dx") as watch:
        await watch.next()
        changed = await api.patch(f"{PODS}/a", {"metadata": {"labels": {"app": "y"}}})
        left = await watch.next()
    assert (left["type"], left["object"]["metadata"]["labels"]) == ("DELETED", {"app": "x"})
    assert left["object"]["metadata"]["resourceVersion"] == changed.body["metadata"]["resourceVersion"]


async def test_one_object_is_not_watched_by_the_query(api: Api) -> None:
    await api.pod("a")
    assert (await api.get(f"{PODS}/a?watch=1")).body["kind"] == "Pod"


@pytest.mark.parametrize(
    "path",
    ["/api/v1/watch/pods", "/api/v1/watch/namespaces/default/pods", "/api/v1/watch/namespaces/default/pods/a"],
    ids=["all", "of a namespace", "of a name"],
)
async def test_the_older_paths_still_watch(api: Api, path: str) -> None:
    await api.pod("a")
    async with api.watch(f"{path}?allowWatchBookmarks=true&limit=1") as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        assert await watch.is_silent(0.05)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [("Table", "Table"), ("PartialObjectMetadata", "PartialObjectMetadata")],
    ids=["table", "partial"],
)
async def test_other_forms_of_events(api: Api, shape: str, kind: str) -> None:
    await api.pod("a")
    await api.pod("b")
    accept = {"Accept": f"application/json;as={kind};v=v1;g=meta.k8s.io"}
    async with api.session.get(f"{ALL}&allowWatchBookmarks=1", headers=accept) as response:
        events = [json.loads(await response.content.readline()) for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "ADDED", "BOOKMARK"]
    for event in events:
        assert (event["object"]["kind"], event["object"]["apiVersion"]) == (kind, "meta.k8s.io/v1")
    if kind == "Table":
        assert [bool(event["object"]["columnDefinitions"]) for event in events] == [True, False, False]

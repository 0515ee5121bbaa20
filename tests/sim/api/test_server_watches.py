"""Watches over HTTP: where they start, what they say, and how they end."""

from __future__ import annotations

import json

import pytest

from tests.sim.api_client import PODS, SCHEDULING, Api, pod, queue
from tests.support.waiting import until
from vsched.sim.api.server import ApiServer, ServerSettings
from vsched.sim.store.store import Store
from vsched.sim.writer import ObjectWriter

ALL = "/api/v1/pods?watch=1"


async def test_without_a_version_everything_there_comes_first(api: Api) -> None:
    await api.pod("a")
    async with api.watch(ALL) as watch:
        await api.pod("b")
        await api.bind("a")
        assert await watch.take(3) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a")]


async def test_from_a_version_only_later_events_come_and_always_the_same(api: Api) -> None:
    version = (await api.pod("a"))["metadata"]["resourceVersion"]
    await api.pod("b")
    await api.delete(f"{PODS}/a")
    expected = [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]
    for _ in range(2):
        async with api.watch(f"{ALL}&resourceVersion={version}") as watch:
            assert await watch.take(3) == expected


async def test_a_deleted_event_carries_the_version_of_the_deletion(api: Api, store: Store) -> None:
    await api.made("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
    async with api.watch("/api/v1/configmaps?watch=true") as watch:
        await watch.next()
        await api.delete("/api/v1/namespaces/default/configmaps/c")
        event = await watch.next()
    assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == ("DELETED", str(store.revision))


async def test_a_forgotten_version_is_an_error_event_and_the_end(api: Api, store: Store) -> None:
    await api.pod("a")
    await api.pod("b")
    store.compact(store.revision)
    async with api.watch(f"{ALL}&resourceVersion=2") as watch:
        event = await watch.next()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert event["object"]["message"].startswith("too old resource version: 2 (")
        assert await watch.ended()


async def test_a_version_of_the_future_is_silence(api: Api) -> None:
    async with api.watch(f"{ALL}&resourceVersion=99999") as watch:
        await api.pod("a")
        assert await watch.is_silent()


async def test_a_version_that_is_no_number_is_an_error(api: Api) -> None:
    assert (await api.get(f"{ALL}&resourceVersion=x")).code == 500


async def test_the_time_out_ends_a_watch_cleanly(api: Api) -> None:
    async with api.watch(f"{ALL}&timeoutSeconds=1") as watch:
        assert await watch.ended()


@pytest.mark.parametrize(
    ("query", "end"),
    [
        ("allowWatchBookmarks=true", True),
        ("allowWatchBookmarks=True&resourceVersion=0", True),
        ("allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1", True),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", False),
        ("allowWatchBookmarks=false", False),
    ],
)
async def test_the_end_of_the_initial_events_is_marked_if_bookmarks_are_allowed(
    api: Api, query: str, end: bool
) -> None:
    await api.pod("a")
    async with api.watch(f"{ALL}&{query}") as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        if not end:
            assert await watch.is_silent()
            return
        event = await watch.next()
    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert event["object"]["spec"] == {"containers": None}


@pytest.mark.parametrize("settings", [ServerSettings(bookmark_seconds=0.05)], ids=["twenty a second"])
async def test_bookmarks_come_by_themselves(api: Api) -> None:
    async with api.watch(f"{SCHEDULING}/queues?watch=1&allowWatchBookmarks=1&resourceVersion=1") as watch:
        event = await watch.next()
    assert (event["type"], event["object"]["kind"]) == ("BOOKMARK", "Queue")
    assert event["object"].keys() == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize(
    "query",
    ["sendInitialEvents=true", "resourceVersionMatch=NotOlderThan"],
    ids=["initial events without a match", "a match without initial events"],
)
async def test_a_watch_is_refused_for(api: Api, query: str) -> None:
    assert (await api.get(f"{ALL}&{query}")).code == 422


async def test_entering_and_leaving_a_selector_are_added_and_deleted(api: Api) -> None:
    await api.pod("a", labels={"app": "x"})
    async with api.watch(f"{ALL}&labelSelector=app=x") as watch:
        await watch.take(1)
        await api.patch(f"{PODS}/a", {"metadata": {"labels": {"app": "y"}}})
        left = await watch.next()
        changed = await api.patch(f"{PODS}/a", {"metadata": {"labels": {"b": "c"}}})
        await api.patch(f"{PODS}/a", {"metadata": {"labels": {"app": "x"}}})
        entered = await watch.next()
    assert (left["type"], left["object"]["metadata"]["labels"]) == ("DELETED", {"app": "x"})
    assert int(left["object"]["metadata"]["resourceVersion"]) < changed.version
    assert (entered["type"], entered["object"]["metadata"]["labels"]) == ("ADDED", {"app": "x", "b": "c"})


async def test_a_field_selector_follows_the_unbound_pods(api: Api) -> None:
    await api.pod("a")
    async with api.watch(f"{ALL}&fieldSelector=spec.nodeName=") as watch:
        await api.bind("a")
        assert await watch.take(2) == [("ADDED", "a"), ("DELETED", "a")]


async def test_a_field_selector_follows_the_pods_on_nodes(api: Api) -> None:
    await api.pod("a")
    async with api.watch(f"{ALL}&fieldSelector=spec.nodeName!=") as watch:
        await api.bind("a")
        seen = await watch.next()
        await api.patch(f"{PODS}/a", {"metadata": {"labels": {"b": "c"}}})
        assert await watch.take(1) == [("MODIFIED", "a")]
    assert (seen["type"], seen["object"]["spec"]["nodeName"]) == ("ADDED", "n1")


async def test_a_namespace_watches_its_own(api: Api) -> None:
    await api.made("/api/v1/namespaces", {"metadata": {"name": "other"}})
    async with api.watch("/api/v1/watch/namespaces/other/pods") as watch:
        await api.pod("a")
        await api.made("/api/v1/namespaces/other/pods", pod("b"))
        assert await watch.take(1) == [("ADDED", "b")]


async def test_watch_on_a_single_object_is_ignored(api: Api) -> None:
    await api.pod("a")
    assert (await api.get(f"{PODS}/a?watch=1")).body["kind"] == "Pod"


async def test_the_columns_of_a_table_come_with_the_first_event_only(api: Api) -> None:
    await api.pod("a")
    await api.pod("b")
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    async with api.session.get(ALL, headers=accept) as response:
        lines = [await response.content.readline() for _ in range(2)]
    tables = [json.loads(line)["object"] for line in lines]
    assert [table["kind"] for table in tables] == ["Table", "Table"]
    assert tables[0]["columnDefinitions"]
    assert not tables[1].get("columnDefinitions")


async def test_a_client_that_leaves_ends_its_watch(server: ApiServer, api: Api) -> None:
    async with api.watch(ALL):
        assert len(server.streams) == 1
    await until(lambda: not server.streams)


async def test_a_slow_watcher_is_ended_and_nothing_grows_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(history_revisions=50)
    writer = ObjectWriter(store)
    kind = store.registry.resource("configmaps")
    subscription = store.subscribe(kind)
    for number in range(500):
        writer.create_unchecked(kind, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"c{number}"}})
    with pytest.raises(Exception, match="too old resource version"):
        subscription.take()
    assert store.oldest(kind) > 0


async def test_queues_are_watched_like_everything_else(api: Api) -> None:
    async with api.watch(f"{SCHEDULING}/queues?watch=1") as watch:
        await api.made(f"{SCHEDULING}/queues", queue("q"))
        await api.delete(f"{SCHEDULING}/queues/q")
        assert await watch.take(2) == [("ADDED", "q"), ("DELETED", "q")]

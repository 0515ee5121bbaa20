"""Lists that come with their watches, and the way back to pages where a server does not do that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import msgspec
import orjson
import pytest
from aiohttp import web

from tests.kube.conftest import Eventually
from tests.kube.mirroring import PODS, QUICK, Mirror, Pod
from tests.kube.stub_server import Reply, StubServer, bookmark, event, page, pod, refusal, silence, status, stream
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.paths import ApiResource
from vsched.kube.watch.deltas import WatchState
from vsched.kube.watch.discovery import Served
from vsched.kube.watch.reflector import Reflector, ReflectorSettings, WatchedKind
from vsched.kube.watch.streaming import StreamedLists

IMPATIENT = msgspec.structs.replace(QUICK, streamed_seconds=0.05)
TOO_OLD = event("ERROR", status(410, "Expired", "too old resource version: 1 (593)"))
FORBIDDEN = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"


def complete(version: int) -> bytes:
    """The bookmark after the last object of a list."""
    metadata = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    return orjson.dumps({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": metadata}}) + b"\n"


LIST = (event("ADDED", pod("a", 3)), event("ADDED", pod("b", 2)), complete(7))


@asynccontextmanager
async def reflecting(
    server: StubServer, lists: StreamedLists | None = None, settings: ReflectorSettings = QUICK
) -> AsyncIterator[tuple[Reflector[Pod], Mirror, list[WatchState]]]:
    mirror, told = Mirror(), list[WatchState]()
    async with ApiClient(Connection(server.url), ClientSettings(timeout_seconds=2.0)) as client:
        reflector = Reflector(
            client,
            WatchedKind(PODS, msgspec.json.Decoder(Pod).decode, selectors={"fieldSelector": "spec.nodeName!="}),
            mirror,
            settings=settings,
            on_state=lambda statistics: told.append(statistics.state),
            streamed=lists or StreamedLists(),
        )
        task = asyncio.create_task(reflector.run())
        try:
            yield reflector, mirror, told
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_a_list_comes_with_its_watch_in_one_request(server: StubServer, eventually: Eventually) -> None:
    server.script("watch", stream(*LIST, event("ADDED", pod("c", 8)), event("DELETED", pod("a", 9)), hold=True))
    async with reflecting(server) as (reflector, mirror, told):
        await eventually(lambda: len(mirror.diary) == 3)
        assert mirror.diary == ["replace a b @7", "ADDED c @8", "DELETED a @9"]
        assert told == [WatchState.LISTING, WatchState.WATCHING]
        await eventually(reflector.synced.is_set)  # told by another task, which may have its turn after the events
        assert reflector.settled.is_set()
        statistics = reflector.statistics
        assert (statistics.lists, statistics.objects, statistics.listed, statistics.listing) == (1, 2, 2, False)
        assert reflector.version == "9"
    [only] = server.seen
    assert 300 <= int(only.query.pop("timeoutSeconds")) <= 480
    assert only.query == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "fieldSelector": "spec.nodeName!=",
    }


async def test_a_watch_that_began_with_a_list_is_resumed_from_its_version(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("watch", stream(*LIST, bookmark(12)), stream(event("ADDED", pod("c", 13)), hold=True))
    async with reflecting(server) as (_, mirror, _):
        await eventually(lambda: "c" in mirror.pods)
        assert mirror.diary == ["replace a b @7", "ADDED c @13"]
    assert [seen.query.get("resourceVersion") for seen in server.seen] == [None, "12"]


async def test_changes_before_a_list_is_complete_count(server: StubServer, eventually: Eventually) -> None:
    changes = (event("MODIFIED", pod("b", 5)), event("DELETED", pod("c", 6)))
    server.script("watch", stream(event("ADDED", pod("b", 2)), *changes, complete(7), hold=True))
    async with reflecting(server) as (reflector, mirror, _):
        await eventually(reflector.synced.is_set)
        assert mirror.pods == {"b": "5"}


async def test_broken_objects_of_a_list_are_told_after_it(server: StubServer, eventually: Eventually) -> None:
    broken = {"metadata": {"name": "bad", "namespace": "ns", "uid": "u", "resourceVersion": 5}}
    later = event("MODIFIED", broken)
    server.script("watch", stream(event("ADDED", broken), *LIST, later, hold=True))
    async with reflecting(server) as (reflector, mirror, _):
        await eventually(lambda: len(mirror.diary) == 3)
        assert mirror.diary == ["replace a b @7", "broken bad", "broken bad"]
        assert [error.delta for error in mirror.complaints] == [None, "MODIFIED"]
        assert reflector.statistics.broken == 2


async def test_a_watch_that_expires_is_followed_by_such_a_list_again(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("watch", stream(*LIST, TOO_OLD), stream(event("ADDED", pod("d", 20)), complete(21), hold=True))
    async with reflecting(server) as (reflector, mirror, _):
        await eventually(lambda: "d" in mirror.pods)
        assert mirror.diary == ["replace a b @7", "replace d @21"]
        assert reflector.statistics.relists == 1
    assert not server.of("list")


SILENT: dict[str, Reply] = {
    "it sends nothing": stream(hold=True),
    "it sends the objects and then nothing": stream(event("ADDED", pod("x", 1)), hold=True),
    "it does not answer": silence,
}
REFUSALS: dict[str, Reply] = SILENT | {
    "it refuses the parameters": refusal(422, "Invalid", FORBIDDEN),
    "it does not understand them": refusal(400, "BadRequest", "unknown parameter"),
    "it sends an ordinary bookmark": stream(event("ADDED", pod("x", 1)), bookmark(9), hold=True),
    "it ends the watch": stream(event("ADDED", pod("x", 1))),
}
TROUBLE: dict[str, Reply] = {
    "it is ill": refusal(503, "ServiceUnavailable", "etcd"),
    "we may not": refusal(403, "Forbidden", "no"),
    "its version has expired": stream(event("ADDED", pod("x", 1)), TOO_OLD),
    "it sends what nobody can read": stream(b"<html>\n", hold=True),
    "the connection is cut": stream(event("ADDED", pod("x", 1)), cut=True),
}


@pytest.mark.parametrize("told", [*REFUSALS, *TROUBLE])
async def test_where_a_list_does_not_come_with_its_watch_it_comes_in_pages(
    server: StubServer, eventually: Eventually, told: str
) -> None:
    server.script("watch", (REFUSALS | TROUBLE)[told], stream(event("ADDED", pod("c", 11)), hold=True))
    server.script("list", page(pod("a", 1), pod("b", 2)))
    lists = StreamedLists()
    async with reflecting(server, lists, IMPATIENT if told in SILENT else QUICK) as (reflector, mirror, _):
        await eventually(lambda: "c" in mirror.pods)
        assert mirror.diary == ["replace a b @10", "ADDED c @11"]
        assert reflector.statistics.lists == 1
        assert reflector.statistics.listed == 2
    asked = [seen.query for seen in server.of("watch")]
    assert ["sendInitialEvents" in query for query in asked] == [True, False]
    assert await lists.worth_trying() is (told in TROUBLE), "trouble says nothing about other kinds"


async def endless(request: web.Request) -> web.StreamResponse:
    """Objects, one after the other, and never the bookmark that says that these are all."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for version in count(1):
        await response.write(event("ADDED", pod(f"x{version}", version)))
        await asyncio.sleep(0.001)
    return response


async def test_a_list_whose_objects_never_end_comes_in_pages(server: StubServer, eventually: Eventually) -> None:
    server.script("watch", endless, stream(event("ADDED", pod("c", 11)), hold=True))
    server.script("list", page(pod("a", 1), pod("b", 2)))
    lists, bounded = StreamedLists(), msgspec.structs.replace(QUICK, streamed_most_seconds=0.05)
    async with reflecting(server, lists, bounded) as (_, mirror, _):
        await eventually(lambda: "c" in mirror.pods)
        assert mirror.diary == ["replace a b @10", "ADDED c @11"]
    assert await lists.worth_trying() is False


async def test_of_objects_that_come_twice_while_a_list_goes_on_the_last_counts(
    server: StubServer, eventually: Eventually
) -> None:
    changed = event("MODIFIED", pod("b", 6))
    again = event("ADDED", pod("a", 3)), event("ADDED", pod("b", 5)), event("ADDED", pod("a", 3))
    server.script("watch", stream(event("ADDED", pod("b", 2)), *again, changed, complete(7), hold=True))
    async with reflecting(server) as (reflector, mirror, _):
        await eventually(reflector.synced.is_set)
        assert mirror.pods == {"a": "3", "b": "6"}


async def test_of_many_reflectors_one_tries(server: StubServer, eventually: Eventually) -> None:
    refused, watched = refusal(422, "Invalid", FORBIDDEN), stream(event("ADDED", pod("c", 11)), hold=True)
    server.script("watch", refused, watched)
    server.script("list", page(pod("a", 1)))
    lists = StreamedLists()
    async with reflecting(server, lists) as (_, first, _), reflecting(server, lists) as (_, second, _):
        await eventually(lambda: "c" in first.pods and "c" in second.pods)
    assert sum("sendInitialEvents" in seen.query for seen in server.seen) == 1


async def test_what_the_server_does_not_serve_is_not_asked_for(server: StubServer, eventually: Eventually) -> None:
    async with ApiClient(Connection(server.url)) as client:
        reflector = Reflector(
            client,
            WatchedKind(ApiResource("scheduling.x", "v1", "things"), msgspec.json.Decoder(Pod).decode),
            Mirror(),
            settings=msgspec.structs.replace(QUICK, missing_seconds=600.0, seldom_served=True),
            streamed=StreamedLists(),
        )
        reflector.begin_with(Served(frozenset({"apps/v1"})))
        task = asyncio.create_task(reflector.run())
        try:
            await eventually(reflector.settled.is_set)
        finally:
            task.cancel()
            await asyncio.wait([task])
    assert server.seen == []

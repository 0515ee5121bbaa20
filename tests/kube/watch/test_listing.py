"""A list of several pages: told piece by piece, with its watch open meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web

from tests.kube.conftest import Eventually
from tests.kube.mirroring import PODS, QUICK, Mirror, Pod
from tests.kube.stub_server import Reply, StubServer, event, page, pod, refusal, status, stream
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.watch.deltas import BrokenObject, Delta, PartsSink, Sink
from vsched.kube.watch.reflector import Reflector, WatchedKind

EXPIRED = refusal(410, "Expired", "The provided continue parameter is too old")
TOO_OLD = event("ERROR", status(410, "Expired", "too old resource version: 7 (9)"))


class Diary:
    """A sink that is told piece by piece, and writes down what it is told."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.complaints: list[BrokenObject] = []

    def restart(self) -> None:
        self.pages.append("restart")

    def include(self, item: Pod) -> None:
        self.pages.append(item.metadata.name)

    def finish(self, resource_version: str) -> Iterator[None]:
        for step in ("gone", "gone too"):
            self.pages.append(step)
            yield
        self.pages.append(f"finish @{resource_version}")

    def apply(self, delta: Delta, item: Pod) -> None:
        self.pages.append(f"{delta} {item.metadata.name}")

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        self.pages.append(f"broken {error.identity.name}")


@asynccontextmanager
async def following(server: StubServer, sink: Sink[Pod] | PartsSink[Pod]) -> AsyncIterator[Reflector[Pod]]:
    async with ApiClient(Connection(server.url)) as client:
        reflector = Reflector(client, WatchedKind(PODS, msgspec.json.Decoder(Pod).decode), sink, settings=QUICK)
        task = asyncio.create_task(reflector.run())
        try:
            yield reflector
        finally:
            assert not task.done(), task
            task.cancel()
            await asyncio.wait([task])


def once(opened: asyncio.Event, reply: Reply) -> Reply:
    """The answer, but only once somebody says so."""

    async def held(request: web.Request) -> web.StreamResponse:
        await opened.wait()
        return await reply(request)

    return held


CHANGES = [event("MODIFIED", pod("b", 8)), event("DELETED", pod("a", 9))]


async def test_changes_are_told_while_pages_are_still_to_come(server: StubServer, eventually: Eventually) -> None:
    opened, diary = asyncio.Event(), Diary()
    server.script("list", page(pod("a", 1), version=7, token="t"), once(opened, page(pod("b", 2), version=7)))
    server.script("watch", stream(*CHANGES, hold=True))
    async with following(server, diary) as reflector:
        await eventually(lambda: len(diary.pages) == 4)
        assert diary.pages == ["restart", "a", "MODIFIED b", "DELETED a"]
        assert not reflector.synced.is_set()
        assert (reflector.statistics.listing, reflector.statistics.listed) == (True, 1)
        opened.set()
        await eventually(reflector.synced.is_set)
        assert diary.pages[4:] == ["b", "gone", "gone too", "finish @7"]
        assert not reflector.statistics.listing
        assert len(server.of("list")) == 2
        assert [seen.query["resourceVersion"] for seen in server.of("watch")] == ["7"]


async def test_a_sink_of_whole_lists_is_told_of_such_changes_after_the_list(
    server: StubServer, eventually: Eventually
) -> None:
    opened, mirror = asyncio.Event(), Mirror()
    server.script("list", page(pod("a", 1), version=7, token="t"), once(opened, page(pod("b", 2), version=7)))
    broken = event("ADDED", {"metadata": {"name": 5}})
    server.script("watch", stream(*CHANGES, broken, hold=True))
    async with following(server, mirror) as reflector:
        await eventually(lambda: reflector.statistics.events == 3)
        assert mirror.diary == []
        opened.set()
        await eventually(lambda: len(mirror.diary) == 4)
        assert mirror.diary == ["replace a b @7", "MODIFIED b @8", "DELETED a @9", "broken "]


FAILURES: dict[str, tuple[Reply, list[Reply]]] = {
    "as its pages expire": (EXPIRED, [stream(hold=True)]),
    "as the server is overrun": (refusal(503, "ServiceUnavailable", "later"), [stream(hold=True)]),
    "with its watch": (refusal(500, "InternalError", "oh"), [stream(TOO_OLD), stream(hold=True)]),
}


@pytest.mark.parametrize(("failure", "watches"), FAILURES.values(), ids=FAILURES)
async def test_a_list_that_fails_is_told_again_from_the_start(
    server: StubServer, eventually: Eventually, failure: Reply, watches: list[Reply]
) -> None:
    diary = Diary()
    server.script("list", page(pod("a", 1), version=7, token="t"), failure, page(pod("b", 2), version=9))
    server.script("watch", *watches)
    async with following(server, diary) as reflector:
        await eventually(reflector.synced.is_set)
        assert diary.pages == ["restart", "a", "restart", "b", "gone", "gone too", "finish @9"]
        assert reflector.statistics.lists == 1
        assert reflector.statistics.objects == 1


async def test_a_watch_that_is_lost_during_its_list_costs_another_list_after_it(
    server: StubServer, eventually: Eventually
) -> None:
    opened, diary = asyncio.Event(), Diary()
    server.script(
        "list",
        page(pod("a", 1), version=7, token="t"),
        once(opened, page(pod("b", 2), version=7)),
        page(pod("c", 20), version=20),
    )
    server.script("watch", stream(TOO_OLD), stream(hold=True))
    async with following(server, diary) as reflector:
        await eventually(lambda: len(server.of("watch")) == 1)
        opened.set()
        await eventually(lambda: reflector.statistics.lists == 2)
        assert [line for line in diary.pages if line.startswith("finish")] == ["finish @7", "finish @20"]
        assert diary.pages.index("b") < diary.pages.index("finish @7") < diary.pages.index("c")


async def test_how_far_a_list_is_and_how_far_it_will_go_can_be_told(server: StubServer, eventually: Eventually) -> None:
    opened = asyncio.Event()

    async def first(request: web.Request) -> web.StreamResponse:
        metadata = {"resourceVersion": "7", "continue": "t", "remainingItemCount": 41}
        return web.json_response({"metadata": metadata, "items": [pod("a", 1)]})

    server.script("list", first, once(opened, page(*(pod(f"p{number}", 2) for number in range(41)), version=7)))
    server.script("watch", stream(hold=True))
    async with following(server, Diary()) as reflector:
        statistics = reflector.statistics
        await eventually(lambda: statistics.listed == 1)
        assert (statistics.expected, statistics.objects) == (42, 0)
        opened.set()
        await eventually(reflector.synced.is_set)
        assert (statistics.listed, statistics.expected, statistics.objects) == (42, 42, 42)
        assert statistics.list_seconds > 0


async def test_the_loop_turns_while_a_page_is_taken_in_and_while_what_is_gone_goes(
    server: StubServer, eventually: Eventually
) -> None:
    class Slow(Diary):
        def include(self, item: Pod) -> None:
            time.sleep(0.003)

        def finish(self, resource_version: str) -> Iterator[None]:
            for _ in range(20):
                time.sleep(0.003)
                yield

    server.script("list", page(*(pod(f"p{n}", 1) for n in range(20)), version=7))
    server.script("watch", stream(hold=True))
    turns = 0
    async with following(server, Slow()) as reflector:
        while not reflector.synced.is_set():
            await asyncio.sleep(0)
            turns += reflector.statistics.listed > 0
    assert turns >= 40, "a turn after each piece of work that is longer than a slice"


async def test_the_next_page_is_asked_for_while_one_is_taken(server: StubServer, eventually: Eventually) -> None:
    seen: list[int] = []

    class Counting(Diary):
        def include(self, item: Pod) -> None:
            seen.append(len(server.of("list")))

    settings = msgspec.structs.replace(QUICK, slice_seconds=0.0)
    server.script("list", page(*(pod(f"p{n}", 1) for n in range(200)), version=7, token="t"), page(version=7))
    server.script("watch", stream(hold=True))
    async with ApiClient(Connection(server.url)) as client:
        reflector = Reflector(
            client, WatchedKind(PODS, msgspec.json.Decoder(Pod).decode), Counting(), settings=settings
        )
        task = asyncio.create_task(reflector.run())
        await eventually(reflector.synced.is_set)
        task.cancel()
        await asyncio.wait([task])
    assert seen[0] == 1
    assert seen[-1] == 2, "the second page was asked for before the first one was taken in"

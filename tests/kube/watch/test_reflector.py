"""The reflector: lists, watches, resumes and starts over, and what it tells its sink meanwhile."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import orjson
import pytest

from tests.kube.conftest import Eventually
from tests.kube.mirroring import PODS, QUICK, Mirror, Pod
from tests.kube.stub_server import (
    Reply,
    StubServer,
    body,
    bookmark,
    event,
    hang_up,
    page,
    pod,
    refusal,
    silence,
    status,
    stream,
)
from vsched.errors import BadObject
from vsched.kube.auth.connection import Connection
from vsched.kube.backoff import BackOffSettings
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.errors import NotFound
from vsched.kube.paths import ApiResource
from vsched.kube.watch.deltas import Delta, WatchState
from vsched.kube.watch.discovery import Served
from vsched.kube.watch.reflector import Reflector, ReflectorSettings, WatchedKind
from vsched.kube.words import watching as words

EXPIRED = refusal(410, "Expired", "The provided continue parameter is too old")
TOO_OLD = event("ERROR", status(410, "Expired", "too old resource version: 1 (593)"))


class Watching:
    """A running reflector and all there is to look at."""

    def __init__(self, reflector: Reflector[Pod], mirror: Mirror, told: list[tuple[WatchState, str]]) -> None:
        self.reflector = reflector
        self.mirror = mirror
        self.told = told
        self.statistics = reflector.statistics


@asynccontextmanager
async def reflecting(
    server: StubServer,
    settings: ReflectorSettings = QUICK,
    decode: Callable[[bytes], Pod] | None = None,
    resource: ApiResource = PODS,
    served: set[str] | None = None,
    **more: Any,
) -> AsyncIterator[Watching]:
    mirror, told = Mirror(), list[tuple[WatchState, str]]()
    async with ApiClient(Connection(server.url), ClientSettings(timeout_seconds=2.0)) as client:
        reflector = Reflector(
            client,
            WatchedKind(resource, decode or msgspec.json.Decoder(Pod).decode, **more),
            mirror,
            settings=settings,
            on_state=lambda statistics: told.append((statistics.state, statistics.problem)),
        )
        reflector.begin_with(None if served is None else Served(frozenset(served)))
        task = asyncio.create_task(reflector.run())
        try:
            yield Watching(reflector, mirror, told)
        finally:
            assert not task.done(), task
            task.cancel()
            await asyncio.wait([task])
            assert reflector.statistics.state is WatchState.STOPPED


async def test_a_list_comes_in_pages_and_a_watch_follows_from_its_version(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", page(pod("a", 1), version=7, token="next"), page(pod("b", 2), version=7))
    server.script("watch", stream(event("ADDED", pod("c", 8)), event("DELETED", pod("a", 9)), hold=True))
    async with reflecting(server, selectors={"fieldSelector": "spec.nodeName!="}) as running:
        await eventually(lambda: len(running.mirror.diary) == 3)
        assert running.mirror.diary == ["replace a b @7", "ADDED c @8", "DELETED a @9"]
        assert running.told == [(WatchState.LISTING, ""), (WatchState.WATCHING, "")]
        assert running.reflector.synced.is_set()
        assert running.statistics.objects == 2
        assert running.statistics.last_event_monotonic is not None
    first, second = server.of("list")
    assert first.query == {"limit": "500", "fieldSelector": "spec.nodeName!="}
    assert second.query == {"limit": "500", "continue": "next", "fieldSelector": "spec.nodeName!="}
    [watch] = server.of("watch")
    assert 300 <= int(watch.query.pop("timeoutSeconds")) <= 480
    assert watch.query == {
        "watch": "1",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "fieldSelector": "spec.nodeName!=",
    }


async def test_an_empty_list_of_a_namespace_is_a_list(server: StubServer, eventually: Eventually) -> None:
    server.script("list", body({"kind": "PodList", "metadata": {"resourceVersion": "3"}, "items": None}))
    server.script("watch", stream(hold=True))
    async with reflecting(server, namespace="ns") as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING)
        assert running.mirror.diary == ["replace  @3"]
    assert {seen.path for seen in server.seen} == {"/api/v1/namespaces/ns/pods"}


async def test_a_continue_that_expired_starts_the_list_over(server: StubServer, eventually: Eventually) -> None:
    server.script("list", page(pod("a", 1), version=5, token="t"), EXPIRED, page(pod("b", 2), version=9))
    server.script("watch", stream(hold=True))
    async with reflecting(server) as running:
        await eventually(running.reflector.synced.is_set)
        assert running.mirror.diary == ["replace b @9"]
        assert running.statistics.lists == 1


async def test_pages_that_keep_expiring_give_way_to_one_answer(server: StubServer, eventually: Eventually) -> None:
    torn = page(pod("a", 1), token="t")
    server.script("list", torn, EXPIRED, torn, EXPIRED)
    server.script("call", page(pod("a", 1), pod("b", 2), version=9))
    server.script("watch", stream(hold=True))
    async with reflecting(server) as running:
        await eventually(running.reflector.synced.is_set)
        assert running.mirror.diary == ["replace a b @9"]


async def test_one_answer_that_is_no_list_is_told_and_asked_for_again(
    server: StubServer, eventually: Eventually
) -> None:
    torn = page(pod("a", 1), token="t")
    server.script("list", torn, EXPIRED, torn, EXPIRED)
    server.script("call", body({"hello": 1}), refusal(500, "InternalError", "etcd"), page(pod("b", 2), version=9))
    server.script("watch", stream(hold=True))
    async with reflecting(server) as running:
        await eventually(running.reflector.synced.is_set)
        assert running.mirror.diary == ["replace b @9"]
    for problem in ("not a list", "etcd"):
        assert any(problem in why for _, why in running.told)


RESUMES: dict[str, tuple[list[bytes], bool, str]] = {
    "after an event from its version": ([event("ADDED", pod("b", 21))], False, "21"),
    "after a bookmark from its version": ([event("ADDED", pod("b", 21)), bookmark(40)], False, "40"),
    "after a dropped connection from the last whole event": (
        [event("ADDED", pod("b", 21)), event("ADDED", pod("c", 22))[:-9]],
        True,
        "21",
    ),
    "after a broken object from its version": (
        [event("ADDED", pod("b", 21)), event("MODIFIED", {"metadata": {"name": 5, "resourceVersion": "23"}})],
        False,
        "23",
    ),
    "after an object without a version from the one before": (
        [event("ADDED", pod("b", 21)), event("MODIFIED", {"metadata": {"name": 5}})],
        False,
        "21",
    ),
    "without events from the list": ([], False, "10"),
}


@pytest.mark.parametrize(("chunks", "cut", "version"), RESUMES.values(), ids=RESUMES)
async def test_a_watch_that_ends_is_resumed(
    server: StubServer, eventually: Eventually, chunks: list[bytes], cut: bool, version: str
) -> None:
    server.script("list", page(pod("a", 1), version=10))
    server.script("watch", stream(*chunks, cut=cut), stream(event("ADDED", pod("z", 99)), hold=True))
    async with reflecting(server) as running:
        await eventually(lambda: "z" in running.mirror.pods)
        assert running.statistics.restarts == 1
        assert running.statistics.relists == 0
        assert "c" not in running.mirror.pods
    assert [seen.query["resourceVersion"] for seen in server.of("watch")] == ["10", version]
    assert len(server.of("list")) == 1


START_OVERS: dict[str, list[Reply]] = {
    "the version is too old": [stream(TOO_OLD, hold=True)],
    "the version is too old at once": [EXPIRED],
    "the watch fails with an event": [stream(event("ERROR", status(500, "InternalError", "oh")), hold=True)],
    "the kind is gone for a while": [refusal(404, "NotFound", "no such thing")],
    "the server keeps refusing the watch": [refusal(504, "Timeout", "too large a version")] * 3,
    "watches keep falling silent": [stream(hold=True)] * 3,
    "a line is no event": [stream(b"{]\n", hold=True)],
    "a line is no event after one that is": [stream(event("ADDED", pod("d", 11)) + b"{]\n", hold=True)],
    "a line is an event of an unknown type": [stream(b'{"type":"X","object":{}}\n', hold=True)],
    "a line is a page": [stream(b"<html>\n", hold=True)],
    "a line is an error nobody can read": [
        stream(b'{"type":"ERROR","object":{"code":' + b"9" * 400 + b"}}\n", hold=True)
    ],
    "a proxy answers with a page": [body(b"<html>\n</html>", content_type="text/html")] * 3,
}


@pytest.mark.parametrize("replies", START_OVERS.values(), ids=START_OVERS)
async def test_a_watch_that_is_lost_is_followed_by_a_new_list(
    server: StubServer, eventually: Eventually, replies: list[Reply]
) -> None:
    server.script("list", page(pod("a", 1), version=10), page(pod("b", 2), version=20))
    server.script("watch", *replies, stream(event("ADDED", pod("c", 21)), hold=True))
    # An answer that a busy machine holds up for longer than this is lost, and counts for nothing.
    settings = msgspec.structs.replace(QUICK, silence_seconds=0.3)
    async with reflecting(server, settings) as running:
        await eventually(lambda: "c" in running.mirror.pods)
        told = [line for line in running.mirror.diary if line != "ADDED d @11"]
        assert told[:3] == ["replace a @10", "replace b @20", "ADDED c @21"]
        assert running.statistics.relists >= 1


async def test_a_silent_connection_is_noticed_and_the_watch_resumed(server: StubServer, eventually: Eventually) -> None:
    server.script("list", page(version=10))
    server.script(
        "watch",
        stream(event("ADDED", pod("a", 11)), hold=True),
        stream(event("ADDED", pod("b", 12)), hold=True),
    )
    async with reflecting(server, msgspec.structs.replace(QUICK, silence_seconds=0.05)) as running:
        await eventually(lambda: "b" in running.mirror.pods)
        assert WatchState.UNAVAILABLE in dict(running.told)
        assert running.statistics.relists == 0
    assert [seen.query["resourceVersion"] for seen in server.of("watch")][:2] == ["10", "11"]


TROUBLE: dict[str, tuple[list[Reply], WatchState, str]] = {
    "a kind that is not there yet": (
        [refusal(404, "NotFound", "the server could not find the requested resource")] * 4,
        WatchState.MISSING,
        "404 NotFound",
    ),
    "a group that is not there yet": (
        [body(b"404 page not found", 404, "text/plain")],
        WatchState.MISSING,
        "404: 404 page",
    ),
    "a storage that is not ready": (
        [refusal(429, "TooManyRequests", "storage is (re)initializing", headers={"Retry_After": "1"})] * 2,
        WatchState.UNAVAILABLE,
        "storage is (re)initializing",
    ),
    "a right that is missing": ([refusal(403, "Forbidden", "no")] * 3, WatchState.REFUSED, "403 Forbidden: no"),
    "credentials nobody knows": ([refusal(401, "Unauthorized", "who?")] * 2, WatchState.REFUSED, "401 Unauthorized"),
    "a server that fails": ([refusal(500, "InternalError", "etcd")] * 3, WatchState.UNAVAILABLE, "500 InternalError"),
    "a server that hangs up": ([hang_up] * 3, WatchState.UNAVAILABLE, "isconnected"),
    "a web page": ([body(b"<html>")], WatchState.UNAVAILABLE, "a web page, not JSON"),
    "something else in JSON": ([body({"hello": 1})], WatchState.UNAVAILABLE, "not a list"),
    "a list without a version": ([page(version="")], WatchState.UNAVAILABLE, "no resourceVersion"),
    "no answer": ([silence], WatchState.UNAVAILABLE, "no answer within"),
}


@pytest.mark.parametrize(("replies", "state", "problem"), TROUBLE.values(), ids=TROUBLE)
async def test_trouble_with_listing_is_told_and_waited_out(
    server: StubServer, eventually: Eventually, replies: list[Reply], state: WatchState, problem: str
) -> None:
    server.script("list", *replies, page(pod("a", 1)))
    server.script("watch", stream(hold=True))
    settings = msgspec.structs.replace(QUICK, list_timeout_seconds=0.2)
    async with reflecting(server, settings) as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING)
        assert any(told is state and problem in why for told, why in running.told), running.told
        assert running.statistics.problem == ""
        assert running.mirror.diary == ["replace a @10"]


async def test_a_kind_that_stays_away_is_settled_but_not_synced(server: StubServer) -> None:
    server.script("list", refusal(404, "NotFound", "no"))
    async with reflecting(server) as running:
        await asyncio.wait_for(running.reflector.settled.wait(), 60)
        assert not running.reflector.synced.is_set()
        assert not running.statistics.synced


NEW, OLD = (ApiResource("example.com", version, "things", namespaced=False) for version in ("v2", "v1"))


async def test_where_the_newest_version_is_not_served_an_older_one_is_read(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", refusal(404, "NotFound", "no"), page(pod("a", 1), version=7))
    server.script("watch", stream(event("ADDED", pod("b", 8)), hold=True))
    async with reflecting(server, resource=NEW, older=[OLD]) as running:
        await eventually(lambda: len(running.mirror.diary) == 2)
        assert [seen.path for seen in server.seen] == [NEW.path(), OLD.path(), OLD.path()]
        assert running.told == [(WatchState.LISTING, ""), (WatchState.WATCHING, "")], "nothing is missing"


async def test_errors_of_kinds_that_are_not_served_are_freed_at_once(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", refusal(404, "NotFound", "no"))

    def errors() -> set[int]:
        return {id(one) for one in gc.get_objects() if isinstance(one, NotFound)}

    gc.disable()  # whoever puts survivors aside finds reference cycles hours later
    try:
        before = errors()
        async with reflecting(server, resource=NEW, older=[OLD]):
            await eventually(lambda: len(server.seen) > 20)
            assert len(errors() - before) <= 2, "none but those at work"
    finally:
        gc.enable()


async def test_where_no_version_is_served_the_newest_one_is_named(server: StubServer, eventually: Eventually) -> None:
    server.script("list", refusal(404, "NotFound", "no"))
    async with reflecting(server, resource=NEW, older=[OLD]) as running:
        await eventually(lambda: len(server.seen) >= 4)
        assert [seen.path for seen in server.seen[:4]] == [NEW.path(), OLD.path()] * 2
        assert f"GET {NEW.path()}" in running.statistics.problem


@pytest.mark.parametrize(
    ("served", "asked"),
    [
        pytest.param(None, [NEW, OLD, OLD], id="the server does not say what it serves"),
        pytest.param({"example.com/v2", "example.com/v1"}, [NEW, OLD, OLD], id="it serves the group and version"),
        pytest.param({"example.com/v1"}, [OLD, OLD], id="it serves the older one alone"),
    ],
)
async def test_a_version_that_the_server_says_it_does_not_serve_is_not_asked_for(
    server: StubServer, eventually: Eventually, served: set[str] | None, asked: list[ApiResource]
) -> None:
    server.script("list", *[refusal(404, "NotFound", "no")] * (len(asked) - 2), page(version=7))
    server.script("watch", stream(hold=True))
    async with reflecting(server, resource=NEW, older=[OLD], served=served) as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING)
        assert [seen.path for seen in server.seen] == [resource.path() for resource in asked]


async def test_what_the_server_does_not_serve_at_first_is_missing_until_it_does(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", page(pod("a", 1)))
    server.script("watch", stream(hold=True))
    async with reflecting(server, resource=NEW, older=[OLD], served={"apps/v1"}) as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING)
        assert [state for state, _ in running.told] == [WatchState.LISTING, WatchState.MISSING, WatchState.WATCHING]
        assert running.told[1][1].endswith(f"GET {NEW.path()}: 404: " + words.not_served("example.com/v2"))


async def test_the_core_group_is_always_asked_for(server: StubServer, eventually: Eventually) -> None:
    server.script("list", page(pod("a", 1)))
    server.script("watch", stream(hold=True))
    async with reflecting(server, served={"apps/v1"}) as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING)
        assert WatchState.MISSING not in [state for state, _ in running.told]


async def test_a_kind_that_is_seldom_served_is_not_asked_for_more_often_at_first(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", refusal(404, "NotFound", "no"))
    settings = msgspec.structs.replace(QUICK, seldom_served=True, missing_seconds=0.1)
    began = time.monotonic()
    async with reflecting(server, settings) as running:
        await eventually(lambda: len(server.seen) >= 4)
        assert time.monotonic() - began > 3 * 0.5 * settings.missing_seconds
        assert running.statistics.state is WatchState.MISSING


async def test_a_complaint_is_told_once_however_often_it_comes(server: StubServer, eventually: Eventually) -> None:
    server.script("list", *[refusal(404, "NotFound", "no")] * 10, page())
    server.script("watch", stream(hold=True))
    async with reflecting(server) as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING)
        assert [state for state, _ in running.told] == [WatchState.LISTING, WatchState.MISSING, WatchState.WATCHING]


async def test_broken_objects_are_left_out_and_named(server: StubServer, eventually: Eventually) -> None:
    broken = {"metadata": {"name": "bad", "namespace": "ns", "uid": "u", "resourceVersion": 5}}
    nameless = {"metadata": []}
    server.script("list", page(pod("a", 1), broken, pod("b", 2)))
    server.script(
        "watch",
        stream(
            event("ADDED", pod("c", 11)),
            event("DELETED", broken),
            event("ADDED", nameless),
            b'{"type":"ADDED","object":7}\n',
            event("ADDED", pod("d", 12)),
            hold=True,
        ),
    )
    async with reflecting(server) as running:
        await eventually(lambda: "d" in running.mirror.pods)
        assert running.mirror.diary == [
            "replace a b @10",
            "broken bad",
            "ADDED c @11",
            "broken bad",
            "broken ",
            "broken ",
            "ADDED d @12",
        ]
        listed, deleted, unnamed, _ = running.mirror.complaints
        assert (listed.delta, deleted.delta) == (None, Delta.DELETED)
        assert deleted.identity[:3] == ("ns", "bad", "u")
        assert str(listed).startswith("pods ns/bad: must be a string, is an integer")
        assert str(unnamed).startswith("pods (no name): ")
        assert running.statistics.broken == 4
        assert running.statistics.restarts == 0


async def test_a_decoder_may_refuse_in_its_own_words(server: StubServer, eventually: Eventually) -> None:
    def decode(raw: bytes) -> Pod:
        found = msgspec.json.decode(raw, type=Pod)
        if found.metadata.name == "b":
            raise BadObject("not this one")
        return found

    server.script("list", page(pod("a", 1), pod("b", 2)))
    server.script("watch", stream(hold=True))
    async with reflecting(server, decode=decode) as running:
        await eventually(lambda: running.mirror.complaints)
        assert str(running.mirror.complaints[0]) == "pods ns/b: not this one"
        assert list(running.mirror.pods) == ["a"]


async def test_a_line_of_megabytes_in_small_chunks_arrives_whole(server: StubServer, eventually: Eventually) -> None:
    huge = event("ADDED", pod("huge", 11, padding="x" * (3 << 20))) + event("ADDED", pod("next", 12))
    server.script("list", page())
    server.script("watch", stream(*(huge[at : at + 50_000] for at in range(0, len(huge), 50_000)), hold=True))
    async with reflecting(server) as running:
        await eventually(lambda: list(running.mirror.pods) == ["huge", "next"])
        assert running.statistics.restarts == 0


async def test_a_server_that_was_restored_from_a_backup_is_noticed_though_its_watch_says_nothing(
    server: StubServer, eventually: Eventually
) -> None:
    server.script(
        "list", page(pod("a", 990), version=1000), page(version=99), page(version=99), page(pod("b", 98), version=99)
    )
    server.script("watch", stream(hold=True))
    async with reflecting(
        server, msgspec.structs.replace(QUICK, look_seconds=(0.02, 0.03), silence_seconds=60)
    ) as running:
        await eventually(lambda: list(running.mirror.pods) == ["b"])
        assert "is at version 99 and was at 1000 before" in dict(running.told)[WatchState.UNAVAILABLE]
        await eventually(lambda: len(server.of("list")) > 6)
        assert running.statistics.relists == 1
        assert running.statistics.state is WatchState.WATCHING
    assert [seen.query["resourceVersion"] for seen in server.of("watch")] == ["1000", "99"]


async def test_what_a_restored_server_has_lost_is_noticed_by_a_later_list_though_its_versions_overtook_ours(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", page(pod("kept", 1), pod("ghost", 2), version=7), page(pod("kept", 1), version=9))
    server.script("watch", stream(event("MODIFIED", pod("kept", 8)), hold=True), stream(hold=True))
    settings = msgspec.structs.replace(QUICK, again_seconds=(0.2, 0.3), look_seconds=(60, 60), silence_seconds=60)
    async with reflecting(server, settings) as running:
        await eventually(lambda: running.mirror.pods == {"kept": "8", "ghost": "2"})
        await eventually(lambda: running.mirror.pods == {"kept": "1"})
        assert WatchState.UNAVAILABLE not in [state for state, _ in running.told]


@pytest.mark.parametrize(
    ("outage_seconds", "pods"),
    [
        pytest.param(0.0, {"b": "12"}, id="a long one"),
        pytest.param(60.0, {"a": "11"}, id="not a short one"),
    ],
)
async def test_after_an_outage_the_server_may_be_a_restored_one(
    server: StubServer, eventually: Eventually, outage_seconds: float, pods: dict[str, str]
) -> None:
    """Its versions have overtaken ours, and it does not tell that a pod is not there any more."""
    server.script("list", page(pod("a", 1), version=10), page(pod("b", 12), version=20))
    server.script("watch", stream(event("MODIFIED", pod("a", 11)), cut=True), hang_up, hang_up, stream(hold=True))
    settings = msgspec.structs.replace(QUICK, outage_seconds=outage_seconds, look_seconds=(60, 60), silence_seconds=60)
    async with reflecting(server, settings) as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING and len(server.of("watch")) >= 4)
        await eventually(lambda: running.mirror.pods == pods)
        assert running.statistics.relists == ("b" in pods)


@pytest.mark.parametrize(
    "later",
    [
        [page(version=10)],
        [page(version=9), page(version=12)],
        [page(version="x7")],
        [refusal(500, "InternalError", "no")],
    ],
    ids=["no change", "an answer that was late", "no number", "no answer"],
)
async def test_a_server_that_was_not_restored_is_not_listed_again(
    server: StubServer, eventually: Eventually, later: list[Reply]
) -> None:
    server.script("list", page(pod("a", 1), version=10), *later)
    server.script("watch", stream(event("ADDED", pod("b", 5)), hold=True))
    async with reflecting(
        server, msgspec.structs.replace(QUICK, look_seconds=(0.01, 0.02), silence_seconds=60)
    ) as running:
        await eventually(lambda: len(server.of("list")) > 6)
        assert (running.statistics.relists, sorted(running.mirror.pods)) == (0, ["a", "b"])
    assert all(seen.query["limit"] == "1" for seen in server.of("list")[1:])


async def test_a_server_that_keeps_sending_lines_nobody_can_read_is_asked_ever_less(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", page(version=10))
    server.script("watch", stream(event("ADDED", pod("a", 11)) + b"{]\n", hold=True))
    slow = BackOffSettings(first_seconds=0.02, ceiling_seconds=10.0)
    began = time.monotonic()
    async with reflecting(server, msgspec.structs.replace(QUICK, garbled=slow)) as running:
        await eventually(lambda: len(server.of("watch")) == 5)
        assert "a line that is not a watch event" in dict(running.told)[WatchState.UNAVAILABLE]
    assert time.monotonic() - began >= (0.02 + 0.04 + 0.08 + 0.16) / 2


def holding(value: bytes) -> bytes:
    """A pod with this in a field that nobody reads, and a good name."""
    return orjson.dumps(pod("b", 12)).replace(b'"spec":{}', b'"spec":{"x":' + value + b"}")


HOSTILE = {
    "nested two thousand deep": b"[" * 2000 + b"]" * 2000,
    "maps nested two thousand deep": b'{"a":' * 2000 + b"1" + b"}" * 2000,
    "no number": b"NaN",
    "no finite number": b"-Infinity",
    "half of a surrogate pair": b'"\\ud800"',
    "an unknown escape": b'"\\x41"',
    "a control character": b'"a\x01b"',
    "bytes that are no text": b'"\xff\xfe"',
    "a number of 400 digits": b"9" * 400,
    "a number of 5000 digits": b"9" * 5000,
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
async def test_what_one_object_holds_keeps_no_other_from_being_listed_or_watched(
    server: StubServer, eventually: Eventually, value: bytes
) -> None:
    listed = orjson.dumps({"metadata": {"resourceVersion": "10"}, "items": [pod("a", 1), "@", pod("c", 3)]})
    server.script("list", body(listed.replace(b'"@"', holding(value))))
    watched = b'{"type":"MODIFIED","object":' + holding(value) + b"}\n" + event("ADDED", pod("d", 13))
    server.script("watch", stream(watched, hold=True))
    async with reflecting(server) as running:
        await eventually(lambda: "d" in running.mirror.pods)
        assert {"a", "c", "d"} <= running.mirror.pods.keys()
        assert "b" in running.mirror.pods or running.mirror.complaints
        assert running.statistics.relists == 0


async def test_a_line_beyond_the_bound_ends_the_watch(server: StubServer, eventually: Eventually) -> None:
    server.script("list", page(version=10), page(version=20))
    server.script("watch", stream(b"x" * 2000, hold=True), stream(event("ADDED", pod("a", 21)), hold=True))
    async with reflecting(server, msgspec.structs.replace(QUICK, line_bytes=1000)) as running:
        await eventually(lambda: "a" in running.mirror.pods)
        assert running.statistics.relists == 1


async def test_a_server_that_hangs_up_at_once_is_not_hammered(server: StubServer, eventually: Eventually) -> None:
    server.script("list", page())
    server.script("watch", stream())
    slow = BackOffSettings(first_seconds=0.02, ceiling_seconds=10.0)
    began = time.monotonic()
    async with reflecting(server, msgspec.structs.replace(QUICK, back_off=slow)):
        await eventually(lambda: len(server.of("watch")) == 5)
    assert time.monotonic() - began >= (0.02 + 0.04 + 0.08 + 0.16) / 2


async def test_the_loop_turns_while_a_burst_is_taken(server: StubServer, eventually: Eventually) -> None:
    burst = b"".join(event("ADDED", pod(f"p{number}", number, padding="x" * 2000)) for number in range(3000))
    server.script("list", page())
    server.script("watch", stream(burst, hold=True))
    turns = 0

    async def spin() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with reflecting(server, msgspec.structs.replace(QUICK, slice_seconds=0.0)) as running:
        await eventually(lambda: running.statistics.state is WatchState.WATCHING or running.statistics.events)
        spinner = asyncio.create_task(spin())
        await eventually(lambda: len(running.mirror.pods) == 3000)
        spinner.cancel()
        await asyncio.wait([spinner])
    assert turns > 1000


async def test_odd_but_legal_framing_is_understood(server: StubServer, eventually: Eventually) -> None:
    swapped = b'{"object": ' + orjson.dumps(pod("a", 11)) + b', "type": "ADDED", "extra": 1}\r\n\n\n'
    server.script("list", page())
    server.script("watch", stream(swapped, hold=True))
    async with reflecting(server) as running:
        await eventually(lambda: "a" in running.mirror.pods)


async def test_a_list_that_is_asked_for_comes_though_the_watch_goes_well(
    server: StubServer, eventually: Eventually
) -> None:
    server.script("list", page(pod("a", 1), version=10), page(pod("b", 2), version=20))
    server.script("watch", *[stream(event("ADDED", pod("c", 21)), hold=True)] * 2)
    async with reflecting(server, msgspec.structs.replace(QUICK, look_seconds=(60, 60))) as running:
        await eventually(lambda: "c" in running.mirror.pods)
        running.reflector.list_again()
        await eventually(lambda: "b" in running.mirror.pods)
        assert running.statistics.relists == 1

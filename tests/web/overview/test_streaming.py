"""Pictures over real connections: who is sent what, and what becomes of those who are slow, gone, or too many."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.support.asking import Lines, ask, hello
from tests.support.overviews import RESOURCES, job, picture
from tests.support.waiting import until
from tests.support.watching import watching
from vsched.clock import FakeClock, SystemClock
from vsched.web.overview.deltas import delta
from vsched.web.overview.document import Overview
from vsched.web.overview.events import event
from vsched.web.overview.feed import MOST_DELTAS, MOST_WATCHERS, OverviewFeed
from vsched.web.overview.streaming import overview_routes
from vsched.web.serve.access import Access, AllowList
from vsched.web.serve.limits import Limits, Port
from vsched.web.serve.tokens import TokenTable
from vsched.web.words import answers as words

LARGE = [f"{number:05}-{'x' * 20_000}" for number in range(400)]
"""Names that make a picture of sixteen million bytes: more than the system buffers."""
LATEST = 1 << 17
"""Of what was read, that is looked through for the last picture: ``resources`` are at its beginning."""


class Shown:
    """A feed that is told what to show."""

    def __init__(self, feed: OverviewFeed) -> None:
        self.feed = feed

    def show(self, *keys: str, held: int = 0) -> Overview:
        """Jobs of these names, waiting in this order."""
        before = self.feed.latest
        number = before.number + 1 if before is not None else 1
        resources = (replace(RESOURCES[0], held=held), *RESOURCES[1:])
        found = replace(
            picture(*(job(f"ns/{key}", place) for place, key in enumerate(keys, 1)), number=number), resources=resources
        )
        change = None if before is None else delta(before, found)
        told = None if change is None else event("delta", self.feed.identity(number), change)
        self.feed.publish(found, change, told)
        return found


@asynccontextmanager
async def showing(
    access: Access | None = None, port: Port | None = None, heartbeat_seconds: float = 15.0
) -> AsyncIterator[tuple[Shown, str]]:
    feed = OverviewFeed(FakeClock())  # a picture does not grow old while a busy machine starts readers
    async with hello(access, port=port, routes=overview_routes(feed, heartbeat_seconds)) as url:
        try:
            yield Shown(feed), url
        finally:
            feed.close()


async def test_a_reader_gets_the_whole_first_and_then_what_changes() -> None:
    async with showing() as (shown, url), watching(f"{url}/events") as reader:
        assert reader.response.headers["Content-Type"] == "text/event-stream"
        assert reader.response.headers["Cache-Control"] == "no-store, no-transform"
        await until(lambda: shown.feed.watchers)
        for keys in (("a", "b"), ("b", "c"), ("c",)):
            expected = shown.show(*keys)
            found = await reader.see()
            assert found is not None
            assert found.name == ("overview" if keys == ("a", "b") else "delta")
            assert reader.picture == expected


async def test_a_reader_that_comes_to_a_fresh_picture_need_not_wait_for_the_next() -> None:
    async with showing() as (shown, url):
        expected = shown.show("a")
        async with watching(f"{url}/events") as reader:
            await reader.see()
            assert reader.picture == expected


async def test_a_reader_is_not_shown_how_things_were_before_anybody_watched() -> None:
    clock = FakeClock()
    feed = OverviewFeed(clock)
    async with hello(routes=overview_routes(feed)) as url:
        shown = Shown(feed)
        shown.show("long", "ago")
        clock.advance(3600.0)
        async with watching(f"{url}/events") as reader:
            await until(lambda: feed.watchers)
            expected = shown.show("now")
            await reader.see()
            assert reader.picture == expected
            feed.close()


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_every_event_is_there_at_once_in_either_encoding(encoding: str) -> None:
    async with showing() as (shown, url), watching(f"{url}/events", Accept_Encoding=encoding) as reader:
        assert reader.response.headers.get("Content-Encoding", "identity") == encoding
        await until(lambda: shown.feed.watchers)
        for number in range(1, 4):
            shown.show(*"abcdef"[:number])
            await reader.see(5.0)
            assert reader.picture is not None
            assert len(reader.picture.jobs) == number


async def test_those_who_come_back_are_told_what_changed_since() -> None:
    async with showing() as (shown, url):
        shown.show("a")
        async with watching(f"{url}/events") as reader:
            await reader.see()
        kept = reader.picture
        shown.show("a", "b")
        expected = shown.show("a", "b", "c")
        async with watching(f"{url}/events", Last_Event_ID=reader.identity) as back:
            back.picture = kept
            names = [found.name for found in (await back.see(), await back.see()) if found is not None]
            assert names == ["delta", "delta"]
            assert back.picture == expected


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param("1", id="of no daemon"),
        pytest.param("abc-1", id="of another daemon"),
        pytest.param("BOOT-99", id="of a picture that never was"),
        pytest.param("BOOT-1", id="of one that is no longer remembered"),
        pytest.param("BOOT--1", id="of nonsense"),
        pytest.param(f"BOOT-{'9' * 5000}", id="of a very long number"),
    ],
)
async def test_those_who_come_back_with_what_is_not_known_get_the_whole(identity: str) -> None:
    async with showing() as (shown, url):
        for number in range(MOST_DELTAS + 3):
            expected = shown.show("a", held=number)
        boot = shown.feed.identity(1).partition("-")[0]
        async with watching(f"{url}/events", Last_Event_ID=identity.replace("BOOT", boot)) as reader:
            # The name of what they have is taken from them at once, however long the whole takes.
            assert await reader.next() == ("", "", "")
            found = await reader.see()
            assert found is not None
            assert (found.name, reader.picture) == ("overview", expected)


async def test_where_a_delta_cannot_say_it_readers_get_the_whole() -> None:
    async with showing() as (shown, url), watching(f"{url}/events") as reader:
        await until(lambda: shown.feed.watchers)
        first = shown.show("a")
        await reader.see()
        other = replace(first, number=2, resources=RESOURCES[:1])
        shown.feed.publish(other, delta(first, other), None)
        found = await reader.see()
        assert found is not None
        assert (found.name, reader.picture) == ("overview", other)


async def test_a_reader_that_takes_nothing_is_sent_one_picture_and_later_the_newest() -> None:
    """Its buffers are full with the first; dozens later it is told the last one, and in between nothing piles up."""
    async with showing() as (shown, url):
        shown.show(*LARGE)
        host, _, port = url.rpartition("/")[2].partition(":")
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            slow.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(slow, (host, int(port)))
            await loop.sock_sendall(slow, b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: shown.feed.watchers)
            await asyncio.sleep(0.2)
            for number in range(3 * MOST_DELTAS):
                shown.show(*LARGE, held=number)
                await asyncio.sleep(0)
            said = bytearray()
            async with asyncio.timeout(20.0):
                while b'"held":47' not in said[-LATEST:]:
                    more = await loop.sock_recv(slow, LATEST // 2)
                    assert more
                    said += more
    assert said.count(b"event: overview") == 2
    assert said.count(b"event: delta") == 0


async def test_a_reader_that_takes_nothing_for_too_long_is_hung_up_on() -> None:
    found = Port(Limits(send_seconds=0.2))
    async with showing(port=found) as (shown, url):
        shown.show(*LARGE)
        host, _, port = url.rpartition("/")[2].partition(":")
        with socket.create_connection((host, int(port))) as deaf:
            deaf.send(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: shown.feed.watchers)
            await until(lambda: not shown.feed.watchers and not found.connections)


async def test_comments_come_while_nothing_else_does() -> None:
    async with showing(heartbeat_seconds=0.05) as (shown, url):
        shown.show("a")
        async with watching(f"{url}/events") as reader:
            await reader.see()
            for _ in range(3):
                coming = asyncio.create_task(reader.next())
                while not coming.done():
                    await asyncio.sleep(0.01)
                    shown.feed.confirm()  # it is looked, and nothing has changed
                assert await coming == ("", "", "")


async def test_no_more_than_so_many_watch_and_places_are_free_as_soon_as_somebody_goes() -> None:
    found = Port(Limits(requests=2))
    async with showing(port=found) as (shown, url):
        shown.show("a")
        async with AsyncExitStack() as stack:
            for _ in range(MOST_WATCHERS):
                reader = await stack.enter_async_context(watching(f"{url}/events"))
                await reader.see()
            # They are not among those that are being answered.
            assert found.at_work == 0
            refused = await ask(f"{url}/events")
            assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
            assert refused.body == {"error": words.too_many_watch(16)}
            assert (await ask(f"{url}/overview")).status == 200
        await until(lambda: not shown.feed.watchers)
        async with watching(f"{url}/events") as reader:
            assert await reader.see() is not None


async def test_everybody_is_let_go_when_the_daemon_ends() -> None:
    async with showing() as (shown, url), watching(f"{url}/events") as reader:
        shown.show("a")
        await reader.see()
        shown.feed.close()
        await reader.end(5.0)
        assert not shown.feed.watchers


async def test_a_stream_ends_with_the_life_of_its_connection() -> None:
    async with showing(port=Port(Limits(life_seconds=0.3)), heartbeat_seconds=0.1) as (shown, url):
        shown.show("a")
        async with watching(f"{url}/events") as reader:
            assert reader.response.headers["Connection"] == "close"
            await reader.see()
            await reader.end(5.0)


async def test_those_who_may_no_longer_look_are_let_go(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("a-token-of-sixteen-letters,alice,1\nanother-token-of-letters,bob,2\n")
    tokens = TokenTable(file)
    access = Access(tokens, AllowList(), FakeClock(), Lines(), certificates=False)
    port = Port(Limits(recheck_seconds=0.1))
    async with showing(access, port) as (shown, url):
        shown.show("a")
        assert (await ask(f"{url}/events")).status == 401
        assert (await ask(f"{url}/overview")).status == 401
        async with (
            watching(f"{url}/events", Authorization="Bearer a-token-of-sixteen-letters") as alice,
            watching(f"{url}/events", Authorization="Bearer another-token-of-letters") as bob,
        ):
            assert alice.response.headers["Cache-Control"] == "no-store, no-transform"
            await alice.see()
            await bob.see()
            file.write_text("another-token-of-letters,bob,2\n")
            tokens.renewed.look()
            await alice.end(5.0)
            shown.show("a", "b")
            assert await bob.see() is not None


async def test_head_says_what_there_would_be() -> None:
    async with showing() as (shown, url):
        found = await ask(f"{url}/events", method="HEAD")
        assert (found.status, found.headers["Content-Type"]) == (200, "text/event-stream")
        assert not shown.feed.watchers


# -- once


async def test_whoever_asks_once_has_a_picture_made() -> None:
    async with showing() as (shown, url):
        asking = asyncio.create_task(ask(f"{url}/overview"))
        await asyncio.wait_for(shown.feed.wanted(), 60.0)
        expected = shown.show("a")
        found = await asking
        assert found.headers["Content-Encoding"] == "gzip"
        assert msgspec.convert(found.body, Overview) == expected
        assert not shown.feed.is_wanted


async def test_a_picture_that_still_holds_is_of_now() -> None:
    feed = OverviewFeed(SystemClock())
    feed.publish(picture(job("ns/a")), None, None)
    began = feed.latest
    assert began is not None
    assert f'"at":{began.at}' in feed.document.of(began).plain.decode()
    feed.confirm(began.at + 600)
    assert feed.latest == replace(began, at=began.at + 600)
    assert f'"at":{began.at + 600}' in feed.document.of(feed.latest).plain.decode()


async def test_a_picture_comes_unzipped_where_gzip_is_not_taken() -> None:
    async with showing() as (shown, url):
        expected = shown.show("a")
        found = await ask(f"{url}/overview", **{"Accept-Encoding": "identity"})
        assert "Content-Encoding" not in found.headers
        assert msgspec.convert(found.body, Overview) == expected


async def test_without_a_picture_in_time_that_is_said() -> None:
    async with hello(routes=overview_routes(OverviewFeed(SystemClock()), patience_seconds=0.05)) as url:
        found = await ask(f"{url}/overview")
        assert (found.status, found.headers["Retry-After"]) == (503, "2")
        assert found.body == {"error": words.NO_DATA}

"""Following a daemon's picture: streams in any pieces, refused streams, and daemons that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.answering import answering, content
from tests.support.overviews import EMPTY, orders, overviews
from tests.support.running import gang, node, scheduling
from tests.support.waiting import until
from vsched.client import words
from vsched.client.overview import Events, Pace, View, views
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput, Unavailable
from vsched.sim.cluster import Cluster
from vsched.web.overview.deltas import delta
from vsched.web.overview.document import Overview

SECONDS = 30.0


def event(kind: str, data: object, ending: str = "\n") -> bytes:
    return f"id: x-1{ending}event: {kind}{ending}data: {msgspec.json.encode(data).decode()}{ending}{ending}".encode()


def printed(sent: bytes, sizes: list[int]) -> list[Overview]:
    """The pictures that come of these bytes, in pieces of these sizes."""
    events, found, at = Events(), list[Overview](), 0
    for size in [*sizes, len(sent)]:
        for kind, data in events.feed(sent[at : at + size]):
            if (seen := events.take(kind, data)) is not None:
                found.append(seen)
        at += size
    return found


@given(st.tuples(orders(), orders()), st.lists(st.integers(1, 40), max_size=30), st.sampled_from(["\n", "\r\n"]))
def test_a_stream_may_come_in_any_pieces(pair: tuple[Overview, Overview], sizes: list[int], ending: str) -> None:
    first, second = pair[0], replace(pair[1], number=2)
    change = delta(first, second)
    assert change is not None
    sent = (
        b": hello\n\n" + event("overview", first, ending) + b":\n\n" + event("news", {"a": 1}) + event("delta", change)
    )
    assert printed(sent, sizes) == [first, second]


@given(overviews)
def test_a_whole_picture_replaces_what_was_known(overview: Overview) -> None:
    assert printed(event("overview", EMPTY) + event("overview", overview), []) == [EMPTY, overview]


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        pytest.param(event("overview", {"number": "one"}), "the answer cannot be read", id="something else"),
        pytest.param(b"event: overview\ndata: {\n\n", "the answer cannot be read", id="a torn one"),
        pytest.param(
            event("delta", {"number": 3, "since": 2, "at": 1.0}), "version 2 came out of order", id="no picture"
        ),
        pytest.param(
            event("overview", EMPTY) + event("delta", {"number": 9, "since": 8, "at": 1.0}),
            "version 8 came out of order",
            id="a gap",
        ),
    ],
)
def test_what_cannot_be_read(sent: bytes, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        printed(sent, [])
    assert says in str(caught.value)


def test_an_event_without_an_end_is_not_taken_for_ever() -> None:
    events = Events(most_bytes=100)
    with pytest.raises(BadInput, match="longer than 100 bytes"):
        list(events.feed(b"data: " + b"x" * 200))


# -- over HTTP


async def first_where(coming: AsyncIterator[View], holds: Any) -> View:
    """The first view that something is true of."""
    async with asyncio.timeout(SECONDS):
        async for view in coming:
            if holds(view):
                return view
    raise AssertionError("views go on until nobody wants them")


async def test_a_running_daemon_is_followed() -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon:
        await until(lambda: daemon.ports and daemon.health.ready().ok, SECONDS)
        async with aclosing(views(DaemonTarget(f":{daemon.ports['--listen-address']}"))) as coming:
            await first_where(coming, lambda view: view.overview.nodes.keys() == {"n1"} and not view.problem)
            cluster.apply(gang("g", 2))
            seen = await first_where(coming, lambda view: "default/g" in view.overview.jobs)
            assert seen.overview is not None
            assert seen.overview.jobs["default/g"].min_member == 2


@asynccontextmanager
async def streams_refused(code: int) -> AsyncIterator[Any]:
    """Something in front of a daemon that gives pictures, and no streams."""
    async with answering() as server:
        server.replies["/events"] = content({"error": "no streams here"}, code)
        server.replies["/overview"] = content(msgspec.json.encode(EMPTY))
        yield server


@pytest.mark.parametrize("code", [404, 406, 429, 501, 503])
async def test_pictures_are_asked_for_where_streams_are_refused(code: int) -> None:
    pace = Pace(poll_seconds=0.01)
    async with streams_refused(code) as server, aclosing(views(DaemonTarget(server.url), pace)) as coming:
        assert await anext(coming) == View(EMPTY)
        server.replies["/overview"] = content(msgspec.json.encode(replace(EMPTY, number=2)))
        await first_where(coming, lambda view: view.overview.number == 2)
    assert [request.path for request in server.asked[:3]] == ["/events", "/overview", "/overview"]


async def test_a_daemon_that_goes_is_waited_for() -> None:
    pace, whole = Pace(pause_seconds=0.01), event("overview", EMPTY)

    async def stream(request: web.Request, body: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(whole)
        return response

    async with answering() as server, aclosing(views(DaemonTarget(server.url), pace)) as coming:
        server.replies["/events"] = stream
        assert await anext(coming) == View(EMPTY)
        assert await anext(coming) == View(EMPTY, words.STREAM_ENDED)
        server.replies["/events"] = content({"error": "expected a bearer token"}, 401)
        refused = await first_where(coming, lambda view: "does not know the caller" in view.problem)
        assert refused.overview == EMPTY
        whole = event("overview", replace(EMPTY, number=5))
        server.replies["/events"] = stream
        again = await first_where(coming, lambda view: not view.problem and view.overview.number == 5)
        assert again.overview is not None


async def test_where_there_is_nothing_to_wait_for_it_ends_at_once() -> None:
    async with answering() as server:
        server.replies["*"] = content(b"<html><title>Router</title>", kind="text/html")
        with pytest.raises(BadInput, match=r"a web page titled 'Router'.* \(is it vsched\?\)"):
            await anext(views(DaemonTarget(server.url)))
    with pytest.raises(Unavailable, match="nobody listens there"):
        await anext(views(DaemonTarget(server.url)))

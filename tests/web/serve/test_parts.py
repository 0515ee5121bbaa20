"""Answers in parts: the same bytes as in one, however they are cut and whoever listens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.support.asking import ask, hello, raw
from tests.support.waiting import until
from vsched.web.serve.limits import Limits, Port
from vsched.web.serve.parts import MANY, PART_BYTES, PayloadParts, joined, json_answer, json_pieces
from vsched.web.serve.routing import Route, as_json

plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
documents = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(st.dictionaries(st.text(), documents))
def test_an_object_in_pieces_is_the_object_in_one(found: dict[str, Any]) -> None:
    assert b"".join(json_pieces(found.items())) == as_json(found).body


@pytest.mark.parametrize("count", [0, 1, MANY, MANY + 1, 3 * MANY])
def test_large_objects_inside_are_cut_as_well(count: int) -> None:
    inner = {str(number): {"a": [number, {}], "b": "one\ntwo"} for number in range(count)}
    found = {"at": 1.5, "namespaces": inner, "deep": {"er": inner, **inner}, "left": dict.fromkeys("abc", "")}
    pieces = [*json_pieces(found.items())]
    assert b"".join(pieces) == as_json(found).body
    assert max(map(len, pieces)) < 120 * MANY


@given(st.lists(st.binary(max_size=9)), st.integers(1, 20))
def test_pieces_are_joined_up_to_a_size(pieces: list[bytes], most: int) -> None:
    parts = [*joined(pieces, most)]
    assert b"".join(parts) == b"".join(pieces)
    assert all(len(part) >= most for part in parts[:-1])
    assert all(len(part) < most + 9 for part in parts)


COUNT = 200_000


def members() -> Iterator[tuple[str, object]]:
    return ((str(number), {"number": number}) for number in range(COUNT))


async def large(_: web.Request) -> web.StreamResponse:
    return json_answer(members())


WHOLE = bytes(range(256)) * 40_000


async def whole(_: web.Request) -> web.StreamResponse:
    return web.Response(body=PayloadParts.of(WHOLE))


ROUTES = [Route("/", large, "many megabytes"), Route("/whole", whole, "many megabytes that are there already")]


@pytest.mark.parametrize("length", [0, 1, PART_BYTES, PART_BYTES + 1, len(WHOLE)])
def test_what_is_there_already_is_cut_and_not_changed(length: int) -> None:
    parts = PayloadParts.of(WHOLE[:length])
    assert parts.size == length
    assert parts.decode("latin-1") == WHOLE[:length].decode("latin-1")


async def test_who_asks_gets_what_was_there_already() -> None:
    async with hello(routes=ROUTES) as url, aiohttp.ClientSession() as session, session.get(f"{url}/whole") as answer:
        assert int(answer.headers["Content-Length"]) == len(WHOLE)
        assert await answer.read() == WHOLE


async def test_who_asks_gets_all_of_it() -> None:
    async with hello(routes=ROUTES) as url:
        answer = await ask(url)
    assert answer.body == dict(members())
    assert answer.headers["Content-Length"] == str(len(b"".join(json_pieces(members()))))


async def test_who_asks_for_the_head_gets_that_alone() -> None:
    async with hello(routes=ROUTES) as url:
        answer = await ask(url, method="HEAD")
    assert int(answer.headers["Content-Length"]) > COUNT


async def test_who_goes_away_in_the_middle_leaves_nothing_behind() -> None:
    port = Port(Limits())
    async with hello(port=port, routes=ROUTES) as url:
        async with raw(url) as leaving:
            await leaving.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await leaving.reader.readexactly(1000)
            assert port.at_work == 1
        await until(lambda: not port.connections and not port.at_work)
        assert (await ask(url)).status == 200


async def test_who_does_not_read_is_hung_up_on() -> None:
    port = Port(Limits(send_seconds=0.2))
    async with hello(port=port, routes=ROUTES) as url, raw(url) as still:
        await still.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: port.at_work)
        await until(lambda: not port.at_work)
        assert len(await still.hear()) < len(b"".join(json_pieces(members())))

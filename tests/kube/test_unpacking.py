"""Answers that come packed although nobody asked for that: unpacked in small pieces, within bounds."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import orjson
import pytest

from tests.support.answering import answering, content
from vsched.errors import Unavailable
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.errors import NotFound
from vsched.kube.unpacking import PIECE_BYTES, UNPACKED_BYTES

ONCE = ClientSettings(attempts=1)
STATUS = orjson.dumps({"kind": "Status", "message": "no such thing", "code": 404})


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        pytest.param(gzip.compress(b'{"a": 1}'), "gzip", id="gzip"),
        pytest.param(gzip.compress(b'{"a": 1}') + b"more", "gzip", id="gzip, with something behind it"),
        pytest.param(zlib.compress(b'{"a": 1}'), "deflate", id="deflate"),
        pytest.param(b'{"a": 1}', "identity", id="not packed"),
        pytest.param(gzip.compress(b'{"a": 1' + b" " * 3 * PIECE_BYTES + b"}"), "gzip", id="several pieces"),
    ],
)
async def test_a_packed_answer_is_unpacked(packed: bytes, encoding: str) -> None:
    async with answering() as server, ApiClient(Connection(server.url), ONCE) as client:
        server.replies["/a"] = content(packed, Content_Encoding=encoding)
        assert await client.get("/a") == {"a": 1}


@pytest.mark.parametrize(
    ("packed", "encoding", "told"),
    [
        pytest.param(b"x", "br", "encoded as 'br', which was not asked for", id="a form that is not known"),
        pytest.param(b"{}", "gzip", "cannot be unpacked", id="something else"),
        pytest.param(gzip.compress(b"{}")[:-9], "gzip", "breaks off", id="a part of it"),
    ],
)
async def test_what_cannot_be_unpacked_is_told(packed: bytes, encoding: str, told: str) -> None:
    await is_told(packed, encoding, told)


async def test_what_unpacks_to_far_more_than_anything_has_is_told() -> None:
    # No row of a table: each process that collects tests would pack it.
    packed = gzip.compress(b" " * (UNPACKED_BYTES + 1), 1)
    await is_told(packed, "gzip", f"unpacks to more than {UNPACKED_BYTES >> 20} MiB")


async def is_told(packed: bytes, encoding: str, told: str) -> None:
    async with answering() as server, ApiClient(Connection(server.url), ONCE) as client:
        server.replies["/a"] = content(packed, Content_Encoding=encoding)
        with pytest.raises(Unavailable, match=told):
            await client.get("/a")


@pytest.mark.parametrize(
    ("packed", "encoding", "told"),
    [
        pytest.param(gzip.compress(STATUS), "gzip", "no such thing", id="with its reason"),
        pytest.param(b"x", "br", "Not Found", id="without, where it cannot be unpacked"),
    ],
)
async def test_an_error_stays_what_its_code_says(packed: bytes, encoding: str, told: str) -> None:
    async with answering() as server, ApiClient(Connection(server.url), ONCE) as client:
        server.replies["/a"] = content(packed, 404, Content_Encoding=encoding)
        with pytest.raises(NotFound, match=told):
            await client.get("/a")


async def test_what_unpacks_to_very_much_comes_in_pieces_between_which_others_have_their_turn() -> None:
    packed, turns, largest, size = gzip.compress(b" " * (64 << 20), 1), 0, 0, 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def take(chunk: bytes) -> None:
        nonlocal largest, size
        largest, size = max(largest, len(chunk)), size + len(chunk)

    async with answering() as server, ApiClient(Connection(server.url), ONCE) as client, asyncio.TaskGroup() as group:
        server.replies["/a"] = content(packed, Content_Encoding="gzip")
        turning = group.create_task(turn())
        tracemalloc.start()
        try:
            await client.fetch("/a", None, take, timeout_seconds=60.0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            turning.cancel()
    assert (size, largest) == (64 << 20, PIECE_BYTES)
    assert turns >= size // PIECE_BYTES
    assert peak < 8 << 20

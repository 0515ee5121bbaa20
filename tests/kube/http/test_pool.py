"""Requests over kept connections, to a server that answers torn, late, wrong or not at all."""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import Coroutine
from typing import Any

import pytest
import trustme
import uvloop

from tests.kube.http.raw_server import GOOD, HOW, RawServer, ok, tls_of
from vsched.errors import BadInput
from vsched.kube.http.answers import Answer, NotHttp, TooLong
from vsched.kube.http.link import Disconnected
from vsched.kube.http.pool import NotConnected, Pool, PoolSettings

SETTINGS = PoolSettings(connections=4, connect_seconds=5.0, answer_bytes=1000)
PATIENCE_SECONDS = 20.0


def pool_of(server: RawServer, settings: PoolSettings = SETTINGS, tls: ssl.SSLContext | None = None) -> Pool:
    return Pool(server.url, tls, None, (("Accept", "application/json"),), settings)


async def ask(
    pool: Pool, how: str, body: bytes = b"body", *, method: str = "POST", seconds: float = PATIENCE_SECONDS
) -> Answer:
    return await pool.exchange(method, f"/{how}/x", (("Authorization", "Bearer t"),), "text/plain", body, seconds)


@pytest.mark.parametrize("how", GOOD)
async def test_answers_arrive_whatever_their_form(how: str) -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        for number in range(3):
            answer = await ask(pool, how, b"%d" % number)
            assert answer.body == b"%d" % number
        assert server.connections == (1 if how in ("well", "torn", "chunked") else 3)
        pool.close()


async def test_a_request_says_who_asks_and_what_it_has() -> None:
    async with RawServer() as server:
        pool = Pool(f"{server.url}/behind/it/", None, None, (("Accept", "application/json"),), SETTINGS)
        server.answer = lambda asked: ok(b"")
        for content_type in ("application/json", "text/plain"):
            await pool.exchange("PATCH", "/p?a=b", (("Authorization", "Bearer t"),), content_type, b"{}", 9.0)
        host = f"127.0.0.1:{server.port}"
        told = {"Host": host, "Accept": "application/json", "Authorization": "Bearer t", "Content-Length": "2"}
        assert [each.headers for each in server.asked] == [
            told | {"Content-Type": "application/json"},
            told | {"Content-Type": "text/plain"},
        ]
        assert {(each.method, each.path, each.body) for each in server.asked} == {("PATCH", "/behind/it/p?a=b", b"{}")}
        with pytest.raises(BadInput, match="the header 'A' holds characters that cannot be sent"):
            await pool.exchange("POST", "/p", (("A", "b\r\nC: d"),), "text/plain", b"", 9.0)
        pool.close()


@pytest.mark.parametrize(
    ("how", "error"), [("garbage", NotHttp), ("short", Disconnected), ("cut", (Disconnected, ConnectionError))]
)
async def test_what_is_wrong_is_an_error_and_ends_the_connection(how: str, error: type[Exception]) -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        with pytest.raises(error):
            await ask(pool, how)
        assert (await ask(pool, "well")).body == b"body"
        assert (len(server.asked), server.connections) == (2, 2)
        pool.close()


async def test_an_answer_that_is_too_long_is_refused() -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        with pytest.raises(TooLong):
            await ask(pool, "well", b"x" * 1001)
        assert (await ask(pool, "well", b"x" * 1000)).code == 201
        pool.close()


async def test_an_answer_that_comes_too_late_is_nobodys() -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        with pytest.raises(TimeoutError):
            await ask(pool, "late", b"late", seconds=0.05)
        asking = asyncio.ensure_future(ask(pool, "late", b"cancelled"))
        while len(server.asked) < 2:  # noqa: ASYNC110  # the server has no event for it
            await asyncio.sleep(0.001)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.released.set()
        for _ in range(5):
            assert (await ask(pool, "well", b"mine")).body == b"mine"
        assert server.connections == 3
        pool.close()


@pytest.mark.parametrize(("method", "sent"), [("PUT", 2), ("DELETE", 2), ("POST", 1), ("PATCH", 1)])
async def test_what_may_be_repeated_is_sent_once_more_where_its_connection_ends(method: str, sent: int) -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        with pytest.raises((Disconnected, ConnectionError)):
            await ask(pool, "cut", method=method)
        assert len(server.asked) == sent
        pool.close()


async def test_more_requests_than_connections_wait_for_their_turn() -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        answers = await asyncio.gather(*(ask(pool, "torn", b"%d" % number) for number in range(50)))
        assert [answer.body for answer in answers] == [b"%d" % number for number in range(50)]
        assert server.connections == 4
        holding = [asyncio.ensure_future(ask(pool, "late")) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await ask(pool, "well", seconds=0.05)
        server.released.set()
        assert {answer.body for answer in await asyncio.gather(*holding)} == {b"body"}
        pool.close()


async def test_connections_that_rested_too_long_or_are_to_be_renewed_are_not_used_again() -> None:
    async with RawServer() as server:
        pool = pool_of(server, PoolSettings(4, 5.0, 1000, rest_seconds=-1.0))
        await ask(pool, "well")
        await ask(pool, "well")
        assert server.connections == 2
        pool.close()
        pool = pool_of(server)
        await ask(pool, "well")
        pool.renew()
        await ask(pool, "well")
        assert server.connections == 4
        pool.close()


async def test_no_server_is_said_and_nothing_was_sent() -> None:
    async with RawServer() as gone:
        pool = pool_of(gone)
    with pytest.raises(NotConnected, match=r"Cannot connect to host 127\.0\.0\.1"):
        await ask(pool, "well")


async def test_what_is_under_way_ends_with_the_pool() -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        asking = asyncio.ensure_future(ask(pool, "late", method="PUT"))
        while not server.asked:  # noqa: ASYNC110  # the server has no event for it
            await asyncio.sleep(0.001)
        pool.close()
        with pytest.raises(Disconnected):
            await asking


# -- chaos

ERRORS = (TimeoutError, NotHttp, Disconnected, ConnectionError, ssl.SSLError)


async def chaos(seed: int, tls: bool) -> None:
    """Many requests at once, each answered in another way and some given up: every answer is that of its request."""
    draw = random.Random(seed)
    serving, asking = tls_of(trustme.CA()) if tls else (None, None)
    async with RawServer(serving) as server:
        pool = pool_of(server, tls=asking)

        async def one(number: int, how: str, given_up_after: float | None) -> None:
            await asyncio.sleep(draw.random() / 20)
            seconds = 0.05 if how == "late" else PATIENCE_SECONDS
            request = asyncio.ensure_future(ask(pool, how, b"%d" % number, seconds=seconds))
            if given_up_after is not None:
                await asyncio.sleep(given_up_after)
                request.cancel()
            try:
                assert (await request).body == b"%d" % number
                assert how in GOOD
            except asyncio.CancelledError:
                assert given_up_after is not None
            except ERRORS:
                assert how not in GOOD

        async with asyncio.TaskGroup() as group:
            for number in range(150):
                how = draw.choice(tuple(HOW))
                given_up_after = draw.random() / 50 if draw.random() < 0.3 else None
                group.create_task(one(number, how, given_up_after))
        answers = await asyncio.gather(*(ask(pool, "well", b"%d" % number) for number in range(20)))
        assert [answer.body for answer in answers] == [b"%d" % number for number in range(20)]
        pool.close()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_no_request_gets_the_answer_of_another(seed: int, tls: bool, loop: Any) -> None:
    run(chaos(seed, tls), loop)


def run(main: Coroutine[Any, Any, None], loop: Any) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main)


# -- TLS


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_server_that_cannot_prove_who_it_is_gets_nothing(loop: Any) -> None:
    async def main() -> None:
        serving, _ = tls_of(trustme.CA())
        _, asking = tls_of(trustme.CA())
        async with RawServer(serving) as server:
            with pytest.raises(NotConnected, match=r"CERTIFICATE_VERIFY_FAILED") as refused:
                await ask(pool_of(server, tls=asking), "well")
            assert isinstance(refused.value.__cause__, ssl.SSLError)
            assert not server.asked

    run(main(), loop)


async def test_a_server_that_never_shakes_hands_is_given_up() -> None:
    _, asking = tls_of(trustme.CA())
    async with RawServer() as server:
        pool = Pool(f"https://127.0.0.1:{server.port}", asking, None, (), PoolSettings(4, 0.1, 1000))
        began = time.monotonic()
        with pytest.raises(NotConnected, match="no connection in time"):
            await ask(pool, "well")
        assert time.monotonic() - began < PATIENCE_SECONDS


async def test_another_name_on_the_certificate_is_expected_where_it_is_given() -> None:
    authority = trustme.CA()
    serving, asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("kubernetes.test").configure_cert(serving)
    authority.configure_trust(asking)
    async with RawServer(serving) as server:
        pool = Pool(server.url, asking, "kubernetes.test", (), SETTINGS)
        assert (await ask(pool, "well")).body == b"body"
        pool.close()
        with pytest.raises(NotConnected, match="Cannot connect"):
            await ask(Pool(server.url, asking, None, (), SETTINGS), "well")

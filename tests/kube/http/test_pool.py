"""Requests over kept connections, to a server that answers torn, late, wrong or not at all."""

from __future__ import annotations

import asyncio
import random
import re
import socket
import ssl
import time
from collections.abc import Coroutine
from typing import Any

import pytest
import trustme
import uvloop

from tests.support.examples import seeds
from tests.support.raw_server import ENDLESS, GOOD, HOW, PATIENCE_SECONDS, Asked, RawServer, ok, tls_of
from vsched.errors import BadInput
from vsched.kube.http.answers import HttpAnswer, NotHttp, TooLong
from vsched.kube.http.link import Disconnected, Link
from vsched.kube.http.pool import NotConnected, Pool, PoolSettings
from vsched.kube.words import answers as words
from vsched.together import together

SETTINGS = PoolSettings(connections=4, connect_seconds=PATIENCE_SECONDS, answer_bytes=1000)
LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])


def pool_of(server: RawServer, settings: PoolSettings = SETTINGS, tls: ssl.SSLContext | None = None) -> Pool:
    return Pool(server.url, tls, None, (("Accept", "application/json"),), settings)


async def ask(
    pool: Pool, how: str, body: bytes = b"body", *, method: str = "POST", seconds: float = PATIENCE_SECONDS
) -> HttpAnswer:
    return await pool.exchange(method, f"/{how}/x", (("Authorization", "Bearer t"),), "text/plain", body, seconds)


@pytest.mark.parametrize("how", GOOD)
async def test_answers_arrive_whatever_their_form(how: str) -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        for number in range(3):
            answer = await ask(pool, how, b"%d" % number)
            assert answer.body == b"%d" % number
        assert server.connections == (3 if how in ("last", "closing", "twice") else 1)
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
        with pytest.raises(BadInput, match=re.escape(words.header_cannot_be_sent("A"))):
            await pool.exchange("POST", "/p", (("A", "b\r\nC: d"),), "text/plain", b"", 9.0)
        pool.close()


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("garbage", NotHttp),
        ("lengths", NotHttp),
        ("short", Disconnected),
        ("middle", Disconnected),
        ("reset", (Disconnected, ConnectionError)),
        ("cut", (Disconnected, ConnectionError)),
    ],
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
        await server.until(lambda: len(server.asked) == 2)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.released.set()
        for _ in range(5):
            assert (await ask(pool, "well", b"mine")).body == b"mine"
        assert server.connections == 3
        pool.close()


@pytest.mark.parametrize("how", ENDLESS)
async def test_the_time_of_a_request_is_for_all_of_its_answer(how: str) -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        with pytest.raises(TimeoutError):
            await ask(pool, how, seconds=0.05)
        assert (await ask(pool, "well", b"mine")).body == b"mine"
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
        answers = await together(*(ask(pool, "torn", b"%d" % number) for number in range(50)))
        assert [answer.body for answer in answers] == [b"%d" % number for number in range(50)]
        assert server.connections == 4
        holding = [asyncio.ensure_future(ask(pool, "late")) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await ask(pool, "well", seconds=0.05)
        server.released.set()
        assert {answer.body for answer in await together(*holding)} == {b"body"}
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


@pytest.mark.parametrize(
    "say", [pytest.param(ok(b"nobody asked"), id="says something"), pytest.param(b"", id="ends it")]
)
async def test_a_connection_on_which_the_server_speaks_unasked_is_not_used_again(say: bytes) -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        await ask(pool, "well")
        [writer] = server.open
        writer.write(say) if say else writer.write_eof()
        await server.until(lambda: server.ended == 1)
        assert (await ask(pool, "well", b"mine")).body == b"mine"
        assert server.connections == 2
        pool.close()


# -- servers that are gone without a word


async def test_after_a_request_that_was_swallowed_no_connection_of_before_is_used_again() -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        held = asyncio.ensure_future(ask(pool, "stalls", b"held"))
        await server.until(lambda: len(server.asked) == 1)
        await together(ask(pool, "well"), ask(pool, "well"))
        assert server.connections == 3
        with pytest.raises(TimeoutError):
            await ask(pool, "late", seconds=0.05)
        assert (await ask(pool, "well")).body == b"body"
        assert server.connections == 4, "all that rested are closed"
        server.released.set()
        assert (await held).body == b"held"
        await server.until(lambda: server.ended == 3)  # the one that was busy is closed after its answer
        assert (await ask(pool, "well")).body == b"body"
        assert server.connections == 4
        pool.close()


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such option")
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@LOOPS
def test_the_kernel_ends_connections_whose_other_end_confirms_nothing(tls: bool, loop: Any) -> None:
    async def main() -> None:
        serving, asking = tls_of(trustme.CA()) if tls else (None, None)
        async with RawServer(serving) as server:
            transport, link = await asyncio.get_running_loop().create_connection(
                Link, "127.0.0.1", server.port, ssl=asking, server_hostname="127.0.0.1" if tls else None
            )
            link.mind(7.0)
            end = transport.get_extra_info("socket")
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7000
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            link.close()

    run(main(), loop)


async def test_no_server_is_said_and_nothing_was_sent() -> None:
    async with RawServer() as gone:
        pool = pool_of(gone)
    with pytest.raises(NotConnected, match=r"Cannot connect to host 127\.0\.0\.1"):
        await ask(pool, "well")


async def test_what_is_under_way_ends_with_the_pool() -> None:
    async with RawServer() as server:
        pool = pool_of(server)
        asking = asyncio.ensure_future(ask(pool, "late", method="PUT"))
        await server.until(lambda: bool(server.asked))
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
            seconds = 0.05 if how in ENDLESS else PATIENCE_SECONDS
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
        answers = await together(*(ask(pool, "well", b"%d" % number) for number in range(20)))
        assert [answer.body for answer in answers] == [b"%d" % number for number in range(20)]
        pool.close()


@pytest.mark.parametrize("seed", seeds(7, "requests"))
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@LOOPS
def test_no_request_gets_the_answer_of_another(seed: int, tls: bool, loop: Any) -> None:
    run(chaos(seed, tls), loop)


def run(main: Coroutine[Any, Any, None], loop: Any) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main)


# -- TLS


@LOOPS
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


async def test_a_server_with_a_renewed_certificate_is_gone_on_with() -> None:
    authority = trustme.CA()
    serving, asking = tls_of(authority)
    async with RawServer(serving) as server:
        pool = pool_of(server, tls=asking)
        await ask(pool, "well")
        authority.issue_cert("127.0.0.1").configure_cert(serving)
        await ask(pool, "well")
        assert server.connections == 1, "what is open stays open"
        server.open[0].transport.abort()
        await server.until(lambda: server.ended == 1)
        answers = await together(*(ask(pool, "well", b"%d" % number) for number in range(9)))
        assert [answer.body for answer in answers] == [b"%d" % number for number in range(9)]
        trustme.CA().issue_cert("127.0.0.1").configure_cert(serving)
        pool.renew()
        with pytest.raises(NotConnected, match=r"CERTIFICATE_VERIFY_FAILED"):
            await ask(pool, "well")
        authority.issue_cert("127.0.0.1").configure_cert(serving)
        assert (await ask(pool, "well")).body == b"body"
        pool.close()


async def test_a_connection_with_an_old_certificate_ends_with_the_answer_that_is_under_way() -> None:
    authority = trustme.CA()
    serving, asking = tls_of(authority, asks=True)
    authority.issue_cert("old.test", common_name="old").configure_cert(asking)
    async with RawServer(serving) as server:
        pool = pool_of(server, tls=asking)
        asking_late = asyncio.ensure_future(ask(pool, "late", b"late"))
        await server.until(lambda: bool(server.asked))
        authority.issue_cert("new.test", common_name="new").configure_cert(asking)
        pool.renew()
        server.released.set()
        assert (await asking_late).body == b"late"
        await ask(pool, "well")
        assert [asked.certificate for asked in server.asked] == ["old", "new"]
        pool.close()


async def test_certificates_that_are_renewed_again_and_again_disturb_no_request() -> None:
    authority = trustme.CA()
    serving, asking = tls_of(authority, asks=True)
    authority.issue_cert("0.test", common_name="0").configure_cert(asking)
    shown: dict[str, str] = {}

    def answer(asked: Asked) -> bytes:
        shown[asked.body.decode()] = asked.certificate
        return ok(asked.body)

    async with RawServer(serving) as server:
        server.answer = answer
        pool = pool_of(server, tls=asking)
        for turn in range(4):
            under_way = [asyncio.ensure_future(ask(pool, "x", b"%d.%d" % (turn, number))) for number in range(20)]
            await asyncio.sleep(0)
            authority.issue_cert("127.0.0.1").configure_cert(serving)
            authority.issue_cert("x.test", common_name=f"{turn + 1}").configure_cert(asking)
            pool.renew()
            bodies = {answer.body for answer in await together(*under_way)}
            assert bodies == {b"%d.%d" % (turn, number) for number in range(20)}
            assert (await ask(pool, "x", b"after %d" % turn)).code == 201
        assert [shown[f"after {turn}"] for turn in range(4)] == ["1", "2", "3", "4"]
        pool.close()


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

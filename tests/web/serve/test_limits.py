"""Those who ask too much, too slowly, or too often, over real connections."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import AsyncExitStack

import pytest
from aiohttp import web

from tests.support.answering import CERTIFICATES
from tests.support.asking import HELLO, Raw, ask, hello, raw, trusting
from tests.support.waiting import until
from vsched.web.serve.limits import Limits, Port
from vsched.web.serve.listener import listening_sockets
from vsched.web.serve.routing import Route, as_json
from vsched.web.serve.tls import ReloadingContext
from vsched.web.words import answers as words

GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def port(**limits: float) -> Port:
    return Port(Limits(**limits))  # type: ignore[arg-type]  # numbers of either kind


async def rest(connection: Raw, seconds: float = 30.0) -> str:
    """What comes before the other side hangs up, which has to be soon."""
    async with asyncio.timeout(seconds):
        return await connection.hear()


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("", id="nothing is said at all"),
        pytest.param("GET / HTTP/1.1\r\nHos", id="a head breaks off"),
        pytest.param(f"{GET}GET /", id="the second head breaks off"),
    ],
)
async def test_a_head_that_does_not_come_is_not_waited_for(said: str) -> None:
    found = port(head_seconds=0.1, idle_seconds=0.1 if said.startswith(GET) else 75.0)
    async with hello(port=found) as url, raw(url) as slow:
        await slow.say(said)
        assert (await rest(slow)).count("200 OK") == said.count(GET)
        assert not found.connections


async def test_a_head_that_comes_drop_by_drop_is_not_waited_for() -> None:
    found = port(head_seconds=0.2)
    async with hello(port=found) as url, raw(url) as slow:
        heard = asyncio.create_task(rest(slow))
        await slow.say("GET / HTTP/1.1\r\n")
        number = 0
        while not heard.done():
            number += 1
            try:
                await slow.say(f"X-{number}: 1\r\n")
            except ConnectionError:
                break
            await asyncio.sleep(0.02)
        assert await heard == ""
        assert found.refused["408"] == 1


async def test_connections_stay_open_between_requests() -> None:
    async with hello(port=port(head_seconds=0.1, idle_seconds=60.0)) as url, raw(url) as kept:
        await kept.say(GET)
        await asyncio.sleep(0.2)  # longer than a head may take
        await kept.say(GET)
        for _ in range(2):
            assert b"200 OK" in await kept.reader.readuntil(b'"hello"\n')


async def test_connections_do_not_stay_open_for_ever() -> None:
    async with hello(port=port(idle_seconds=0.1)) as url, raw(url) as kept:
        await kept.say(GET)
        assert (await rest(kept)).count("200 OK") == 1


async def test_an_old_connection_ends_after_its_answer() -> None:
    async with hello(port=port(life_seconds=0.0)) as url, raw(url) as kept:
        await kept.say(GET)
        assert "Connection: close" in await rest(kept)


HEADS = {
    "a long line": f"GET /{'x' * 9000} HTTP/1.1\r\nHost: x\r\n\r\n",
    "a long field": f"GET / HTTP/1.1\r\nHost: x\r\nX: {'x' * 9000}\r\n\r\n",
    "many fields": f"GET / HTTP/1.1\r\nHost: x\r\n{''.join(f'X-{n}: 1{chr(13)}{chr(10)}' for n in range(200))}\r\n",
    "no HTTP": "\x16\x03\x01\x02 hello\r\n\r\n",
    "a token with a stray letter": "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sec\x01ret\r\n\r\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
async def test_heads_out_of_bounds_are_refused_and_no_line_quotes_them(
    head: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = port()
    with caplog.at_level(logging.DEBUG):
        async with hello(port=found) as url, raw(url) as bad:
            await bad.say(head)
            assert (await rest(bad)).startswith("HTTP/1.0 400")
            assert (await ask(url)).status == 200
    assert found.refused["400"] == 1
    assert not [record for record in caplog.records if record.name.startswith("aiohttp")]


async def test_a_fault_of_ours_is_told_in_full(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_: web.Request) -> web.StreamResponse:
        raise ValueError("a fault")

    async with hello(routes=[Route("/", broken, "breaks")]) as url:
        answer = await ask(url)
    assert answer.status == 500
    assert "a fault" not in str(answer)
    assert "ValueError: a fault" in caplog.text


class Slow:
    """A page that is there once it is allowed to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.routes = [Route("/slow", self._answer, "takes its time"), *HELLO]

    async def _answer(self, _: web.Request) -> web.StreamResponse:
        await self.go.wait()
        return as_json("at last")


async def test_too_many_at_once_are_told_to_come_again() -> None:
    slow, found = Slow(), port(requests=3)
    async with hello(port=found, routes=slow.routes) as url:
        waiting = [asyncio.create_task(ask(f"{url}/slow")) for _ in range(3)]
        await until(lambda: found.at_work == 3)
        answer = await ask(url)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert answer.body == {"error": words.TOO_MANY_REQUESTS}
        slow.go.set()
        assert [(await one).status for one in waiting] == [200] * 3
        assert (await ask(url)).status == 200
    assert (found.at_work, found.refused) == (0, {"503": 1})


async def test_an_answer_that_takes_too_long_is_given_up() -> None:
    async with hello(answer_seconds=0.05, routes=Slow().routes) as url:
        answer = await ask(f"{url}/slow")
    assert (answer.status, answer.body) == (503, {"error": words.no_answer_within(0.05)})


async def test_an_answer_that_nobody_fetches_is_given_up() -> None:
    async def much(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"x" * (32 << 20))

    found = port(send_seconds=0.2)
    async with hello(port=found, routes=[Route("/", much, "much")]) as url:
        host, _, number = url.rpartition("/")[2].partition(":")
        with socket.create_connection((host, int(number))) as deaf:
            deaf.send(GET.encode())
            await until(lambda: found.at_work)
            await until(lambda: not found.at_work and not found.connections)


@pytest.mark.parametrize("last", ["close", "keep-alive"])
async def test_a_connection_does_not_stay_open_for_an_answer_that_is_not_fetched(last: str) -> None:
    async def buffered(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.set_write_buffer_limits(high=1 << 26)
        return web.Response(body=b"x" * (32 << 20), headers={"Connection": last})

    found = port(idle_seconds=0.2)
    async with hello(port=found, routes=[Route("/", buffered, "much, and none of it is waited for")]) as url:
        host, _, number = url.rpartition("/")[2].partition(":")
        with socket.create_connection((host, int(number))) as deaf:
            deaf.send(GET.encode())
            await until(lambda: found.connections)
            await until(lambda: not found.connections)


async def test_what_is_not_there_is_said_in_json() -> None:
    async with hello() as url:
        nowhere, other = await ask(f"{url}/a/b"), await ask(url, method="DELETE")
    assert (nowhere.status, nowhere.body) == (404, {"error": "404: Not Found"})
    assert (other.status, other.headers["Allow"]) == (405, "GET,HEAD")
    assert nowhere.headers["Server"] == "vsched"


# -- connections


async def test_one_connection_too_many_takes_the_place_of_the_one_that_was_idle_longest() -> None:
    found = port(connections=3)
    async with hello(port=found) as url, AsyncExitStack() as stack:
        first, second, third = [await stack.enter_async_context(raw(url)) for _ in range(3)]
        for connection in (first, second, third, first):
            await connection.say(GET)
            assert b"200 OK" in await connection.reader.readuntil(b'"hello"\n')
        fourth = await stack.enter_async_context(raw(url))
        await fourth.say(GET)
        assert b"200 OK" in await fourth.reader.readuntil(b'"hello"\n')
        assert await rest(second) == ""
        await first.say(GET)
        assert b"200 OK" in await first.reader.readuntil(b'"hello"\n')
        assert len(found.connections) == 3


async def test_while_all_connections_are_busy_whoever_comes_has_to_wait() -> None:
    slow, found = Slow(), port(connections=2)
    async with hello(port=found, routes=slow.routes) as url:
        waiting = [asyncio.create_task(ask(f"{url}/slow")) for _ in range(2)]
        await until(lambda: found.at_work == 2)
        late = [asyncio.create_task(ask(url)) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert len(found.connections) == 2
        assert not any(one.done() for one in late)
        slow.go.set()
        assert [(await one).status for one in (*waiting, *late)] == [200] * 5


async def test_whoever_waits_for_a_place_gets_that_of_the_first_that_falls_idle() -> None:
    slow, found = Slow(), port(connections=1)
    async with hello(port=found, routes=slow.routes) as url, raw(url) as kept:
        await kept.say("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: found.at_work)
        late = asyncio.create_task(ask(url))
        await asyncio.sleep(0.05)
        slow.go.set()
        assert (await late).status == 200
        assert (await rest(kept)).endswith('"at last"\n')


async def test_handshakes_that_do_not_end_are_given_up_and_leave_room_for_others() -> None:
    context = ReloadingContext(CERTIFICATES / "server.pem", CERTIFICATES / "server.key").context
    found = port(connections=2, handshake_seconds=0.3)
    async with hello(tls=context, port=found) as url, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(raw(url)) for _ in range(4)]
        async with asyncio.timeout(30):
            assert (await ask(url, tls=trusting())).status == 200
        assert [await rest(one) for one in silent] == [""] * 4


async def test_every_address_of_a_host_is_listened_at_with_one_port() -> None:
    sockets = await listening_sockets("", 0)
    try:
        assert len({found.getsockname()[1] for found in sockets}) == 1
        assert {socket.AF_INET} <= {found.family for found in sockets}
        with pytest.raises(OSError, match="in use"):
            await listening_sockets("", sockets[0].getsockname()[1])
    finally:
        for found in sockets:
            found.close()

"""Asking pods over the network: with servers on this machine, which answer or do not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_network

import msgspec
import pytest

from tests.support.waiting import until
from vsched.clock import SystemClock
from vsched.controllers.flows import words
from vsched.controllers.flows.prober import Prober, ProbeSettings, is_own
from vsched.controllers.flows.probes import ANSWERED, NetworkProbe, PodProbe

pytestmark = pytest.mark.real_time

SOON = ProbeSettings(timeout_seconds=0.3, period_seconds=0.05, spacing_seconds=0.0, loopback=True)
KEY = "JobFlow x/f"

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def saying(text: bytes) -> Answering:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        await writer.drain()
        writer.close()

    return answer


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            writer.write(b"x" * 4096)
            await writer.drain()
    except ConnectionError:
        writer.close()


@asynccontextmanager
async def listening(answer: Answering) -> AsyncIterator[int]:
    """The port of a server on this machine."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def probing(told: Callable[[str], None] = lambda key: None, **settings: object) -> AsyncIterator[Prober]:
    prober = Prober(SystemClock(), told, msgspec.structs.replace(SOON, **settings))
    running = asyncio.create_task(prober.run())
    try:
        yield prober
    finally:
        running.cancel()
        await asyncio.wait((running,))


def ask(port: int, path: str | None = "/", pod: str = "p", address: str = "127.0.0.1") -> PodProbe:
    return PodProbe(NetworkProbe("t", port, path), "u", pod, address)


@pytest.mark.parametrize(
    ("answer", "path", "wanted"),
    [
        pytest.param(saying(b"HTTP/1.1 200 OK\r\n\r\nmore"), "/", ANSWERED, id="it answers"),
        pytest.param(saying(b"HTTP/1.1 503 no\r\n\r\n"), "/", "answered 503", id="it is not ready"),
        pytest.param(
            saying(b"HTTP/1.1 302 no\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
            "/",
            ANSWERED,
            id="a redirect is not followed",
        ),
        pytest.param(saying(b""), "/", words.CLOSED_WITHOUT_ANSWER, id="it closes"),
        pytest.param(silent, "/", words.no_answer_within(0.3), id="it says nothing"),
        pytest.param(silent, None, ANSWERED, id="to accept a connection is enough for tcpSocket"),
        pytest.param(endless, "/", words.NOT_HTTP, id="it sends without end"),
    ],
)
async def test_what_came_of_it(answer: Answering, path: str | None, wanted: str) -> None:
    async with listening(answer) as port, probing() as prober:
        asked = ask(port, path)
        prober.want(KEY, (asked,))
        assert await until(lambda: prober.answers(KEY)) == {asked: wanted}


async def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        async with probing() as prober:
            asked = ask(taken.getsockname()[1])
            prober.want(KEY, (asked,))
            assert await until(lambda: prober.answers(KEY)) == {asked: "connection refused"}


async def test_the_own_machine_is_not_asked() -> None:
    met = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.append(writer)
        writer.close()

    async with listening(answer) as port, probing(loopback=False) as prober:
        asked = ask(port)
        prober.want(KEY, (asked,))
        assert await until(lambda: prober.answers(KEY)) == {asked: words.no_address_of_a_pod("127.0.0.1")}
        assert met == []


def test_the_addresses_of_this_machine_are_its_own() -> None:
    assert is_own("127.0.0.1")
    assert not is_own("198.51.100.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.connect(("198.51.100.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has no way to others, and no address for it")
        assert is_own(trial.getsockname()[0])


async def test_outside_of_the_networks_of_pods_nobody_is_asked() -> None:
    async with listening(silent) as port, probing(networks=(ip_network("10.0.0.0/8"),)) as prober:
        asked = ask(port)
        prober.want(KEY, (asked,))
        told = words.in_no_network("127.0.0.1", "10.0.0.0/8")
        assert await until(lambda: prober.answers(KEY)) == {asked: told}


async def test_rounds_are_repeated_and_end_with_the_first_that_does_not_answer() -> None:
    rounds: list[str] = []
    async with listening(saying(b"HTTP/1.1 503 no\r\n\r\n")) as port, probing(rounds.append, at_once=2) as prober:
        asks = tuple(ask(port, pod=f"p{number}") for number in range(10))
        prober.want(KEY, asks)
        await until(lambda: len(rounds) >= 3)
        assert set(prober.answers(KEY)) == set(asks[:2])
        assert set(rounds) == {KEY}
        prober.forget(KEY)
        assert (len(prober), prober.answers(KEY)) == (0, {})


async def test_a_round_that_takes_too_long_does_not_hold() -> None:
    async with listening(saying(b"HTTP/1.1 200 OK\r\n\r\n")) as port, probing(at_once=1, round_seconds=0.0) as prober:
        first, second = ask(port, pod="p0"), ask(port, pod="p1")
        prober.want(KEY, (first, second))
        answers = await until(lambda: prober.answers(KEY))
        assert answers[first] != ANSWERED


async def test_a_namespace_with_many_slow_probes_does_not_keep_others_waiting() -> None:
    async with listening(silent) as slow, listening(saying(b"HTTP/1.1 200 OK\r\n\r\n")) as quick:
        queue = msgspec.structs.replace(SOON.workqueue, workers=2)
        async with probing(timeout_seconds=0.5, workqueue=queue) as prober:
            for number in range(100):  # fifty seconds, if they were asked one after the other
                prober.want(f"JobFlow hostile/{number}", (ask(slow),))
            for number in range(5):
                prober.want(f"JobFlow x/{number}", (ask(quick),))
            await until(lambda: all(prober.answers(f"JobFlow x/{number}") for number in range(5)))
            assert prober.counts["failed"] <= 5


async def test_other_pods_are_asked_at_once_and_old_answers_are_forgotten() -> None:
    async with listening(saying(b"HTTP/1.1 200 OK\r\n\r\n")) as port, probing(period_seconds=600.0) as prober:
        prober.want(KEY, (ask(port, pod="p0"),))
        await until(lambda: prober.answers(KEY))
        other = ask(port, pod="p1")
        prober.want(KEY, (other,))
        assert prober.answers(KEY) == {}
        assert await until(lambda: prober.answers(KEY)) == {other: ANSWERED}


async def test_answers_from_before_this_process_led_again_are_not_believed() -> None:
    prober = Prober(SystemClock(), lambda key: None, msgspec.structs.replace(SOON, period_seconds=600.0))
    async with listening(saying(b"HTTP/1.1 200 OK\r\n\r\n")) as port:
        prober.want(KEY, (ask(port),))
        for led in (True, False):
            running = asyncio.create_task(prober.run())
            if led:
                await until(lambda: prober.answers(KEY))
            else:
                await until(lambda: not prober.answers(KEY))
            running.cancel()
            await asyncio.wait((running,))

"""Connections to the server, spoken to byte by byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trustme

from tests.support.waiting import until
from vsched.sim.http import connection as connections
from vsched.sim.http.connection import Later, ServerConnection
from vsched.sim.http.heads import head_of
from vsched.sim.http.reader import Request
from vsched.sim.http.server import HttpServer

MOST = 1 << 20
PLAIN = head_of(200, (("Content-Type", "text/plain"),))
KEPT = b"GET /now HTTP/1.1\r\n\r\n"
LAST = b"GET /now HTTP/1.1\r\nConnection: close\r\n\r\n"


class Answers:
    """Answers as the path says: ``/now``, ``/later``, ``/parts``, ``/endless`` or ``/half``."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.released = asyncio.Event()
        self.ended = 0
        """Answers that were under way when they were ended."""
        self.sent = 0
        """Parts of endless answers."""

    def __call__(self, request: Request, connection: ServerConnection) -> Later | None:
        self.asked.append(request.target)
        match request.target.split("/")[1]:
            case "later":
                return lambda: self._later(connection)
            case "parts":
                return lambda: self._parts(connection)
            case "endless":
                return lambda: self._endless(connection)
            case "half":
                connection.send_half(PLAIN, b"abcd")
            case "fail":
                return self._fail
            case _ if request.too_large:
                connection.send(head_of(413, ()), b"too large")
            case _:
                connection.send(PLAIN, request.body or b"now")
        return None

    async def _later(self, connection: ServerConnection) -> None:
        await self.released.wait()
        connection.send(PLAIN, b"later")

    async def _fail(self) -> None:
        raise LookupError("it happens")

    async def _parts(self, connection: ServerConnection) -> None:
        connection.begin(PLAIN)
        for part in (b"a", b"", b"bc"):
            await connection.write(part)
        connection.end()

    async def _endless(self, connection: ServerConnection) -> None:
        connection.begin(PLAIN)
        try:
            while True:
                await connection.write(b"x" * 65536)
                self.sent += 1
        finally:
            self.ended += 1


class Client:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Code, headers and body of an answer with a length."""
        status, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return int(status.split()[1]), headers, await self.reader.readexactly(int(headers["content-length"]))

    async def rest(self) -> bytes:
        """What comes until the connection ends."""
        return await self.reader.read()


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
async def server(answers: Answers) -> AsyncIterator[HttpServer]:
    server = HttpServer(answers, MOST)
    await server.start("127.0.0.1", 0)
    yield server
    await server.close()


@asynccontextmanager
async def connected(server: HttpServer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Client]:
    assert server.address is not None
    host, port = server.address
    reader, writer = await asyncio.open_connection(host, port, ssl=tls, server_hostname="localhost" if tls else None)
    yield Client(reader, writer)
    writer.close()


@pytest.fixture
async def client(server: HttpServer) -> AsyncIterator[Client]:
    async with connected(server) as client:
        yield client


async def test_requests_that_come_together_are_answered_in_their_order(client: Client, answers: Answers) -> None:
    client.send(KEPT + b"POST /now HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + b"GET /later HTTP/1.1\r\n\r\n" + KEPT)
    assert [(await client.answer())[2] for _ in range(2)] == [b"now", b"hello"]
    await until(lambda: len(answers.asked) == 3)
    answers.released.set()
    assert [(await client.answer())[2] for _ in range(2)] == [b"later", b"now"]


async def test_an_answer_has_a_length_and_a_date(client: Client) -> None:
    client.send(KEPT)
    code, headers, _ = await client.answer()
    assert (code, headers["content-type"], headers["content-length"]) == (200, "text/plain", "3")
    assert headers["date"].endswith(" GMT")
    assert "connection" not in headers


async def test_the_answer_to_head_has_no_body(client: Client) -> None:
    client.send(KEPT.replace(b"GET", b"HEAD") + KEPT)
    assert b"Content-Length: 3\r\n" in await client.reader.readuntil(b"\r\n\r\n")
    assert (await client.answer())[2] == b"now"


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        pytest.param(LAST, "close", id="a client that says so"),
        pytest.param(b"GET /now HTTP/1.0\r\n\r\n", None, id="a client of HTTP/1.0"),
    ],
)
async def test_a_connection_ends_after_its_last_answer_to(client: Client, request_: bytes, said: str | None) -> None:
    client.send(request_)
    _, headers, body = await client.answer()
    assert (headers.get("connection"), body, await client.rest()) == (said, b"now", b"")


async def test_a_client_of_http_1_0_may_keep_its_connection(client: Client) -> None:
    for _ in range(2):
        client.send(b"GET /now HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert (await client.answer())[1]["connection"] == "keep-alive"


async def test_a_long_answer_comes_in_chunks_and_another_may_follow(client: Client) -> None:
    client.send(b"GET /parts HTTP/1.1\r\n\r\n" + LAST)
    told = await client.rest()
    assert told.count(b"HTTP/1.1 200 OK") == 2
    head, _, body = told.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert body.startswith(b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")


async def test_a_client_of_http_1_0_gets_a_long_answer_without_chunks(client: Client) -> None:
    client.send(b"GET /parts HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    head, _, body = (await client.rest()).partition(b"\r\n\r\n")
    assert b"Transfer-Encoding" not in head
    assert body == b"abc"


async def test_who_asks_is_told_to_continue(client: Client) -> None:
    client.send(b"POST /now HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
    assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send(b"hello")
    assert (await client.answer())[2] == b"hello"


async def test_a_body_that_is_too_long_is_answered_although_it_is_still_sent(client: Client) -> None:
    length = 8 * MOST
    client.send(b"POST /now HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % length + b"x" * length)
    await client.writer.drain()
    code, headers, body = await client.answer()
    assert (code, headers["connection"], body) == (413, "close", b"too large")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", 400, id="another protocol"),
        pytest.param(b"GET / HTTP/2.0\r\n\r\n", 505, id="another version"),
        pytest.param(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400, id="an odd chunk"),
    ],
)
async def test_what_is_no_request_is_refused(client: Client, sent: bytes, code: int) -> None:
    client.send(sent)
    told, headers, _ = await client.answer()
    assert (told, headers["connection"]) == (code, "close")


async def test_who_goes_on_sending_after_a_refusal_is_cut_off(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LINGER_SECONDS", 0.01)
    client.send(b"nonsense\r\n\r\n")
    assert (await client.answer())[0] == 400
    assert await client.rest() == b""


async def test_half_an_answer_ends_the_connection(client: Client) -> None:
    client.send(b"GET /half HTTP/1.1\r\n\r\n")
    head, _, body = (await client.rest()).partition(b"\r\n\r\n")
    assert b"Content-Length: 4" in head
    assert body == b"ab"


@pytest.mark.parametrize(
    "leaves", [lambda client: client.writer.close(), lambda client: client.writer.transport.abort()]
)
async def test_an_answer_ends_with_its_client(
    server: HttpServer, answers: Answers, leaves: Callable[[Client], None]
) -> None:
    async with connected(server) as client:
        client.send(b"GET /endless HTTP/1.1\r\n\r\n")
        await client.reader.readexactly(100)
        leaves(client)
        await until(lambda: answers.ended)
        await until(lambda: not server.connections)


async def test_a_client_that_does_not_read_is_not_sent_more(
    client: Client, answers: Answers, server: HttpServer
) -> None:
    client.send(b"GET /endless HTTP/1.1\r\n\r\n")
    [connection] = await until(lambda: server.connections)
    await until(lambda: connection.waits_for_client)
    sent = answers.sent
    for _ in range(20):
        await asyncio.sleep(0)
    assert answers.sent == sent
    while answers.sent == sent:
        assert await client.reader.read(1 << 20)


async def test_requests_wait_while_their_client_reads_no_answers(client: Client, answers: Answers) -> None:
    sent = b"POST /now HTTP/1.1\r\nContent-Length: 65536\r\n\r\n" + b"x" * 65536
    number = 200
    sending = asyncio.create_task(_send_all(client, sent * number))
    for _ in range(number):
        assert len((await client.answer())[2]) == 65536
    await sending
    assert len(answers.asked) == number


async def _send_all(client: Client, data: bytes) -> None:
    client.send(data)
    await client.writer.drain()


async def test_what_comes_while_an_answer_is_waited_for_has_a_bound(
    client: Client, answers: Answers, server: HttpServer
) -> None:
    client.send(b"GET /later HTTP/1.1\r\n\r\n" + KEPT * 15_000)
    [connection] = await until(lambda: server.connections)
    await until(lambda: connection.held)
    assert len(answers.asked) == 1
    answers.released.set()
    for _ in range(15_001):
        await client.answer()
    assert not connection.held


async def test_an_answer_that_fails_ends_its_connection(client: Client, server: HttpServer) -> None:
    seen: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: seen.append(context["exception"]))
    client.send(b"GET /fail HTTP/1.1\r\n\r\n")
    assert await client.rest() == b""
    await until(lambda: not server.connections)


async def test_a_connection_that_rests_for_long_is_ended_and_one_in_use_is_not(
    server: HttpServer, answers: Answers
) -> None:
    async with connected(server) as resting, connected(server) as waiting:
        waiting.send(b"GET /later HTTP/1.1\r\n\r\n")
        resting.send(KEPT)
        await resting.answer()
        await until(lambda: len(answers.asked) == 2)
        server.end_idle()
        assert len(server.connections) == 2

        server.idle_seconds = 0.0
        server.end_idle()
        assert await resting.rest() == b""
        answers.released.set()
        assert (await waiting.answer())[2] == b"later"


@pytest.mark.real_time
async def test_the_end_of_the_server_ends_what_is_under_way(answers: Answers) -> None:
    server = HttpServer(answers, MOST)
    await server.start("127.0.0.1", 0)
    async with connected(server) as busy, connected(server) as quiet:
        busy.send(b"GET /endless HTTP/1.1\r\n\r\n")
        await busy.reader.readexactly(100)
        quiet.send(KEPT)
        await quiet.answer()
        await server.close()
        assert answers.ended == 1
        assert await quiet.rest() == b""
    assert not server.connections


async def test_answers_over_tls(answers: Answers) -> None:
    authority = trustme.CA()
    ours, theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(ours)
    authority.configure_trust(theirs)
    server = HttpServer(answers, MOST)
    await server.start("127.0.0.1", 0, ours)
    async with connected(server, theirs) as client:
        client.send(KEPT + b"POST /now HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100000 + LAST)
        assert [len((await client.answer())[2]) for _ in range(3)] == [3, 100000, 3]
        assert await client.rest() == b""
    await server.close()


def test_a_header_cannot_be_broken_out_of() -> None:
    with pytest.raises(ValueError, match="line break"):
        head_of(200, (("Warning", "a\r\nb: c"),))

"""A server that answers as the path of a request says: well, torn, late, wrong or not at all."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self

import trustme

PATIENCE_SECONDS = 60.0


class Asked(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    certificate: str
    """The common name on the client's certificate; empty where it shows none."""


class Cut(bytes):
    """Bytes with which a connection ends."""


class RawServer:
    """Counts connections and requests. ``/HOW/...`` says how a request is answered, with its own body."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._server: asyncio.Server | None = None
        self.connections = 0
        self.ended = 0
        """Connections that are no more."""
        self.open: list[asyncio.StreamWriter] = []
        """The others, in the order in which they were opened."""
        self._moved = asyncio.Event()
        """Set whenever one of these changes."""
        self.asked: list[Asked] = []
        self.port = 0
        self.released = asyncio.Event()
        """Answers of the kind ``late`` wait for it."""
        self.answer: Callable[[Asked], bytes] | None = None
        """Gives the bytes of every answer, where it is set. With ``Cut`` the connection ends."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self.released.set()
        self._server.close()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until this is so: looked at whenever a connection or a request has come, or a connection has gone."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds():
                self._moved.clear()
                await self._moved.wait()

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.append(writer)
        self._moved.set()
        try:
            while (asked := await _read(reader, writer)) is not None:
                self.asked.append(asked)
                self._moved.set()
                if not await self._answer(asked, writer):
                    return
        except ConnectionError:
            return
        finally:
            writer.transport.abort()
            self.open.remove(writer)
            self.ended += 1
            self._moved.set()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays."""
        if self.answer is None:
            return await HOW[asked.path.split("/")[1]](self, asked, writer)
        said = self.answer(asked)
        writer.write(said)
        if isinstance(said, Cut):
            await _close(writer)
            return False
        return True


async def _close(writer: asyncio.StreamWriter) -> None:
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers.get("Content-Length", 0)))
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        return None
    method, path, _ = head[0].split(" ")
    shown = writer.get_extra_info("peercert") or {}
    names = [value for part in shown.get("subject", ()) for key, value in part if key == "commonName"]
    return Asked(method, path, headers, body, "".join(names))


def ok(body: bytes, *more: str, status: str = "201 Created") -> bytes:
    """A plain answer."""
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *more, f"Content-Length: {len(body)}"))
    return f"{head}\r\n".encode() + body


def chunked(body: bytes, *more: str) -> bytes:
    """The same in chunks of one byte."""
    head = "".join(f"{line}\r\n" for line in ("HTTP/1.1 201 Created", *more, "Transfer-Encoding: chunked"))
    return f"{head}\r\n".encode() + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"


def _sends(make: Callable[[Asked], bytes], *, stays: bool = True) -> How:
    async def answer(server: RawServer, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(make(asked))
        await writer.drain()
        if not stays:
            await _close(writer)
        return stays

    return answer


async def _torn(server: RawServer, asked: Asked, writer: asyncio.StreamWriter) -> bool:
    for byte in ok(asked.body):
        writer.write(bytes([byte]))
        await asyncio.sleep(0)
    return True


async def _late(server: RawServer, asked: Asked, writer: asyncio.StreamWriter) -> bool:
    await server.released.wait()
    writer.write(ok(asked.body))
    return True


async def _stalls(server: RawServer, asked: Asked, writer: asyncio.StreamWriter) -> bool:
    answer = ok(asked.body)
    writer.write(answer[:-1])
    await server.released.wait()
    writer.write(answer[-1:])
    return True


async def _announces(server: RawServer, asked: Asked, writer: asyncio.StreamWriter) -> bool:
    while True:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.001)


async def _reset(server: RawServer, asked: Asked, writer: asyncio.StreamWriter) -> bool:
    writer.write(ok(asked.body)[:-1])
    await writer.drain()
    return False


async def _cut(server: RawServer, asked: Asked, writer: asyncio.StreamWriter) -> bool:
    return False


How = Callable[[RawServer, Asked, asyncio.StreamWriter], Awaitable[bool]]
"""Answers a request; False if that ends the connection."""

HOW: dict[str, How] = {
    "well": _sends(lambda asked: ok(asked.body)),
    "torn": _torn,
    "chunked": _sends(lambda asked: chunked(asked.body)),
    "announced": _sends(lambda asked: b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + ok(asked.body)),
    "later": _sends(lambda asked: ok(asked.body, "Retry-After: 1", status="429 Too Many Requests")),
    "last": _sends(lambda asked: ok(asked.body, "Connection: close")),
    "closing": _sends(lambda asked: b"HTTP/1.1 200 OK\r\n\r\n" + asked.body, stays=False),
    "twice": _sends(lambda asked: ok(asked.body) + ok(b"nobody asked")),
    "garbage": _sends(lambda asked: b"\x15\x03\x01\r\n\r\n"),
    "short": _sends(lambda asked: ok(asked.body)[:-1], stays=False),
    "middle": _sends(lambda asked: chunked(asked.body, "Connection: close")[:-9], stays=False),
    "lengths": _sends(lambda asked: ok(asked.body, "Content-Length: 1000")),
    "reset": _reset,
    "late": _late,
    "stalls": _stalls,
    "announces": _announces,
    "cut": _cut,
}
GOOD = ("well", "torn", "chunked", "announced", "later", "last", "closing", "twice")
"""How requests are answered that get an answer."""
ENDLESS = ("late", "stalls", "announces")
"""How requests are answered that end with their time only."""


def tls_of(authority: trustme.CA, *, asks: bool = False) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server on the loopback and of its clients; ``asks``: clients have to show a certificate."""
    serving, asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    authority.configure_trust(asking)
    if asks:
        authority.configure_trust(serving)
        serving.verify_mode = ssl.CERT_REQUIRED
    return serving, asking

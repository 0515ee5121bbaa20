"""A cheap HTTP client, for creating thousands of objects at an embedded cluster on this machine.

It speaks just enough HTTP for that: no TLS, no chunked answers, no retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from vsched.errors import Unavailable
from vsched.kube.client import JSON
from vsched.kube.errors import error_from_answer

Obj = dict[str, Any]

IN_FLIGHT = 32
"""Requests on the wire at once."""


class SenderConnection(NamedTuple):
    """One kept connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def usable(self) -> bool:
        return not self.reader.at_eof() and not self.writer.is_closing()

    async def exchange(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a request; returns code, headers and body of the answer."""
        self.writer.write(request)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        length = int(headers.get("content-length", "0"))
        return int(head[0].split(" ", 2)[1]), headers, await self.reader.readexactly(length)


class Sender:
    """Requests over a fixed number of kept connections, one at a time on each."""

    def __init__(self, server: str, connections: int = IN_FLIGHT) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._server, self._at = server, parts.netloc
        self._free: asyncio.Queue[SenderConnection | None] = asyncio.Queue()
        for _ in range(connections):
            self._free.put_nowait(None)
        self._open: set[SenderConnection] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._open:
            connection.writer.close()

    async def send(
        self, method: str, path: str, body: bytes = b"", sending: Callable[[], None] = lambda: None
    ) -> bytes:
        """The body of a successful answer; calls ``sending`` when the request goes on the wire. Raises ApiError."""
        connection = await self._free.get()
        reusable: SenderConnection | None = None
        try:
            connection = connection if connection is not None and connection.usable else await self._connect()
            sending()
            code, headers, content = await connection.exchange(self._request(method, path, body))
            reusable = connection
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise Unavailable(f"{self._server}: {method} {path}: {error or type(error).__name__}") from error
        finally:
            if reusable is None and connection is not None:
                # An answer that still arrives on it would be taken for that of the next request.
                connection.writer.close()
                self._open.discard(connection)
            self._free.put_nowait(reusable)
        if code >= 300:
            raise error_from_answer(f"{self._server}: {method} {path}", code, headers, content)
        return content

    async def _connect(self) -> SenderConnection:
        connection = SenderConnection(*await asyncio.open_connection(self._host, self._port))
        self._open.add(connection)
        return connection

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._at}\r\nAccept: {JSON}\r\nContent-Type: {JSON}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

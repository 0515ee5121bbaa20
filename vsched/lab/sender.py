"""A cheap HTTP client, for creating thousands of objects at an embedded cluster on this machine.

It speaks just enough HTTP for that, over TLS where the cluster does: no time-outs, no retries.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from vsched.errors import Unavailable
from vsched.kube.client import JSON
from vsched.kube.errors import error_from_answer
from vsched.kube.http.link import Link
from vsched.together import first_error

Obj = dict[str, Any]

IN_FLIGHT = 32
"""Requests on the wire at once."""
ANSWER_BYTES = 1 << 30
"""The longest answer that is accepted."""


class Sender:
    """Requests over a fixed number of kept connections, one at a time on each."""

    def __init__(self, server: str, connections: int = IN_FLIGHT, tls: ssl.SSLContext | None = None) -> None:
        """``tls`` is what the server's certificate is checked with; None for plain http."""
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._tls = tls
        self._server = server
        self._fixed = f"Host: {parts.netloc}\r\nAccept: {JSON}\r\nContent-Type: {JSON}\r\n"
        self._connections = connections
        self._free: asyncio.Queue[Link | None] = asyncio.Queue()
        for _ in range(connections):
            self._free.put_nowait(None)
        self._open: set[Link] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._open:
            connection.close()

    async def send(
        self, method: str, path: str, body: bytes = b"", sending: Callable[[], None] = lambda: None
    ) -> bytes:
        """The body of a successful answer; calls ``sending`` when the request goes on the wire. Raises ApiError."""
        connection = await self._free.get()
        reusable: Link | None = None
        try:
            connection = connection if connection is not None and not connection.closed else await self._connect()
            sending()
            answer = await connection.exchange(self._request(method, path, body), method, ANSWER_BYTES)
            reusable = connection
        except OSError as error:
            raise Unavailable(f"{self._server}: {method} {path}: {error or type(error).__name__}") from error
        finally:
            if reusable is None and connection is not None:
                # An answer that still arrives on it would be taken for that of the next request.
                connection.close()
                self._open.discard(connection)
            self._free.put_nowait(reusable)
        if answer.code >= 300:
            raise error_from_answer(f"{self._server}: {method} {path}", *answer)
        return answer.body

    async def send_all(self, method: str, wanted: Iterable[tuple[str, bytes]]) -> None:
        """Send many requests, given as path and body, as many at once as there are connections.

        Raises the first ApiError; what is on the wire then is not waited for.
        """
        left = iter(wanted)

        async def some() -> None:
            for path, body in left:
                await self.send(method, path, body)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._connections):
                    tasks.create_task(some())
        except BaseExceptionGroup as errors:
            raise first_error(errors) from errors

    async def _connect(self) -> Link:
        _, connection = await asyncio.get_running_loop().create_connection(Link, self._host, self._port, ssl=self._tls)
        self._open.add(connection)
        return connection

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        return f"{method} {path} HTTP/1.1\r\n{self._fixed}Content-Length: {len(body)}\r\n\r\n".encode() + body

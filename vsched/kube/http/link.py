"""One connection: requests go out on it one after the other, and each waits for its answer."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

from vsched.kube.http.answers import AnswerReader, HttpAnswer, NotHttp, TooLong

USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)
"""The option of that name; None where the system has none."""
KEPT_ALIVE: dict[int, int] = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
}
"""When the kernel asks whether the other end of a quiet connection is still there: seconds, seconds, times."""


class Disconnected(OSError):
    """The connection ended before the answer did."""


class Link(asyncio.Protocol):
    """A connection to a server. It ends with the first thing on it that is not as it should be."""

    def __init__(self) -> None:
        self.closed = False
        self.generation = 0
        """Of the pool, when the connection was opened."""
        self.rests_since = 0.0
        """When the last answer was complete, by the clock of the event loop."""
        self.silent = False
        """Whether nothing has come since the last request was sent."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        """Reads the answer that is waited for; None while nobody waits for one."""
        self._waiter: asyncio.Future[HttpAnswer] | None = None

    def exchange(self, request: bytes, method: str, most_bytes: int) -> asyncio.Future[HttpAnswer]:
        """Send a request; the result is its answer. If the caller stops waiting for it, the link has to be closed."""
        assert self._transport is not None, "a link is used once it is connected"
        assert self._reader is None, "requests go out one after the other"
        self._reader = AnswerReader(method, most_bytes)
        self._waiter = waiter = self._loop.create_future()
        self.silent = True
        self._transport.write(request)
        return waiter

    def mind(self, lost_seconds: float) -> None:
        """Have the kernel end the connection where the other end has gone without a word.

        It does so once nothing of what was sent has been confirmed for so long; and it asks now and then while all is
        quiet. Without that, a request would wait for all its time, and so would the next one.
        """
        end = self._transport.get_extra_info("socket") if self._transport is not None else None
        if end is not None:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in KEPT_ALIVE.items():
                end.setsockopt(socket.IPPROTO_TCP, option, value)
            if USER_TIMEOUT is not None:
                end.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, round(lost_seconds * 1e3))

    def close(self) -> None:
        """End the connection; an answer that is under way is not read."""
        self.closed = True
        self._reader = self._waiter = None
        if self._transport is not None:
            self._transport.abort()

    def fail(self, error: Exception) -> None:
        """End the connection, and the wait for an answer with this error."""
        waiter = self._waiter
        self.close()
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)

    # -- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # that of uvloop is one in all but name

    def data_received(self, data: bytes) -> None:
        self.silent = False
        reader = self._reader
        if reader is None:  # nobody asked
            self.close()
            return
        try:
            complete = reader.feed(data)
        except (NotHttp, TooLong) as error:
            self.fail(error)
            return
        if complete:
            self._succeed(reader)

    def eof_received(self) -> None:
        reader = self._reader
        if reader is not None and reader.end():
            self._succeed(reader)
        else:
            self.fail(Disconnected("Server disconnected"))

    def connection_lost(self, exc: Exception | None) -> None:
        reader = self._reader
        if exc is None and reader is not None and reader.end():
            self._succeed(reader)
        else:
            self.fail(exc or Disconnected("Server disconnected"))

    def _succeed(self, reader: AnswerReader) -> None:
        waiter, self._reader, self._waiter = self._waiter, None, None
        self.rests_since = self._loop.time()
        if not reader.reusable:
            self.close()
        if waiter is not None and not waiter.done():
            waiter.set_result(reader.answer)

"""One connection: requests go out on it one after the other, and each waits for its answer."""

from __future__ import annotations

import asyncio
from typing import cast

from vsched.kube.http.answers import Answer, AnswerReader, NotHttp, TooLong


class Disconnected(OSError):
    """The connection ended before the answer did."""


class Link(asyncio.Protocol):
    """A connection to a server. It ends with the first thing on it that is not as it should be."""

    def __init__(self) -> None:
        self.closed = False
        self.rests_since = 0.0
        """When the last answer was complete, by the clock of the event loop."""
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        """Reads the answer that is waited for; None while nobody waits for one."""
        self._waiter: asyncio.Future[Answer] | None = None

    def exchange(self, request: bytes, method: str, most_bytes: int) -> asyncio.Future[Answer]:
        """Send a request; the result is its answer. If the caller stops waiting for it, the link has to be closed."""
        assert self._transport is not None, "a link is used once it is connected"
        assert self._reader is None, "requests go out one after the other"
        self._reader = AnswerReader(method, most_bytes)
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return waiter

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
        if not reader.reusable:
            self.close()
        if waiter is not None and not waiter.done():
            waiter.set_result(reader.answer)

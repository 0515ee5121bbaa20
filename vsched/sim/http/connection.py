"""One connection to the server: requests come in on it one after the other, and each is answered before the next one.

Most requests are answered at once, in the call in which they came: no task is made for them. What has to be waited for
is a task of its own, which ends with the connection.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import cast

from vsched.sim.http.heads import date_line, head_of
from vsched.sim.http.reader import Request, RequestReader, UnreadableRequest

log = logging.getLogger(__name__)

LINGER_SECONDS = 5.0
"""How long we read on after a refusal, at most: a client whose bytes nobody reads may not see the answer."""
MOST_WAITING_BYTES = 256 << 10
"""How much may come while a request is answered."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)


class ServerConnection(asyncio.Protocol):
    """A connection of a client."""

    def __init__(self, answer: Answerer, others: dict[ServerConnection, None], most_bytes: int) -> None:
        """``others`` are all open connections, this one included while it is open.

        ``most_bytes`` is the longest body of a request.
        """
        self._answer = answer
        self._others = others
        self._reader = RequestReader(most_bytes)
        self._transport: asyncio.Transport
        self._request: Request | None = None
        """The one that is answered; None between two."""
        self._drained: asyncio.Future[None] | None = None
        """Done once the client has read enough; None where it has."""
        self._over = False
        """No further request is read, because the connection ends."""
        self.held = False
        """Whether nothing is read for now, because too much waits."""
        self.begun = False
        """Whether the answer to the present request has begun."""
        self.task: asyncio.Task[None] | None = None
        """What is waited for before the answer is complete."""
        self.used = 0.0
        """When something came last, by the clock of the loop."""

    # -- what answers call

    def send(self, head: bytes, body: bytes) -> None:
        """Send a whole answer; ``head`` is of ``head_of``."""
        request = self._asked()
        sent = b"" if request.method == "HEAD" else body
        more = b"" if request.keeps and request.newest else _keeping(request)
        self._transport.write(b"%b%b%bContent-Length: %d\r\n\r\n%b" % (head, date_line(), more, len(body), sent))

    def begin(self, head: bytes) -> None:
        """Begin an answer whose body comes in parts."""
        request = self._asked()
        framing = b"Transfer-Encoding: chunked\r\n"
        if not request.newest:
            # Such a client knows by the end of the connection that it has everything.
            framing, request = b"", request._replace(keeps=False)
            self._request = request
        self._transport.write(b"%b%b%b%b\r\n" % (head, date_line(), _keeping(request), framing))

    async def write(self, data: bytes) -> None:
        """Send a part of the body, and wait while the client does not read; raises ConnectionResetError."""
        request = self._request
        if request is None or self._transport.is_closing():
            raise ConnectionResetError("the client is gone")
        if data and request.method != "HEAD":
            if request.newest:
                self._transport.writelines((b"%x\r\n" % len(data), data, b"\r\n"))
            else:
                self._transport.write(data)
        if self._drained is not None:
            await self._drained

    def end(self) -> None:
        """All parts of the body were sent."""
        request = self._request
        if request is not None and request.newest and request.method != "HEAD":
            self._transport.write(b"0\r\n\r\n")

    def send_half(self, head: bytes, body: bytes) -> None:
        """Send the first half of an answer, and end the connection."""
        request = self._asked()
        half = body[: len(body) // 2]
        framing = b"%b%bContent-Length: %d\r\n\r\n" % (date_line(), _keeping(request), len(body))
        self._transport.write(b"%b%b%b" % (head, framing, half))
        self.close(flush=True)

    def close(self, *, flush: bool) -> None:
        """End the connection; with ``flush``, what was written before is still sent."""
        self._over = True
        (self._transport.close if flush else self._transport.abort)()

    def _asked(self) -> Request:
        """The request that is answered now."""
        request = self._request
        assert request is not None, "there is no answer without a request"
        assert not self.begun, "a request has one answer"
        self.begun = True
        return request

    # -- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # that of uvloop is one in all but name
        self._others[self] = None
        self.used = asyncio.get_running_loop().time()
        # A quiet watch has no other way to notice that the machine of its client is gone.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        self._reader.feed(data)
        self._work()

    def eof_received(self) -> None:
        """The client sends no more, which is taken as its end: the transport closes."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        self._others.pop(self, None)
        self.resume_writing()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
            # Not from here: it may have been called out of a write.
            asyncio.get_running_loop().call_soon(self._work)

    # -- one request after the other

    @property
    def waits_for_client(self) -> bool:
        """Whether nothing is sent for now, because the client does not read."""
        return self._drained is not None

    @property
    def resting(self) -> bool:
        """Whether nothing is under way."""
        return self._request is None and self._reader.resting

    def _work(self) -> None:
        """Answer what has come, up to a request whose answer has to be waited for."""
        loop, reader = asyncio.get_running_loop(), self._reader
        self.used = loop.time()
        try:
            while self.task is None and self._drained is None and not self._over:
                request = self._request = reader.next()
                if request is None:
                    break
                later = self._answer(request, self)
                if later is not None:
                    self.task = loop.create_task(self._wait_for(later))
                else:
                    self._finish()
        except UnreadableRequest as error:
            self._refuse(error)
        if reader.expected:
            reader.expected = False
            self._transport.write(_CONTINUE)
        if self.held or reader.buffered > MOST_WAITING_BYTES:
            self._hold(reader.buffered > MOST_WAITING_BYTES)

    async def _wait_for(self, answering: Later) -> None:
        try:
            await answering()
        except BaseException:
            # As a connection that fails: what the answer lacks must not look like its end.
            self.close(flush=True)
            raise
        finally:
            self.task = None
        self._finish()
        self._work()

    def _finish(self) -> None:
        """The request is answered."""
        request, self._request = self._request, None
        self.begun = False
        if request is None or request.keeps or self._over:
            return
        if request.too_large:
            self._linger()
        else:
            self.close(flush=True)

    def _refuse(self, error: UnreadableRequest) -> None:
        """Say what is wrong with what came, and end the connection."""
        self._request = error.request
        self.send(head_of(error.code, _TEXT), f"{error}\n".encode())
        self._request, self.begun = None, False
        self._linger()

    def _linger(self) -> None:
        """End the connection once the client does, or after a while."""
        self._over = True
        self._hold(False)
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.close)

    def _hold(self, held: bool) -> None:
        """Have the transport read nothing for now, or go on."""
        if held is not self.held and not self._transport.is_closing():
            self.held = held
            (self._transport.pause_reading if held else self._transport.resume_reading)()


Later = Callable[[], Awaitable[None]]
Answerer = Callable[[Request, ServerConnection], Later | None]
"""Answers a request on its connection; returns what is left to wait for where it cannot do so at once."""


def _keeping(request: Request) -> bytes:
    """The header that says whether further requests may come, where that does not go without saying."""
    if request.newest:
        return b"" if request.keeps else b"Connection: close\r\n"
    return b"Connection: keep-alive\r\n" if request.keeps else b""

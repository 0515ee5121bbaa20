"""Limits of a port: connections, requests at once, bytes of a request's head, and time for each step.

The time to send a body is ``bodies``' business, who knows how long the bodies are that are expected.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from email.utils import formatdate
from typing import Any, cast

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger

from vsched.clock import now
from vsched.web.serve.routing import Handler, as_json
from vsched.web.serve.streams import LongResponse, Stay
from vsched.web.words import answers as words

GRACE_SECONDS = 0.05
LINGER_SECONDS = 1.0
"""For clients that still send a body: without it they would not see the answer."""


class Limits(msgspec.Struct, frozen=True):
    """Bounds of one port."""

    connections: int = 128
    """At once, handshakes included; a further one closes the connection that has been idle for longest."""
    requests: int = 64
    """Being answered at once; further ones get status 503 with ``Retry-After``."""
    line_bytes: int = 8190
    """Of the request line, and of each field of the head."""
    fields: int = 64
    """Of a head."""
    handshake_seconds: float = 10.0
    head_seconds: float = 10.0
    """From the first byte of a head to its last."""
    idle_seconds: float = 75.0
    """Between two requests; longer than Prometheus waits between two scrapes."""
    answer_seconds: float = 30.0
    """From the head to the answer, the body included."""
    send_seconds: float = 30.0
    """How long the client may take to read an answer."""
    life_seconds: float = 3600.0
    """Of a connection, so that clients authenticate again from time to time."""
    recheck_seconds: float = 30.0
    """Between two checks of the access of a client with a long answer."""


class Port:
    """The connections and requests at one port."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.connections: dict[asyncio.BaseTransport, LimitedConnection] = {}
        """Open connections, in the order in which they were last busy."""
        self.at_work = 0
        """Requests being answered."""
        self.refused: Counter[str] = Counter()
        """How many requests were not answered, by status; ``Access`` counts its refusals itself."""
        self._room = asyncio.Event()

    def left(self) -> None:
        """A connection has been closed, or is idle."""
        self._room.set()

    async def wait(self) -> None:
        """Wait until a connection is closed or idle."""
        self._room.clear()
        await self._room.wait()

    def make_room(self) -> bool:
        """Close the connection that has been idle for longest; False if there is none."""
        idle = next((connection for connection in self.connections.values() if not connection.busy), None)
        if idle is not None:
            idle.close_soon()
        return idle is not None


def server_settings(port: Port, read_bytes: int) -> dict[str, Any]:
    """Limits that aiohttp applies itself, as keyword arguments of ``web.AppRunner``."""
    limits = port.limits
    return {
        "access_log": None,
        "logger": Faults(port),
        # Ours is over before: it ends connections whose other side does not even fetch the last answer.
        "keepalive_timeout": 2.0 * limits.idle_seconds,
        "lingering_time": LINGER_SECONDS,
        "max_line_size": limits.line_bytes,
        "max_field_size": limits.line_bytes,
        "max_headers": limits.fields,
        "read_bufsize": read_bytes,
    }


class LimitedConnection(asyncio.Protocol):
    """One connection with time limits. It passes all data on to aiohttp's own protocol."""

    def __init__(self, port: Port, http: asyncio.Protocol) -> None:
        self._port = port
        self._http = http
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None
        self._made = 0.0
        self._heading = True
        """Whether a request's head is expected within its time limit."""
        self.busy = False
        """Whether a request is being answered."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the connection is closed by either side."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # That of uvloop for TLS is one in all but name.
        self._transport = cast("asyncio.Transport", transport)
        self._port.connections[transport] = self
        self._made = asyncio.get_running_loop().time()
        self._wait(self._port.limits.head_seconds)
        self._http.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._port.connections.pop(self._transport, None)
        self._port.left()
        self._stop_timer()
        if not self.gone.done():
            self.gone.set_result(None)
        self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._http.data_received(data)
        if not self.busy and not self._heading:
            self._heading = True
            self._wait(self._port.limits.head_seconds)

    def eof_received(self) -> bool | None:
        return self._http.eof_received()

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()

    def begin(self) -> None:
        """A head is complete."""
        self.busy = True
        self._stop_timer()

    def end(self) -> None:
        """The request has been answered."""
        self.busy = self._heading = False
        if self._port.connections.pop(self._transport, None) is not None:
            self._port.connections[self._transport] = self
            self._wait(self._port.limits.idle_seconds)
            self._port.left()

    @property
    def old(self) -> bool:
        """Whether the connection is to be closed after this request."""
        return asyncio.get_running_loop().time() - self._made >= self._port.limits.life_seconds

    def hang_up(self) -> None:
        """Close the connection at once, whatever is under way."""
        self._transport.abort()

    def close_soon(self) -> None:
        """Close the connection once the client has read the answer, after a moment at most; it no longer counts."""
        self._port.connections.pop(self._transport, None)
        self._transport.close()
        self._wait(LINGER_SECONDS)

    def _wait(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._late)

    def _late(self) -> None:
        # A head that came this moment, or while the loop was held up, begins a few turns of the loop later.
        self._timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._too_late)

    def _too_late(self) -> None:
        self._timer = None
        if self._heading:
            self._port.refused["408"] += 1
        self.hang_up()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Faults:
    """The logger of aiohttp: our own errors are logged in full, and errors of clients are only counted.

    Its texts about theirs quote what was sent, tokens and all, and there is no end to them.
    """

    def __init__(self, port: Port) -> None:
        self._port = port

    def debug(self, text: str, *values: object, exc_info: object = None) -> None:
        """An invalid head, the first of a connection."""
        self._port.refused["400"] += 1

    def exception(self, text: str, *values: object, exc_info: BaseException | None = None) -> None:
        """An invalid head, or an error of our own."""
        if isinstance(exc_info, HttpProcessingError):
            self._port.refused["400"] += 1
        else:
            server_logger.error(text, *values, exc_info=exc_info)


def bounded(port: Port) -> Any:
    """The middleware that applies the limits of a port."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        connection = port.connections.get(request.transport) if request.transport is not None else None
        if connection is None:
            return web.Response(status=503)  # which nobody is there to read
        connection.begin()
        port.at_work += 1
        try:
            response = await _answer(port, request, handler)
            response.headers["Server"] = "vsched"
            response.headers["Date"] = formatdate(now(), usegmt=True)
            if isinstance(response, LongResponse):
                await _go_on(port, response, request, connection)
                return response
            if connection.old:
                response.force_close()
            await _send(response, request, connection, port.limits.send_seconds)
            return response
        finally:
            port.at_work -= 1
            connection.end()

    return middleware


async def _answer(port: Port, request: web.Request, handler: Handler) -> web.StreamResponse:
    limits = port.limits
    if port.at_work > limits.requests:
        return _later(port, words.TOO_MANY_REQUESTS)
    try:
        async with asyncio.timeout(limits.answer_seconds):
            return await handler(request)
    except TimeoutError:
        return _later(port, words.no_answer_within(limits.answer_seconds))
    except web.HTTPException as error:
        kept = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
        return as_json({"error": f"{error.status}: {error.reason}"}, error.status, kept)


def _later(port: Port, text: str) -> web.Response:
    port.refused["503"] += 1
    return as_json({"error": text}, 503, {"Retry-After": "1"})


async def _send(
    response: web.StreamResponse, request: web.Request, connection: LimitedConnection, seconds: float
) -> None:
    """Send an answer here, because aiohttp would wait for ever for clients that do not read."""
    try:
        async with asyncio.timeout(seconds):
            # The client may have gone.
            with suppress(ConnectionError):
                await response.prepare(request)
                await response.write_eof()
    except TimeoutError:
        connection.hang_up()


async def _go_on(port: Port, response: LongResponse, request: web.Request, connection: LimitedConnection) -> None:
    """A long answer does not count as a request being answered; its handler limits the number of such answers.

    It ends with its connection's life. What it sends at a time has to be fetched in time like any answer.
    """
    limits = port.limits
    stay = Stay(response, connection.gone, lambda: not connection.old, limits.send_seconds, limits.recheck_seconds)
    response.force_close()
    port.at_work -= 1
    try:
        with suppress(ConnectionError):
            await stay.within(response.prepare(request))
            await response.last(stay)
            await stay.within(response.write_eof())
    except TimeoutError:
        connection.hang_up()
    finally:
        port.at_work += 1

"""A few kept connections to one server, and the requests that go out on them."""

from __future__ import annotations

import asyncio
import ssl
from math import inf

import msgspec
from yarl import URL

from vsched.errors import BadInput
from vsched.kube.http.answers import HttpAnswer
from vsched.kube.http.link import Disconnected, Link
from vsched.kube.http.slots import Slots
from vsched.kube.words import answers as words

Headers = tuple[tuple[str, str], ...]

REPEATED = frozenset({"GET", "HEAD", "PUT", "DELETE"})
"""Methods whose requests are sent once more where their connection ends: it may have been at its end before."""


class NotConnected(OSError):
    """There is no connection, so nothing was sent."""


class PoolSettings(msgspec.Struct, frozen=True):
    """Limits of a pool."""

    connections: int
    """How many requests are on the wire at once; more wait."""
    connect_seconds: float
    answer_bytes: int
    """The longest answer that is accepted."""
    rest_seconds: float = 60.0
    """A connection that was not used for so long is not used again: what is between may have forgotten it."""
    lost_seconds: float = 10.0
    """How long the other end may confirm nothing of what was sent until the kernel gives the connection up."""


class Pool:
    """Sends requests to one server; connections are opened as they are needed, and kept."""

    def __init__(
        self, server: str, tls: ssl.SSLContext | None, server_name: str | None, headers: Headers, settings: PoolSettings
    ) -> None:
        """``server`` may have a path, which comes before those of requests; ``headers`` are sent with every request."""
        url = URL(server, encoded=True)
        self._host, self._port, self._root = url.raw_host or "", url.port or 80, url.raw_path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if url.scheme == "https" else None
        self._server_name = server_name
        self._settings = settings
        at = url.host_port_subcomponent or ""
        self._fixed = _encoded((("Host", at), *headers))
        self._last: tuple[tuple[object, str], bytes] | None = None
        self._slots = Slots(settings.connections)
        self._resting: list[Link] = []
        """Connections that are free; the last one was used last."""
        self._busy: dict[Link, float] = {}
        """Connections on which a request is under way, and until when it may be."""
        self._generation = 0
        """How often connections were renewed; those of an earlier generation are not used again."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self.closed = False

    def close(self) -> None:
        """End all connections; requests under way fail."""
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        for link in tuple(self._busy):
            link.fail(Disconnected(words.CLIENT_IS_CLOSED))
        self.renew()

    def renew(self) -> None:
        """Use no connection again that is open now: who we are to the server has changed, or it may be gone."""
        self._generation += 1
        for link in self._resting:
            link.close()
        self._resting.clear()

    async def exchange(
        self, method: str, path: str, headers: Headers, content_type: str, body: bytes, seconds: float
    ) -> HttpAnswer:
        """The answer to a request within so many seconds.

        Raises TimeoutError, and OSError where there is no answer: NotConnected where nothing was sent.
        """
        request = self._request(method, path, headers, content_type, body)
        now = asyncio.get_running_loop().time()
        until = now + seconds
        if not self._slots.take_now():
            async with asyncio.timeout_at(until):
                await self._slots.take()
            now = asyncio.get_running_loop().time()
        try:
            try:
                return await self._on(self._rested(now) or await self._connected(until), request, method, until)
            except (Disconnected, ConnectionError):
                if method not in REPEATED or self.closed:
                    raise
            return await self._on(await self._connected(until), request, method, until)
        finally:
            self._slots.give()

    async def _on(self, link: Link, request: bytes, method: str, until: float) -> HttpAnswer:
        self._busy[link] = until
        if self._timer is None or self._timer_at > until:
            self._look_at(until)
        try:
            answer = await link.exchange(request, method, self._settings.answer_bytes)
        except BaseException:
            link.close()  # an answer that still came on it would be taken for that of the next request
            raise
        finally:
            del self._busy[link]
        if link.generation != self._generation:
            link.close()
        elif not link.closed:
            self._resting.append(link)
        return answer

    # -- time-outs: one timer for all requests, which cost less than one each

    def _look_at(self, until: float) -> None:
        """Look at the requests under way at this time."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = until
        self._timer = asyncio.get_running_loop().call_at(until, self._look)

    def _look(self) -> None:
        """End the requests whose time is over."""
        self._timer = None
        now = asyncio.get_running_loop().time()
        silent, left = False, inf
        for link, until in tuple(self._busy.items()):
            if until <= now:
                silent = silent or link.silent
                link.fail(TimeoutError())
            else:
                left = min(left, until)
        if left < inf:
            self._look_at(left)
        if silent:
            self.renew()  # what swallowed one request may swallow those on the other connections, too

    # -- connections

    def _rested(self, now: float) -> Link | None:
        """The free connection that was used last; those that rested too long are closed."""
        oldest = now - self._settings.rest_seconds
        while self._resting:
            link = self._resting.pop()
            if not link.closed and link.rests_since >= oldest:
                return link
            link.close()
        return None

    async def _connected(self, until: float) -> Link:
        """A new connection, by this time at the latest."""
        async with asyncio.timeout_at(until):
            return await self._connect()

    async def _connect(self) -> Link:
        generation = self._generation
        try:
            async with asyncio.timeout(self._settings.connect_seconds):
                _, link = await asyncio.get_running_loop().create_connection(
                    Link, self._host, self._port, ssl=self._tls, server_hostname=self._name_to_check()
                )
        except TimeoutError as error:
            raise NotConnected(words.no_connection_in_time(self._problem())) from error
        except (OSError, UnicodeError) as error:
            raise NotConnected(f"{self._problem()} [{error}]") from error
        link.generation = generation
        link.mind(self._settings.lost_seconds)
        return link

    def _name_to_check(self) -> str | None:
        return (self._server_name or self._host) if self._tls is not None else None

    def _problem(self) -> str:
        return words.cannot_connect(self._host, self._port)

    def _request(self, method: str, path: str, headers: Headers, content_type: str, body: bytes) -> bytes:
        # Tokens and content types are the same in nearly all requests.
        told = (headers, content_type)
        if self._last is None or self._last[0] != told:
            self._last = told, self._fixed + _encoded((*headers, ("Content-Type", content_type)))
        start = f"{method} {self._root}{path} HTTP/1.1\r\n".encode("ascii")
        return b"%b%bContent-Length: %d\r\n\r\n%b" % (start, self._last[1], len(body), body)


def _encoded(headers: Headers) -> bytes:
    """Headers as they are sent; raises BadInput where one cannot be."""
    for name, value in headers:
        if any(letter in name + value for letter in "\r\n\0"):
            raise BadInput(words.header_cannot_be_sent(name))
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode()

"""Stands between the daemon and the embedded cluster and spoils what it is told to: the faults of a real network."""

from __future__ import annotations

import asyncio
import re
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
from aiohttp import web
from yarl import URL


class Fault(NamedTuple):
    """What happens to requests that match, as often as it says."""

    method: str
    path: str
    """A regular expression for the whole path."""
    code: int
    """What is answered; 0 to carry the request out and lose its answer."""
    times: int
    message: str = "injected"
    headers: tuple[tuple[str, str], ...] = ()


class FaultProxy:
    """Passes requests on, but for the faults; counts what it saw."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._faults: list[Fault] = []
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._socket = _bound(0)
        self._port = int(self._socket.getsockname()[1])
        self.watches: set[web.StreamResponse] = set()
        """Those open now."""
        self.seen: Counter[tuple[str, int]] = Counter()
        """Requests by what they write and the code that was answered."""
        self.streamed: Counter[str] = Counter()
        """Watches that were to begin with a list, by path."""
        self.cut = asyncio.Event()
        """Set once nothing gets through any more."""
        self._last: tuple[str, int] | None = None
        self._cutting = ""
        self._closed = False
        """Set once no further request gets through; the last one may be on its way."""
        self._silent: re.Pattern[str] | None = None
        self._held: re.Pattern[str] | None = None
        self._let_go = asyncio.Event()
        self.holding = 0
        """Requests that are held."""
        self.on_request: Callable[[str, str], None] = lambda method, path: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def spoil(
        self, method: str, path: str, code: int, times: int = 1, message: str = "injected", **headers: str
    ) -> None:
        """Spoil the next requests of a kind; underscores in header names stand for dashes."""
        named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        self._faults.append(Fault(method, path, code, times, message, named))

    def cut_after(self, what: str, count: int) -> None:
        """Let nothing through after the n-th write that matches ``METHOD path``, nor its answer.

        For the client that is as if it was killed: whatever it sends later does not arrive. 0 cuts before the first.
        """
        self._last, self._cutting = (what, count), what

    def silence(self, path: str) -> None:
        """Watches of such paths stay open and say nothing more."""
        self._silent = re.compile(path)

    def hold(self, what: str) -> None:
        """Requests that match ``METHOD path`` stay on the wire until ``let_go``."""
        self._held = re.compile(what)

    def let_go(self) -> None:
        """What was held arrives."""
        self._held = None
        self._let_go.set()

    def mend(self) -> None:
        """No faults from now on."""
        self._faults.clear()

    async def up(self) -> None:
        """Listen, always on the same port."""
        # As many connections as there are requests: none waits for another.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.05, handler_cancellation=True)
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    async def down(self) -> None:
        """Refuse connections and cut those there are."""
        if self._runner is not None and self._session is not None:
            await self._runner.cleanup()
            await self._session.close()
            self._runner = self._session = None
            self._socket = _bound(self._port)

    async def end(self) -> None:
        """Refuse connections, for good."""
        await self.down()
        self._socket.close()

    def cut_watches(self) -> int:
        """Cut every open watch in the middle; returns how many there were."""
        cut = 0
        for response in list(self.watches):
            if response._req is not None and response._req.transport is not None:
                response._req.transport.abort()
                cut += 1
        return cut

    def writes(self, prefix: str = "") -> int:
        """Requests other than GET so far; with a prefix, those whose method and kind begin so."""
        return sum(
            count for (what, _), count in self.seen.items() if not what.startswith("GET") and what.startswith(prefix)
        )

    def accepted(self) -> int:
        """Requests other than GET that were carried out."""
        return sum(count for (what, code), count in self.seen.items() if not what.startswith("GET") and code < 300)

    def _fault(self, method: str, path: str) -> Fault | None:
        for index, fault in enumerate(self._faults):
            if fault.method == method and re.fullmatch(fault.path, path):
                left = fault.times - 1
                self._faults[index : index + 1] = [fault._replace(times=left)] if left else []
                return fault
        return None

    def _is_last(self, request: web.Request) -> bool:
        """Whether this request is carried out as the last one; one that comes too late is not carried out at all."""
        if self._last is None or not re.fullmatch(self._last[0], f"{request.method} {request.path}"):
            return False
        if "dryRun" in request.query:  # it writes nothing
            return False
        what, left = self._last
        self._last = what, left - 1
        self._closed = left <= 1
        if left < 1:
            self.cut.set()
        return left == 1

    def _drop(self, request: web.Request) -> web.StreamResponse:
        """Break the connection of a request."""
        assert request.transport is not None
        request.transport.abort()
        return web.Response(status=500)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.on_request(request.method, request.path)
        if "sendInitialEvents" in request.query:
            self.streamed[request.path] += 1
        if self.cut.is_set() or self._closed or (not (last := self._is_last(request)) and self._closed):
            return self._drop(request)
        fault = self._fault(request.method, request.path)
        what = f"{request.method} {_what(request.path)}"
        if fault is not None and fault.code:
            self.seen[what, fault.code] += 1
            status = {"kind": "Status", "status": "Failure", "message": fault.message, "code": fault.code}
            return web.json_response(status, status=fault.code, headers=dict(fault.headers))
        if self._held is not None and self._held.fullmatch(f"{request.method} {request.path}"):
            self.holding += 1
            await self._let_go.wait()
        assert self._session is not None
        async with self._session.request(
            request.method,
            URL(self._target + request.raw_path, encoded=True),
            data=await request.read(),
            headers={name: value for name, value in request.headers.items() if name.lower() != "host"},
        ) as answer:
            self.seen[what, 0 if fault else answer.status] += 1
            if last and answer.status == 409:  # nothing was written
                self._last, self._closed = (self._cutting, 1), False
            elif fault is not None or last:
                await answer.read()
                if last:  # it is carried out: whoever waits for that may end the client
                    self.cut.set()
                return self._drop(request)
            if request.query.get("watch"):
                return await self._stream(request, answer)
            return web.Response(body=await answer.read(), status=answer.status, content_type=answer.content_type)

    async def _stream(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status)
        response.content_type = answer.content_type
        await response.prepare(request)
        self.watches.add(response)
        try:
            async for chunk in answer.content.iter_any():
                if self._silent is None or not self._silent.fullmatch(request.path):
                    await response.write(chunk)
        except (ConnectionError, aiohttp.ClientError):
            return response
        finally:
            self.watches.discard(response)
        return response


def _bound(port: int) -> socket.socket:
    """A socket that refuses connections, and keeps its port from everybody else until it listens."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


def _what(path: str) -> str:
    """What a path is about: the last word that is no name."""
    parts = path.strip("/").split("/")
    known = ("binding", "status", "events", "pods", "podgroups", "queues", "nodes")
    return next((part for part in reversed(parts) if part in known), parts[-1])


@asynccontextmanager
async def faulty(target: str) -> AsyncIterator[FaultProxy]:
    """A proxy in front of an API server."""
    proxy = FaultProxy(target)
    await proxy.up()
    try:
        yield proxy
    finally:
        await proxy.end()

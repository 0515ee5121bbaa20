"""A server on the loopback that answers by path what it is told to, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import orjson
from aiohttp import web

Reply = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]
CERTIFICATES = Path(__file__).parents[1] / "kube" / "data"


class Asked(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Answering:
    """What is answered under which path; ``*`` is any other."""

    def __init__(self) -> None:
        self.url = ""
        self.replies: dict[str, Reply] = {"*": content({"message": "no such thing"}, 404)}
        self.asked: list[Asked] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append(Asked(request.method, request.path, dict(request.headers), body))
        return await self.replies.get(request.path, self.replies["*"])(request, body)


def content(told: object, code: int = 200, kind: str = "application/json", **headers: str) -> Reply:
    """Any body; anything but bytes is sent as JSON. Underscores in header names stand for dashes."""
    raw = told if isinstance(told, bytes) else orjson.dumps(told)

    async def reply(request: web.Request, body: bytes) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=raw, status=code, content_type=kind, headers=named)

    return reply


async def silence(request: web.Request, body: bytes) -> web.StreamResponse:
    """No answer at all."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets this event")


async def endless(request: web.Request, body: bytes) -> web.StreamResponse:
    """A body that does not end."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" " * (1 << 20))


async def hang_up(request: web.Request, body: bytes) -> web.StreamResponse:
    """The connection goes without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def server_context(ask_for_client: bool = False) -> ssl.SSLContext:
    """The certificate of 127.0.0.1; with ``ask_for_client`` one is wanted of the other side, too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem", CERTIFICATES / "server.key")
    if ask_for_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(CERTIFICATES / "authority.pem")
    return context


@asynccontextmanager
async def answering(tls: ssl.SSLContext | None = None) -> AsyncIterator[Answering]:
    """A server that is there while the block runs."""
    server = Answering()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        server.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()

"""An API server for tests that answers what it is told to: one script for lists, one for watches, one for the rest.

Each request takes the next answer of its script; the last one is given again and again.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Self

import orjson
from aiohttp import web

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]
Json = dict[str, Any]


class Seen(NamedTuple):
    """One request as it arrived."""

    kind: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class StubServer:
    """A scripted server on a free port of the loopback."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._scripts: dict[str, list[Reply]] = defaultdict(list)
        self._runner: web.AppRunner | None = None
        self.seen: list[Seen] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def script(self, kind: str, *replies: Reply) -> None:
        """What ``list``, ``watch`` or ``call`` requests are answered, in order, from now on."""
        self._scripts[kind] = list(replies)

    def of(self, kind: str) -> list[Seen]:
        """The requests of one kind so far."""
        return [seen for seen in self.seen if seen.kind == kind]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        kind = "watch" if request.query.get("watch") else "list" if request.query.get("limit") else "call"
        body = await request.read()
        self.seen.append(Seen(kind, request.method, request.path, dict(request.query), dict(request.headers), body))
        script = self._scripts[kind] or self._scripts["list"]
        reply = script.pop(0) if len(script) > 1 else script[0]
        return await reply(request)


def body(content: object, code: int = 200, content_type: str = "application/json", **headers: str) -> Reply:
    """Any body; anything but bytes is sent as JSON."""
    raw = content if isinstance(content, bytes) else orjson.dumps(content)

    async def reply(request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=raw, status=code, content_type=content_type, headers=named)

    return reply


def refusal(code: int, reason: str, message: str, **more: Any) -> Reply:
    """A Status with its code."""
    headers = more.pop("headers", {})
    return body(status(code, reason, message, **more), code, **headers)


def status(code: int, reason: str, message: str, **more: Any) -> Json:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        **more,
    }


def pod(name: str, version: int | str, **spec: Any) -> Json:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)},
        "spec": spec,
    }


def page(*items: Json, version: int | str = 10, token: str = "") -> Reply:
    """A page of a list."""
    metadata = {"resourceVersion": str(version), **({"continue": token} if token else {})}
    return body({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(items)})


def event(kind: str, obj: Json) -> bytes:
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"


def bookmark(version: int) -> bytes:
    obj = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": str(version)}, "spec": {}, "status": {}}
    return event("BOOKMARK", obj)


def stream(*chunks: bytes, hold: bool = False, cut: bool = False) -> Reply:
    """A watch that sends chunks and ends; ``hold`` leaves it open and silent, ``cut`` drops the connection."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if hold:
            await asyncio.Event().wait()
        if cut and request.transport is not None:
            request.transport.abort()
        return response

    return reply


async def silence(request: web.Request) -> web.StreamResponse:
    """No answer at all."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets this event")


async def hang_up(request: web.Request) -> web.StreamResponse:
    """The connection goes without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()

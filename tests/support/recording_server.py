"""An API server for tests of writing: it keeps what it is sent and answers as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.writes.limits import TokenBucket
from vsched.writes.writer import Permit, Writer


class Sent(NamedTuple):
    """One write as it arrived."""

    method: str
    path: str
    body: dict[str, Any]


class Reply(NamedTuple):
    """An answer; code 0 cuts the connection instead."""

    code: int = 200
    message: str = ""
    retry_after: str = ""
    cause: str = ""


SERVED = {"resources": [{"name": "podgroups"}, {"name": "podgroups/status"}, {"name": "queues/status"}]}


class RecordingServer:
    """Keeps writes; every answer to one is a Status, and what is read is what it is set to."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.reply: Callable[[Sent], Reply] = lambda sent: Reply()
        self.discovery: dict[str, Any] = SERVED
        self.objects: dict[str, Callable[[], dict[str, Any] | Reply]] = {}
        """What is read, by path; every other path gives the discovery."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.open = asyncio.Event()
        """Answers wait for this."""
        self.open.set()
        self.url = ""

    def of(self, word: str) -> list[Sent]:
        """The writes whose path has this word in it."""
        return [sent for sent in self.sent if word in sent.path]

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            found = self.objects[request.path]() if request.path in self.objects else self.discovery
            return _answer_to(request, found) if isinstance(found, Reply) else web.json_response(found)
        sent = Sent(request.method, request.path, orjson.loads(await request.read()))
        self.sent.append(sent)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self.open.wait()
        finally:
            self.in_flight -= 1
        return _answer_to(request, self.reply(sent))


def _answer_to(request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
    if not reply.code:
        assert request.transport is not None
        request.transport.abort()
        return web.Response(status=500)
    if reply.code < 300:
        return web.json_response({"kind": "Status", "metadata": {"resourceVersion": "77"}}, status=reply.code)
    status: dict[str, Any] = {"kind": "Status", "status": "Failure", "code": reply.code, "message": reply.message}
    if reply.cause:
        status["details"] = {"causes": [{"reason": reply.cause}]}
    headers = {"Retry-After": reply.retry_after} if reply.retry_after else {}
    return web.json_response(status, status=reply.code, headers=headers)


@asynccontextmanager
async def recording() -> AsyncIterator[tuple[RecordingServer, ApiClient]]:
    """A server and a client of it."""
    server = RecordingServer()
    runner = web.ServerRunner(web.Server(server.answer), shutdown_timeout=0.05)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with ApiClient(Connection(server.url), ClientSettings(timeout_seconds=20.0)) as client:
            yield server, client
    finally:
        await runner.cleanup()


def writer_to(client: ApiClient, per_second: float = 1e6, burst: float = 1e6, permit: Permit = lambda: True) -> Writer:
    """A writer that is not in anybody's way."""
    return Writer(client, TokenBucket(per_second, burst), permit=permit)

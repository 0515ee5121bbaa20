"""The HTTP servers of a daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from ssl import SSLContext
from typing import Any

from aiohttp import web

from vsched.errors import BadInput
from vsched.web.serve.access import Access, AccessRefusal, is_from_here
from vsched.web.serve.limits import LimitedConnection, Limits, Port, bounded, server_settings
from vsched.web.serve.listener import Listen, SocketListener, listening_sockets
from vsched.web.serve.routing import Handler, Route, application, as_json
from vsched.web.serve.streams import LongResponse
from vsched.web.words import access as words

READ_BYTES = 1 << 20
"""Read-ahead of a connection: room for the names of five thousand nodes, which saves turns of the event loop."""
READ_BYTES_OF_PAGES = 1 << 14
"""The same for addresses whose routes take no bodies."""


def parse_address(text: str, what: str) -> tuple[str, int]:
    """``host:port`` or ``:port`` for every address of this machine; raises BadInput."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise BadInput(words.bad_address(what, text))
    return host.strip("[]"), int(port)


@asynccontextmanager
async def serving(
    routes: Sequence[Route],
    address: str,
    what: str,
    ssl: SSLContext | None = None,
    *,
    access: Access | None = None,
    port: Port | None = None,
    listen: Listen = listening_sockets,
    around: Sequence[Any] = (),
) -> AsyncIterator[int]:
    """Serve a route table at an address while the block runs, over TLS where there is a context for it.

    ``access`` checks users, ``port`` applies limits and counts, ``listen`` gives the sockets, ``around`` are further
    middlewares. Yields the port's number; raises BadInput where it is taken.
    """
    host, number = parse_address(address, what)
    port = port or Port(Limits())
    guards = [bounded(port), *around, guarding(access, routes) if access is not None else keeping_private(routes)]
    read_bytes = READ_BYTES_OF_PAGES if all(route.method == "GET" for route in routes) else READ_BYTES
    settings = server_settings(port, read_bytes)
    runner = web.AppRunner(application(routes, guards), shutdown_timeout=1.0, **settings)
    await runner.setup()
    try:
        server = runner.server
        assert server is not None
        try:
            sockets = await listen(host, number)
        except OSError as error:
            raise BadInput(words.cannot_listen(what, address, error.strerror or error)) from error
        listener = SocketListener(sockets, port, lambda: LimitedConnection(port, server()), ssl)
        try:
            yield int(sockets[0].getsockname()[1])
        finally:
            await listener.close()
    finally:
        await runner.cleanup()


def keeping_private(routes: Sequence[Route]) -> Any:
    """The middleware that serves private routes to this machine only."""
    private = frozenset(route.answer for route in routes if route.private)

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.match_info.handler in private and not is_from_here(request):
            message = words.this_machine_only(request.path)
            return as_json({"error": message}, 403)
        return await handler(request)

    return middleware


def guarding(access: Access, routes: Sequence[Route]) -> Any:
    """The middleware that checks access, except to public routes."""
    public = {route.answer: route.public for route in routes}

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        is_public = public.get(request.match_info.handler)
        if is_public is not None and is_public(request):
            return await handler(request)
        try:
            await access.check(request)
        except AccessRefusal as refusal:
            return as_json({"error": str(refusal)}, refusal.status, access.headers(refusal))
        response = await handler(request)
        if isinstance(response, LongResponse):
            response.recheck = partial(access.check, request)
        # A cache must not show it to other users.
        if "no-store" not in response.headers.get("Cache-Control", ""):
            response.headers["Cache-Control"] = "no-store"
        return response

    return middleware

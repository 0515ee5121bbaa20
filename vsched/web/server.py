"""The HTTP servers of a daemon: an address, the applications on it, and one clear line where it cannot be had."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ssl import SSLContext

from aiohttp import web

from vsched.errors import BadInput
from vsched.web.routes import Route, application

READ_BYTES = 1 << 20
"""What a connection reads ahead: the names of five thousand nodes in one go, which saves turns of the event loop."""


def parse_address(text: str, what: str) -> tuple[str, int]:
    """``host:port`` or ``:port`` for every address of this machine; raises BadInput."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise BadInput(f"{what}: {text!r} is not an address (expected HOST:PORT or :PORT, as :8080)")
    return host.strip("[]"), int(port)


@asynccontextmanager
async def serving(
    routes: Sequence[Route], address: str, what: str, ssl: SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve a route table at an address while the block runs, over TLS where there is a context for it.

    Yields the port, raises BadInput where it is taken.
    """
    host, port = parse_address(address, what)
    runner = web.AppRunner(application(routes), access_log=None, shutdown_timeout=1.0, read_bufsize=READ_BYTES)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host or None, port, ssl_context=ssl)
        try:
            await site.start()
        except OSError as error:
            raise BadInput(f"{what}: cannot listen on {address}: {error.strerror or error}") from error
        yield _port(runner)
    finally:
        await runner.cleanup()


def _port(runner: web.AppRunner) -> int:
    for address in runner.addresses:
        return int(address[1])
    return 0

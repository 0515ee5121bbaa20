"""Listens on an address, and ends what rests for too long."""

from __future__ import annotations

import asyncio
import ssl

from vsched.sim.http.connection import Answerer, ServerConnection

IDLE_SECONDS = 180.0
"""A connection on which nothing has been under way for so long is ended; clients use none that rested so long."""
_LOOKS = 4
"""How often that is looked at within this time."""
_BACKLOG = 1024
_END_SECONDS = 0.5


class HttpServer:
    """Answers requests from ``start`` to ``close``."""

    def __init__(self, answer: Answerer, most_bytes: int) -> None:
        """``most_bytes`` is the longest body of a request."""
        self._answer = answer
        self._most_bytes = most_bytes
        self.idle_seconds = IDLE_SECONDS
        self.connections: dict[ServerConnection, None] = {}
        """Those that are open, in the order in which they came."""
        self.address: tuple[str, int] | None = None
        self._server: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> tuple[str, int]:
        """Listens; returns the address. Raises OSError where that is not possible."""
        server = await asyncio.get_running_loop().create_server(self._connected, host, port, ssl=tls, backlog=_BACKLOG)
        self._server = server
        self._look()
        host, port, *_ = server.sockets[0].getsockname()
        self.address = host, port
        return self.address

    async def close(self) -> None:
        """Stops listening, and ends all connections."""
        if self._timer is not None:
            self._timer.cancel()
        if self._server is not None:
            self._server.close()
        tasks = [found.task for found in self.connections if found.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_END_SECONDS)
        for found in list(self.connections):
            found.close(flush=False)
        # The transports tell their protocols in the next turn.
        await asyncio.sleep(0)

    def _connected(self) -> ServerConnection:
        return ServerConnection(self._answer, self.connections, self._most_bytes)

    def end_idle(self) -> None:
        """End connections that have rested for too long."""
        since = asyncio.get_running_loop().time() - self.idle_seconds
        for found in list(self.connections):
            if found.resting and found.used <= since:
                found.close(flush=True)

    def _look(self) -> None:
        self.end_idle()
        self._timer = asyncio.get_running_loop().call_later(self.idle_seconds / _LOOKS, self._look)

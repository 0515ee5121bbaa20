"""Accepts connections at an address, up to a limit. TLS handshakes count, and must end in time."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from ssl import SSLContext
from typing import Any

from vsched.web.serve.limits import LimitedConnection, Port

Listen = Callable[[str, int], Awaitable[Sequence[socket.socket]]]
"""Gives sockets that listen at a host and port; raises OSError."""
BACKLOG = 128
PAUSE_SECONDS = 0.5
"""After an error, such as a lack of file descriptors."""
ABSENT = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)
"""Errors for a family of addresses that the machine does not have."""


async def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host (empty for all addresses), all with the same port. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    absent: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(found):
        same = sockets[0].getsockname()[1] if sockets else address[1]
        try:
            made = socket.create_server((address[0], same, *address[2:]), family=family, backlog=BACKLOG)
        except OSError as error:
            if error.errno in ABSENT:
                absent = error
                continue
            for each in sockets:
                each.close()
            raise
        made.setblocking(False)
        sockets.append(made)
    if absent is not None and not sockets:
        raise absent
    return sockets


class SocketListener:
    """Accepts connections at some sockets until it is closed."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        port: Port,
        make: Callable[[], LimitedConnection],
        ssl: SSLContext | None,
    ) -> None:
        self._sockets = sockets
        self._port = port
        self._make = make
        self._ssl = ssl
        self._handshakes = 0
        self._tasks: set[asyncio.Task[None]] = set()
        for each in sockets:
            self._begin(self._accept(each))

    async def close(self) -> None:
        """Accept no more connections; open ones stay."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in self._sockets:
            each.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                found, _ = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            # One connection waits here, and further ones in the system's own queue.
            while self._full and not self._port.make_room():
                await self._port.wait()
            self._handshakes += 1
            self._begin(self._open(found))

    @property
    def _full(self) -> bool:
        return len(self._port.connections) + self._handshakes >= self._port.limits.connections

    async def _open(self, found: socket.socket) -> None:
        seconds = self._port.limits.handshake_seconds if self._ssl is not None else None
        try:
            # A handshake fails because of the client, so there is nothing to report.
            with suppress(OSError):
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await asyncio.get_running_loop().connect_accepted_socket(
                    self._make, found, ssl=self._ssl, ssl_handshake_timeout=seconds
                )
        finally:
            self._handshakes -= 1
            self._port.left()

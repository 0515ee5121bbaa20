"""The loop of most tests: its clock jumps to what comes next, so nothing is waited for and nothing is late."""

from __future__ import annotations

import asyncio
import time
from math import ceil
from random import Random
from socket import socket
from typing import Any

from vsched.clock import CLOCK
from vsched.lab.soak.bottle.loop import BottleLoop
from vsched.lab.soak.bottle.network import ListeningSocket
from vsched.lab.soak.bottle.processes import ASKING_SECONDS


class LoopClock:
    """The time of a loop, which begins with a second, so that what has whole seconds is the same in each run."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.monotonic = loop.time
        self._began = ceil(time.time())
        self._asked = 0

    def now(self) -> float:
        return self._began + self.monotonic()

    def thread_time(self) -> float:
        self._asked += 1
        return self._asked * ASKING_SECONDS


class VirtualLoop(BottleLoop):
    """A loop on virtual time with connections in memory. Whoever asks for the time while it is there gets its own."""

    def __init__(self) -> None:
        super().__init__(Random(0))
        self._token = CLOCK.set(LoopClock(self))
        self._lent: dict[socket, ListeningSocket] = {}
        """What listens in place of sockets of the machine."""

    async def sock_accept(self, sock: Any) -> Any:
        """A socket of the machine only keeps its port from others."""
        if not isinstance(sock, socket):
            return await super().sock_accept(sock)
        if sock not in self._lent:
            self._lent[sock] = (await self.listening_sockets(*sock.getsockname()[:2]))[0]
        try:
            return await super().sock_accept(self._lent[sock])
        except asyncio.CancelledError:  # nobody listens there any more
            self._lent.pop(sock).close()
            raise

    def close(self) -> None:
        if not self.is_closed():
            CLOCK.reset(self._token)
        super().close()

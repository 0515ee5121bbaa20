"""A server as slow as a real one: each write of a client takes so much of the processor, whatever this server needs."""

from __future__ import annotations

import asyncio

from vsched.clock import thread_time
from vsched.sim.requests.request import ApiRequest

READS = frozenset({"GET", "HEAD", "OPTIONS"})


class SlowWrites:
    """Before each write, keeps the processor busy for what is missing of the time that a write is to take.

    Counted is all that the thread of the server does from one write to the next: the request, TLS, HTTP, the watches
    that show the change, the pretended kubelets. So the cost is the same however much this server itself needs, up to
    that time. It is work and not a pause, because a real server takes its processor time from whoever else is there.
    """

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000
        self._before = thread_time()
        """When the last write was let through, by the processor time of this thread."""
        self._turn = asyncio.Lock()

    async def __call__(self, call: ApiRequest) -> None:
        if call.method in READS:
            return
        await self._turn.acquire()
        until = self._before + self._seconds
        while (now := thread_time()) < until:
            pass
        self._before = now
        # The caller answers when this returns, and the event loop sends what was written before its next turn.
        asyncio.get_running_loop().call_soon(self._turn.release)

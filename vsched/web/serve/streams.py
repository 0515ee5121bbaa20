"""Answers that go on while the client listens, and their limits."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import web

from vsched.web.serve.access import AccessRefusal

T = TypeVar("T")


class Stay:
    """One client of such an answer: sends data within time limits, and checks its access from time to time."""

    def __init__(
        self,
        response: LongResponse,
        gone: asyncio.Future[None],
        young: Callable[[], bool],
        send_seconds: float,
        recheck_seconds: float,
    ) -> None:
        self._response = response
        self._gone = gone
        self._young = young
        self._send_seconds = send_seconds
        self._recheck_seconds = recheck_seconds
        self._checked = asyncio.get_running_loop().time()

    async def within(self, step: Awaitable[T]) -> T:
        """A step that needs the client; raises TimeoutError where it takes too long."""
        async with asyncio.timeout(self._send_seconds):
            return await step

    async def send(self, data: bytes) -> None:
        """Return once the client has read most of it; raises TimeoutError, or ConnectionError if it has gone."""
        if data:
            await self.within(self._response.write(data))

    async def wait(self, turn: asyncio.Future[None], seconds: float) -> bool:
        """Wait for an event, for the client's end, or for the time; whether the event has happened."""
        most_seconds = min(seconds, self._recheck_seconds)
        await asyncio.wait((turn, self._gone), timeout=most_seconds, return_when=asyncio.FIRST_COMPLETED)
        return turn.done()

    async def allowed(self) -> bool:
        """Whether the client is still there and still has access, which is checked from time to time."""
        if self._gone.done() or not self._young():
            return False
        now = asyncio.get_running_loop().time()
        if self._response.recheck is None or now - self._checked < self._recheck_seconds:
            return True
        self._checked = now
        try:
            await self._response.recheck()
        except AccessRefusal:
            return False
        return True


class LongResponse(web.StreamResponse):
    """An answer that goes on until ``last`` returns."""

    recheck: Callable[[], Awaitable[None]] | None = None
    """Raises Refusal once the client has no access any more; None where everybody has."""

    @abstractmethod
    async def last(self, stay: Stay) -> None:
        """Send data as long as that is allowed."""

"""Answers that go on for as long as somebody listens, and what bounds them."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import web

from vsched.web.serve.access import Refusal

T = TypeVar("T")


class Stay:
    """Somebody's stay: what they are sent, how long they are waited for, and whether they may still be here."""

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
        """Something that takes the other side; raises TimeoutError where they take too long."""
        async with asyncio.timeout(self._send_seconds):
            return await step

    async def send(self, data: bytes) -> None:
        """Return once the other side has most of it; raises TimeoutError, or ConnectionError where they have gone."""
        if data:
            await self.within(self._response.write(data))

    async def wait(self, turn: asyncio.Future[None], seconds: float) -> bool:
        """Wait for something to happen, at most so long or until they go; whether it has happened."""
        most_seconds = min(seconds, self._recheck_seconds)
        await asyncio.wait((turn, self._gone), timeout=most_seconds, return_when=asyncio.FIRST_COMPLETED)
        return turn.done()

    async def allowed(self) -> bool:
        """Whether they are there, and may be: their right is looked at again from time to time."""
        if self._gone.done() or not self._young():
            return False
        now = asyncio.get_running_loop().time()
        if self._response.recheck is None or now - self._checked < self._recheck_seconds:
            return True
        self._checked = now
        try:
            await self._response.recheck()
        except Refusal:
            return False
        return True


class LongResponse(web.StreamResponse):
    """An answer that goes on until ``last`` returns."""

    recheck: Callable[[], Awaitable[None]] | None = None
    """Raises Refusal once whoever asked may no longer be answered; None where everybody may."""

    @abstractmethod
    async def last(self, stay: Stay) -> None:
        """Send whatever there is to send, for as long as it is allowed."""

"""The way out for every write to the API server: one gate, one rate limit, one rule about what is tried again.

Knows paths and bytes, no objects and no decisions. What an answer means for the mirror is its caller's business.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from vsched.cluster.limits import Attempts, TokenBucket
from vsched.errors import Unavailable
from vsched.kube.client import JSON, ApiClient
from vsched.kube.errors import ApiError

NO_ANSWER = 0
"""The code of a write that reached nobody, or whose answer never came."""

RETRIED = frozenset({NO_ANSWER, 408, 429, 500, 502, 503, 504})


class Write(NamedTuple):
    """One request that changes something."""

    kind: str
    """What it is about, for metrics: ``binding``, ``podgroup``, ``queue``, ``pod``, ``event``."""
    method: str
    path: str
    body: bytes
    content_type: str = JSON


class Answer(NamedTuple):
    """How a write ended, after all attempts."""

    code: int
    """HTTP status, or ``NO_ANSWER``."""
    message: str = ""
    body: bytes = b""
    seconds: float = 0.0
    """From the first attempt to the end, waits included."""

    @property
    def done(self) -> bool:
        return 200 <= self.code < 300


Tell = Callable[[str, int, float], None]
"""Told of every single request: kind, code, seconds."""


class Writer:
    """Sends writes: in turn for the rate limit, behind a gate, again where trying again makes sense."""

    def __init__(self, client: ApiClient, bucket: TokenBucket, tell: Tell = lambda kind, code, seconds: None) -> None:
        self._client = client
        self._bucket = bucket
        self._tell = tell
        self._open = asyncio.Event()
        self._open.set()

    def pause(self) -> None:
        """Hold every write from now on, those between two attempts included; requests on the wire finish."""
        self._open.clear()

    def resume(self) -> None:
        """Let writes pass again."""
        self._open.set()

    @property
    def paused(self) -> bool:
        return not self._open.is_set()

    async def send(self, write: Write, attempts: Attempts) -> Answer:
        """The answer to a write, after as many attempts as are granted."""
        began = time.perf_counter()
        answer, asked_seconds = await self._once(write)
        if answer.code in RETRIED:
            back_off = attempts.back_off()
            while answer.code in RETRIED and back_off.failures + 1 < attempts.count:
                await asyncio.sleep(back_off.next_seconds(asked_seconds))
                answer, asked_seconds = await self._once(write)
        return answer._replace(seconds=time.perf_counter() - began)

    async def _once(self, write: Write) -> tuple[Answer, float]:
        if not self._open.is_set():
            await self._open.wait()
        await self._bucket.take()
        began = time.perf_counter()
        asked_seconds = 0.0
        try:
            found = await self._client.request(
                write.method, write.path, body=write.body, content_type=write.content_type, attempts=1
            )
            answer = Answer(found.code, body=found.body)
        except ApiError as error:
            answer = Answer(error.code, error.message)
            asked_seconds = error.retry_after_seconds or 0.0
        except Unavailable as error:
            answer = Answer(NO_ANSWER, str(error))
        self._tell(write.kind, answer.code, time.perf_counter() - began)
        return answer, asked_seconds

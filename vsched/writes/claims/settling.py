"""Reads an object, sends what a decision says, and looks again, until nothing is left to write.

So a lost answer, a conflict with another writer and a repeat after a crash are all the same: the object is read, and
the decision sees what is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from vsched.errors import UNREADABLE, Unavailable, VschedError
from vsched.kube.backoff import BackOff
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError, NotFound, ServerError, TooManyRequests
from vsched.writes.claims import words
from vsched.writes.claims.objects import ObjectRead, kind_of
from vsched.writes.claims.steps import DONE, Failed, Send, Step
from vsched.writes.limits import Attempts
from vsched.writes.writer import NO_ANSWER, NOT_PERMITTED, RETRIED, Writer, WriteResult

R = TypeVar("R", bound=ObjectRead)

ONCE = Attempts(1)
MOST_ROUNDS = 20
"""How often one object is looked at: enough for all of its writes with some failures in between."""


class Deposed(VschedError):
    """This process may no longer write."""


class Settling:
    """Reads and writes objects for transactions; so many requests at once, waits not included."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        in_flight: int,
        attempts: Attempts,
        told: Callable[[str, bytes], None] = lambda kind, body: None,
    ) -> None:
        """``told`` hears of each object that was written: its kind, and the object as the API server has it."""
        self._client = client
        self._writer = writer
        self._slots = asyncio.Semaphore(in_flight)
        self._attempts = attempts
        self._told = told

    async def settle(
        self, read: type[R], key: str, decide: Callable[[R | None], Step], opening: Send | None = None
    ) -> Step:
        """What the decision comes to: anything but a further write. ``key`` is ``namespace/name``, or the name.

        ``opening`` is a write that was decided on what the mirror shows; it saves the first read. Where it is refused,
        the object is read. Raises Deposed where this process may not write.
        """
        back_off = self._attempts.back_off()
        why = words.WRITTEN
        found, known = (None, False) if opening is None else await self._opened(read, opening)
        for _ in range(MOST_ROUNDS):
            try:
                found, known = (found if known else await self._read(read, key)), True
            except (ApiError, Unavailable) as error:
                why = f"read: {error}"
                if not _may_help(error) or not await self._pause(back_off):
                    break
                continue
            step = decide(found)
            if not isinstance(step, Send):
                return step
            answer = await self._send(step)
            found, known = self._written(read, answer) if step.write.method != "DELETE" else (None, False)
            if answer.done:
                if known:
                    self._told(kind_of(read)[0], answer.body)
                continue
            why = f"written: {answer.message}"
            if answer.code not in (NO_ANSWER, 404, 409, *RETRIED) or not await self._pause(back_off, answer):
                break
        return Failed(words.could_not_be(kind_of(read)[0], key, why))

    async def _opened(self, read: type[R], opening: Send) -> tuple[R | None, bool]:
        """The object after the first write, and whether that is known."""
        answer = await self._send(opening)
        found, known = self._written(read, answer)
        if known:
            self._told(kind_of(read)[0], answer.body)
        return found, known

    async def _send(self, step: Send) -> WriteResult:
        async with self._slots:
            answer = await self._writer.send(step.write, ONCE)
        if answer.code == NOT_PERMITTED:
            raise Deposed
        return answer

    async def _pause(self, back_off: BackOff, answer: WriteResult | None = None) -> bool:
        """Wait after a failure; False where that was the last attempt."""
        seconds = back_off.next_seconds(0.0 if answer is None else answer.asked_seconds)
        if back_off.failures >= self._attempts.count:
            return False
        await asyncio.sleep(seconds)
        return True

    async def fetch(self, read: type[R], key: str) -> R | Failed | None:
        """An object as it is, None where there is none, Failed where it cannot be read."""
        seen: list[R | None] = []

        def look(found: R | None) -> Step:
            seen.append(found)
            return DONE

        step = await self.settle(read, key, look)
        return step if isinstance(step, Failed) else seen[-1]

    async def _read(self, read: type[R], key: str) -> R | None:
        namespace, _, name = key.rpartition("/")
        path = kind_of(read)[1].path(namespace, name)
        try:
            async with self._slots:
                answer = await self._client.request("GET", path, attempts=1)
        except NotFound:
            return None
        return _decoded(read, answer.body, path)

    def _written(self, read: type[R], answer: WriteResult) -> tuple[R | None, bool]:
        """The object as the API server has written it, and whether that is known."""
        if not answer.done:
            return None, False
        try:
            return msgspec.json.decode(answer.body, type=read), True
        except UNREADABLE:
            return None, False


def _decoded(read: type[R], body: bytes, path: str) -> R:
    try:
        return msgspec.json.decode(body, type=read)
    except UNREADABLE as error:
        raise Unavailable(words.answer_cannot_be_read(path, error)) from error


def _may_help(error: ApiError | Unavailable) -> bool:
    return isinstance(error, Unavailable | ServerError | TooManyRequests)

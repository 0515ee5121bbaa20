"""Reads bodies of requests within bounds, with one line of error for those that cannot be used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from aiohttp import web

from vsched.api.base import located
from vsched.errors import BadInput
from vsched.kube.errors import one_line
from vsched.model.amounts.quantity import format_bytes
from vsched.web.serve.routing import JSON, Handler, as_json
from vsched.web.words import answers as words

T = TypeVar("T")

BODY_SECONDS = 10.0
"""How long a client may take to send a body."""
TOGETHER = 4
"""How many bodies of the largest size may be in memory at once."""


class RequestError(BadInput):
    """A request that cannot be answered, with its HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(one_line(text))
        self.status = status


class Intake:
    """Reads bodies within bounds: the size of each, the size of all together, and the time."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._together = TOGETHER * most_bytes
        self.at_hand = 0
        """Bytes."""

    @asynccontextmanager
    async def body(self, request: web.Request) -> AsyncIterator[bytes]:
        """The body of a request, which counts as long as the block runs; raises RequestError.

        Its type must be JSON, which other sites cannot make a browser send without a preflight request.
        """
        if request.content_type != JSON:
            raise RequestError(415, f"Content-Type: {request.content_type!r} (expected {JSON})")
        parts: list[bytes] = []
        length = 0
        try:
            self._admit(request.content_length or 0, 0)
            async with asyncio.timeout(BODY_SECONDS):
                while part := await request.content.readany():
                    length += len(part)
                    self.at_hand += len(part)
                    self._admit(length, length)
                    parts.append(part)
            whole = parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            yield whole
        except TimeoutError:
            raise RequestError(408, words.body_late(BODY_SECONDS)) from None
        except web.RequestPayloadError as error:
            raise RequestError(400, words.body_incomplete(error)) from None
        finally:
            self.at_hand -= length

    def _admit(self, length: int, counted: int) -> None:
        """Raise RequestError if a body of this length is too much; ``counted`` of it is in ``at_hand`` already."""
        if length > self._most:
            raise RequestError(413, words.body_too_large(format_bytes(self._most)))
        if self.at_hand + length - counted > self._together:
            raise RequestError(503, words.TOO_MANY_LARGE)


def decoded(body: bytes | msgspec.Raw, kind: type[T], at: str = "") -> T:
    """JSON as a struct; raises RequestError naming the field."""
    try:
        if isinstance(body, bytes):
            body.decode()  # the decoder does not check skipped fields for valid UTF-8
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise RequestError(400, located(error, at, body)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, words.body_not_json(error)) from None


def guarded(answer: Handler, field: str) -> Handler:
    """The handler; invalid requests get JSON with the error under this field."""

    async def guard(request: web.Request) -> web.StreamResponse:
        try:
            return await answer(request)
        except RequestError as error:
            return as_json({field: str(error)}, error.status)
        except BadInput as error:
            return as_json({field: one_line(str(error))}, 400)

    return guard

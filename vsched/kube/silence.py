"""What is said where a server gives no answer, and bodies that may break off."""

from __future__ import annotations

import ssl
from typing import Self

import aiohttp

from vsched.clock import monotonic
from vsched.errors import Unavailable
from vsched.kube.errors import one_line
from vsched.kube.unpacking import Unpacked
from vsched.kube.words import answers as words

NO_ANSWER = (aiohttp.ClientError, TimeoutError, OSError, UnicodeError)
"""What aiohttp raises if a connection cannot be made, breaks or times out."""


class Chunks:
    """The body of a response in chunks of any length; a broken connection raises Unavailable."""

    __slots__ = ("_body", "_where")

    def __init__(self, where: str, response: aiohttp.ClientResponse, *, endless: bool = False) -> None:
        self._where = where
        try:
            self._body = Unpacked(response, endless=endless)
        except NO_ANSWER as error:
            raise Unavailable(f"{where}: {why_no_answer(error, 0.0)}") from error

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        began = monotonic()
        try:
            chunk = await self._body.next()
        except NO_ANSWER as error:
            problem = why_no_answer(error, monotonic() - began)
            raise Unavailable(f"{self._where}: {problem}") from error
        if not chunk:
            raise StopAsyncIteration
        return chunk


def why_no_answer(error: Exception, waited_seconds: float) -> str:
    """Why there is no answer, as a message that helps to fix the cause."""
    cause = error.__cause__ or error
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError) or isinstance(
        cause, ssl.SSLError
    ):
        return words.handshake_failed(one_line(str(error)))
    if isinstance(error, aiohttp.ClientHttpProxyError):
        # The text of this error contains the proxy's address with its password.
        return words.proxy_answered(error.status, one_line(error.message))
    if isinstance(error, TimeoutError):
        return words.no_answer_within(waited_seconds)
    return one_line(str(error)) or type(error).__name__

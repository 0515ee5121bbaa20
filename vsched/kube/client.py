"""A small client of the Kubernetes API: aiohttp and orjson, paths and JSON in, JSON or one typed error out.

It knows no kinds and keeps no state but its connections. ``watch.reflector`` lists and watches with it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp
import msgspec
import orjson
from yarl import URL

from vsched.clock import monotonic
from vsched.errors import UNREADABLE, BadInput, Unavailable, why_unreadable
from vsched.handlers import Handlers
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import Headers
from vsched.kube.backoff import BackOff, BackOffSettings
from vsched.kube.errors import ApiError, ServerError, TooManyRequests, error_from_answer, unexpected
from vsched.kube.http.answers import HttpAnswer, TooLong
from vsched.kube.http.pool import Pool, PoolSettings
from vsched.kube.http.slots import Slots
from vsched.kube.paths import Params, target, verb_of
from vsched.kube.silence import NO_ANSWER, Chunks, why_no_answer
from vsched.kube.unpacking import BadPacking
from vsched.kube.words import answers as words

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

FIXED = {"Accept": JSON, "Accept-Encoding": "identity"}
"""Headers of every request. Compressing costs the server and us more than a cluster's network does."""

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "PATCH"})
"""Methods that may be repeated after a failure, even if the first request may have been carried out."""

ERROR_BYTES = 1 << 20
"""So much is read of the body of an error."""
_LEAST_SECONDS = 0.001
"""No time at all would be no limit."""
_IN_A_REQUEST = re.compile(r"/[A-Za-z0-9%/?&=._~:,*+!@$'()-]*")
"""Paths and queries that are quoted as they have to be; the HTTP library takes others apart as it likes."""

Json = dict[str, Any]


class ClientSettings(msgspec.Struct, frozen=True):
    """Settings of a client."""

    timeout_seconds: float = 30.0
    """From sending a request to the last byte of its answer."""
    connect_seconds: float = 10.0
    connections: int = 64
    """The number of concurrent requests, without watches; more than 64 only gets slower."""
    attempts: int = 4
    """How often a repeatable request is sent at most, the first time included."""
    back_off: BackOffSettings = BackOffSettings(first_seconds=0.1, ceiling_seconds=5.0, asked_ceiling_seconds=30.0)
    answer_bytes: int = 1 << 30
    """The longest answer that is accepted."""
    read_buffer_bytes: int = 1 << 17
    """Lists and watches come in chunks of at most about twice as much, each of which holds the event loop. Longer ones
    save nothing: for them the memory is fetched from the system again each time."""


ApiResponse = HttpAnswer
"""A successful answer."""


class ApiClient:
    """The client of one API server; close it, or use it as an async context manager."""

    def __init__(self, connection: Connection, settings: ClientSettings | None = None) -> None:
        self.connection = connection
        self.on_answer: Handlers[[str, int]] = Handlers()
        """Called after every request with its verb (as API servers count it) and the code, 0 if there was no answer."""
        self._settings = settings or ClientSettings()
        self._fixed = {**FIXED, "User-Agent": connection.agent}
        self._session = self._new_session()
        self._slots = Slots(self._settings.connections)
        """Watches need none: they hold their connections for minutes. When a kind has been listed, its watch goes on
        the connection that is free then: with TLS, another one would cost more than the list."""
        self._writes = None if connection.proxy else self._pool()
        """None behind a proxy, where writes go out as other requests do."""

    def _pool(self) -> Pool:
        connection, settings = self.connection, self._settings
        limits = PoolSettings(settings.connections, settings.connect_seconds, settings.answer_bytes)
        return Pool(connection.server, connection.tls, connection.server_name, tuple(self._fixed.items()), limits)

    def _new_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, ssl=self.connection.tls or True, keepalive_timeout=60.0)
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._fixed,
            read_bufsize=self._settings.read_buffer_bytes,
            auto_decompress=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; requests under way fail with Unavailable."""
        await self._session.close()
        if self._writes is not None:
            self._writes.close()

    async def get(self, path: str, params: Params | None = None) -> Json:
        """GET one object, or any other JSON object at a path."""
        return await self._json("GET", path, params)

    async def list(self, path: str, params: Params | None = None) -> Json:
        """Read a whole collection in pages of 500; for small collections only, large ones need a reflector."""
        page_params = {"limit": "500", **(params or {})}
        whole = await self._json("GET", path, page_params)
        items = whole.setdefault("items", None) or []
        page = whole
        while token := page.get("metadata", {}).get("continue"):
            page = await self._json("GET", path, {**page_params, "continue": token})
            items.extend(page.get("items") or [])
        whole["items"] = items
        whole.get("metadata", {}).pop("continue", None)
        return whole

    async def create(self, path: str, obj: Mapping[str, Any], params: Params | None = None) -> Json:
        """POST an object to a collection or a subresource."""
        return await self._json("POST", path, params, orjson.dumps(obj))

    async def replace(self, path: str, obj: Mapping[str, Any], params: Params | None = None) -> Json:
        """PUT an object; with a resourceVersion in it, only over that version."""
        return await self._json("PUT", path, params, orjson.dumps(obj))

    async def patch(
        self, path: str, patch: object, params: Params | None = None, content_type: str = MERGE_PATCH
    ) -> Json:
        """PATCH an object in the given dialect."""
        return await self._json("PATCH", path, params, orjson.dumps(patch), content_type)

    async def delete(self, path: str, options: Mapping[str, Any] | None = None, params: Params | None = None) -> Json:
        """DELETE an object or a collection; ``options`` are DeleteOptions."""
        return await self._json("DELETE", path, params, orjson.dumps(options) if options is not None else None)

    async def write(self, method: str, path: str, body: bytes, content_type: str = JSON) -> ApiResponse:
        """Send one request once, for callers that repeat requests by their own rule. It costs less than ``request``."""
        pool = self._writes
        if pool is None:
            return await self.request(method, path, body=body, content_type=content_type, attempts=1)
        if pool.closed:
            raise Unavailable(words.client_is_closed(self._at(method, path)))
        if not _IN_A_REQUEST.fullmatch(path):
            raise BadInput(_not_in_a_url(method, path))
        began = monotonic()
        try:
            answer = await self._exchanged(pool, method, path, body, content_type)
        except TooLong as error:
            code, headers, start = error.answer
            problem = words.answer_is_longer(self._settings.answer_bytes)
            raise unexpected(self._at(method, path), code, headers, start, problem) from error
        except NO_ANSWER as error:
            problem = why_no_answer(error, monotonic() - began)
            raise Unavailable(f"{self._at(method, path)}: {problem}") from error
        if 200 <= answer.code < 300:
            return answer
        raise error_from_answer(self._at(method, path), *answer)

    async def _exchanged(self, pool: Pool, method: str, path: str, body: bytes, content_type: str) -> HttpAnswer:
        """The answer to a write; refused credentials are renewed once."""
        source, seconds = self.connection.credentials, self._settings.timeout_seconds
        for last in (False, True):
            credentials = tuple(await source.headers())
            try:
                answer = await pool.exchange(method, path, credentials, content_type, body, seconds)
            except NO_ANSWER as error:
                self.on_answer(method, error.answer.code if isinstance(error, TooLong) else 0)
                raise
            self.on_answer(method, answer.code)
            if last or answer.code != 401 or not await source.refresh(credentials):
                break
            pool.renew()  # connections that are open show the certificate that was refused
        return answer

    async def _json(
        self, method: str, path: str, params: Params | None, body: bytes | None = None, content_type: str = JSON
    ) -> Json:
        answer = await self.request(method, path, params=params, body=body, content_type=content_type)
        return self._parse(self._at(method, path), answer)

    def _parse(self, where: str, answer: ApiResponse) -> Json:
        try:
            content = orjson.loads(answer.body)
        except UNREADABLE as error:
            problem = words.not_json(why_unreadable(error))
            raise unexpected(where, answer.code, answer.headers, answer.body, problem) from error
        if not isinstance(content, dict):
            problem = words.not_an_object(type(content).__name__)
            raise unexpected(where, answer.code, answer.headers, answer.body, problem)
        return content

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        headers: Headers = (),
        timeout_seconds: float | None = None,
        attempts: int | None = None,
    ) -> ApiResponse:
        """The answer to a request; the request is repeated where that is harmless and may help.

        ``headers`` take the place of those that every request has.
        """
        bound = self._settings.attempts if attempts is None else attempts
        back_off = BackOff(self._settings.back_off)
        while True:
            try:
                return await self._once(method, path, params, body, content_type, timeout_seconds, headers)
            except (ApiError, Unavailable) as error:
                if back_off.failures + 1 >= bound or not _may_repeat(method, error):
                    raise
                asked_seconds = error.retry_after_seconds if isinstance(error, ApiError) else None
            await asyncio.sleep(back_off.next_seconds(asked_seconds))

    async def _once(
        self,
        method: str,
        path: str,
        params: Params | None,
        body: bytes | None,
        content_type: str,
        timeout_seconds: float | None,
        headers: Headers,
    ) -> ApiResponse:
        seconds = self._settings.timeout_seconds if timeout_seconds is None else timeout_seconds
        async with self._slot(method, path, seconds) as timeout:
            response = await self._open(method, target(path, params), timeout, body, content_type, headers)
            async with response:
                return ApiResponse(response.status, response.headers, await self._read(method, path, response))

    async def fetch(
        self, path: str, params: Params | None, take: Callable[[bytes], Awaitable[None]], *, timeout_seconds: float
    ) -> ApiResponse:
        """GET something long, once: ``take`` is called with each chunk as it arrives; the answer has the first one."""
        async with (
            self._slot("GET", path, timeout_seconds) as timeout,
            await self._open("GET", target(path, params), timeout) as response,
        ):
            start = b""
            async for chunk in self._chunks("GET", path, response):
                start = start or chunk
                await take(chunk)
            return ApiResponse(response.status, response.headers, start)

    @asynccontextmanager
    async def _slot(self, method: str, path: str, seconds: float) -> AsyncIterator[aiohttp.ClientTimeout]:
        """One of the requests that are on the wire at once; it ends within so many seconds, waiting included."""
        until = monotonic() + seconds
        if not self._slots.take_now():
            try:
                async with asyncio.timeout(seconds):
                    await self._slots.take()
            except TimeoutError as error:
                self.on_answer(verb_of(method, path), 0)
                raise Unavailable(f"{self._at(method, path)}: {why_no_answer(error, seconds)}") from error
        try:
            left = max(_LEAST_SECONDS, until - monotonic())
            yield aiohttp.ClientTimeout(total=left, sock_connect=self._settings.connect_seconds)
        finally:
            self._slots.give()

    @asynccontextmanager
    async def stream(
        self, path: str, params: Params | None = None, *, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body of a GET in chunks as they arrive; raises Unavailable after a silence of ``silence_seconds``."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self._settings.connect_seconds, sock_read=silence_seconds
        )
        where = self._at("GET", path)
        response = await self._open("GET", target(path, params), timeout, streams=True)
        async with response:
            chunks = Chunks(where, response, endless=True)
            if "html" in response.content_type:
                page = await anext(chunks, b"")
                raise unexpected(where, response.status, response.headers, page, "not a stream")
            yield chunks

    async def _open(
        self,
        method: str,
        path: str,
        timeout: aiohttp.ClientTimeout,
        body: bytes | None = None,
        content_type: str = JSON,
        headers: Headers = (),
        streams: bool = False,
    ) -> aiohttp.ClientResponse:
        """A successful response with an unread body; refused credentials are renewed once."""
        verb = "WATCH" if streams else verb_of(method, path)
        if self._session.closed:
            raise Unavailable(words.client_is_closed(self._at(method, path)))
        began = monotonic()
        try:
            credentials = await self.connection.credentials.headers()
            response = await self._send(verb, method, path, timeout, body, content_type, credentials, headers)
            if response.status == 401 and await self._renewed(response, credentials):
                credentials = await self.connection.credentials.headers()
                response = await self._send(verb, method, path, timeout, body, content_type, credentials, headers)
        except NO_ANSWER as error:
            problem = why_no_answer(error, monotonic() - began)
            raise Unavailable(f"{self._at(method, path)}: {problem}") from error
        if 200 <= response.status < 300:
            return response
        async with response:
            content = await self._reason(method, path, response)
            raise error_from_answer(self._at(method, path), response.status, response.headers, content)

    async def _send(
        self,
        verb: str,
        method: str,
        path: str,
        timeout: aiohttp.ClientTimeout,
        body: bytes | None,
        content_type: str,
        credentials: Headers,
        more: Headers,
    ) -> aiohttp.ClientResponse:
        if not _IN_A_REQUEST.fullmatch(path):
            raise BadInput(_not_in_a_url(method, path))
        headers = [*credentials, *more]
        if body is not None:
            headers.append(("Content-Type", content_type))
        connection = self.connection
        try:
            response = await self._session.request(
                method,
                URL(connection.server + path, encoded=True),
                data=body,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                proxy=connection.proxy,
                server_hostname=connection.server_name,
            )
        except NO_ANSWER:
            self.on_answer(verb, 0)
            raise
        self.on_answer(verb, response.status)
        return response

    async def _renewed(self, refused: aiohttp.ClientResponse, credentials: Headers) -> bool:
        """Whether there are other credentials to try; only then is the refused response released."""
        try:
            renewed = await self.connection.credentials.refresh(credentials)
        except BaseException:
            refused.close()
            raise
        if renewed:
            refused.close()
        return renewed

    async def _reason(self, method: str, path: str, response: aiohttp.ClientResponse) -> bytes:
        """The beginning of the body of an error; nothing where it cannot be unpacked, as the code says enough."""
        content = b""
        try:
            async for chunk in self._chunks(method, path, response):
                content += chunk
                if len(content) > ERROR_BYTES:
                    break
        except Unavailable as error:
            if not isinstance(error.__cause__, BadPacking):
                raise
        return content

    async def _read(self, method: str, path: str, response: aiohttp.ClientResponse) -> bytes:
        return b"".join([chunk async for chunk in self._chunks(method, path, response)])

    async def _chunks(self, method: str, path: str, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The body in chunks as they arrive, as long as it is not too long."""
        where, start, size = self._at(method, path), b"", 0
        async for chunk in Chunks(where, response):
            start = start or chunk
            size += len(chunk)
            if size > self._settings.answer_bytes:
                problem = words.answer_is_longer(self._settings.answer_bytes)
                raise unexpected(where, response.status, response.headers, start, problem)
            yield chunk

    def _at(self, method: str, path: str) -> str:
        """A request as messages name it: with the server, without the query."""
        return f"{self.connection.server}: {method} {path.partition('?')[0]}"


def _not_in_a_url(method: str, path: str) -> str:
    return words.not_in_a_url(method, path[:100])


def _may_repeat(method: str, error: ApiError | Unavailable) -> bool:
    if isinstance(error, TooManyRequests):
        # Not carried out. Without a time to come back it is a decision (a disruption budget), not a lack of capacity.
        return method in IDEMPOTENT or error.retry_after_seconds is not None
    if isinstance(error, Unavailable):
        return method in IDEMPOTENT or isinstance(error.__cause__, aiohttp.ClientConnectorError)
    return method in IDEMPOTENT and isinstance(error, ServerError)

"""The HTTP server of the embedded cluster.

Reads requests, passes them to the router, and writes answers and streams. Every Failure and every unexpected error
becomes a Status. Most requests are answered in the call in which they came; what has to be waited for (a gate, a fault,
reviews by webhooks, a version to come, a stream) is a task.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import orjson
import yaml

from vsched.apimachinery.meta.api_errors import MODIFIED, Failure, FutureVersion, internal, too_large
from vsched.apimachinery.meta.times import Clock, utc_now
from vsched.clock import monotonic
from vsched.errors import BadInput
from vsched.sim.api import fault_injection, spoiled_watches
from vsched.sim.api.fault_plan import Fault, FaultInjector
from vsched.sim.api.fault_plan import FaultKind as FaultKind
from vsched.sim.api.metrics_apis import MetricsApis
from vsched.sim.api.routes import Router
from vsched.sim.api.watches import BOOKMARK_SECONDS
from vsched.sim.auth.access import AccessControl
from vsched.sim.auth.bootstrap_roles import seed_roles
from vsched.sim.bootstrap import seed
from vsched.sim.http.connection import Later, ServerConnection
from vsched.sim.http.heads import Fields, head_of
from vsched.sim.http.reader import Request
from vsched.sim.http.server import HttpServer
from vsched.sim.requests.answers import ServerAnswer, Stream
from vsched.sim.requests.request import MAX_BODY_BYTES, ApiRequest, parse_query
from vsched.sim.store.store import Store
from vsched.sim.webhooks.validating import ReviewWanted

if TYPE_CHECKING:
    from vsched.sim.webhooks.calls import WebhookCaller
from vsched.sim.writer import ObjectWriter

log = logging.getLogger(__name__)

Gate = Callable[[ApiRequest], Awaitable[None]]
"""Awaited before each request: may delay it, or raise a Failure."""

_FUTURE_POLL_SECONDS = 0.02
_MOST_REVIEWS = 5
"""The most times that a write is repeated because its object changed during the reviews."""
_MOST_PATCHES = 100
"""The most mutating webhooks that are asked about one write, those included that are asked again."""
_JSON = "application/json"
_UNCACHED = (("Cache-Control", "no-cache, private"),)
_CHUNK_ITEMS = 500
_WARNING_CHARS = 4096


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How long clients wait for what comes by itself."""

    future_seconds: float = 3.0
    """For a version that the store has not reached."""
    bookmark_seconds: float = BOOKMARK_SECONDS
    """Between two bookmarks of a watch."""


class ApiServer:
    """Serves a store as a Kubernetes API server from ``start`` to ``close``."""

    def __init__(
        self,
        store: Store,
        *,
        writer: ObjectWriter | None = None,
        gate: Gate | None = None,
        now: Clock = utc_now,
        metrics: MetricsApis | None = None,
        access: AccessControl | None = None,
        faults: FaultInjector | None = None,
        settings: ServerSettings | None = None,
    ) -> None:
        self._settings = settings or ServerSettings()
        self._writer = writer or ObjectWriter(store, now=now)
        seed(self._writer)
        if access is not None:
            seed_roles(self._writer)
        self._router = Router(self._writer, metrics, access, self._settings.bookmark_seconds)
        self._access = access
        self._gate = gate
        self._faults = faults
        self._store = store
        self._webhooks: WebhookCaller | None = None
        self._http = HttpServer(self._answer, MAX_BODY_BYTES)
        self.streams: dict[asyncio.Task[object], None] = {}
        """The watches that run."""
        self.url = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        """Listens; returns the port."""
        try:
            address, number = await self._http.start(host, port, tls)
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(f"cannot listen on {host}:{port}: {why}; choose another port, or 0 for a free one") from None
        shown = f"[{address}]" if ":" in address else address
        self.url = f"{'http' if tls is None else 'https'}://{shown}:{number}"
        return number

    def drop_watches(self) -> None:
        """Ends every watch, as a failing connection would."""
        for task in list(self.streams):
            task.cancel()

    async def close(self) -> None:
        """Ends every stream and stops listening."""
        self.drop_watches()
        await self._http.close()
        if self._webhooks is not None:
            await self._webhooks.close()

    # -- one request

    def _answer(self, request: Request, connection: ServerConnection) -> Later | None:
        """Answers at once, or returns what is left to wait for."""
        call: ApiRequest | None = None
        try:
            call = _read(request)
            if self._access is not None:
                self._access.admit(call, request.headers)
            if self._gate is None:
                return self._admitted(call, connection)
            return partial(self._guarded, call, connection, partial(self._gated, self._gate, call, connection))
        except Exception as error:
            # A request that fails must not end the connection or other requests.
            _refuse(error, request.target, call, connection)
        return None

    async def _gated(self, gate: Gate, call: ApiRequest, connection: ServerConnection) -> None:
        await gate(call)
        if (later := self._admitted(call, connection)) is not None:
            await later()

    def _admitted(self, call: ApiRequest, connection: ServerConnection) -> Later | None:
        fault = self._faults.draw(call) if self._faults is not None else None
        if fault is not None:
            return partial(self._guarded, call, connection, partial(self._spoil, fault, call, connection))
        try:
            answer = self._router.answer(call)
        except (FutureVersion, ReviewWanted):
            return partial(self._guarded, call, connection, partial(self._answer_later, call, connection))
        if isinstance(answer, Stream) or _is_long(answer, call):
            return partial(self._guarded, call, connection, partial(self._send_long, connection, answer, call))
        _send(connection, answer, call)
        return None

    async def _guarded(self, call: ApiRequest, connection: ServerConnection, answering: Later) -> None:
        """What has to be waited for; its errors are answers as well."""
        try:
            await answering()
        except fault_injection.Dropped as dropped:
            connection.close(flush=dropped.flush)
        except ConnectionError:
            log.debug("the client is gone: %s", call.path)
        except Exception as error:
            _refuse(error, call.path, call, connection)

    async def _answer_later(self, call: ApiRequest, connection: ServerConnection) -> None:
        await self._send_any(connection, await self._routed(call), call)

    async def _spoil(self, fault: Fault, call: ApiRequest, connection: ServerConnection) -> None:
        await fault_injection.before(fault, call, self._writer.store)
        answer = await self._routed(call)
        if isinstance(answer, Stream):
            await self._send_long(connection, spoiled_watches.spoiled(fault, answer), call)
            return
        await fault_injection.after(fault)
        if fault.kind is FaultKind.TRUNCATED:
            body, content_type = _encoded(answer, call)
            connection.send_half(_head(answer.code, content_type), body)
            return
        await self._send_any(connection, answer, call)

    async def _routed(self, call: ApiRequest) -> ServerAnswer | Stream:
        """The answer; a request for a version that does not exist yet waits a while for it.

        A write that needs reviews is repeated from the start after them, because its object may have changed.
        """
        deadline, asked = monotonic() + self._settings.future_seconds, 0
        while True:
            call.warnings[:] = call.reviews.warnings
            try:
                return self._router.answer(call)
            except FutureVersion:
                if monotonic() >= deadline:
                    raise
                await asyncio.sleep(_FUTURE_POLL_SECONDS)
            except ReviewWanted as wanted:
                if asked == _MOST_REVIEWS or len(call.reviews.patches) == _MOST_PATCHES:
                    raise Failure(409, "Conflict", f"Operation cannot be fulfilled: {MODIFIED}") from None
                asked += not wanted.mutating
                await self._ask(call, wanted)

    async def _ask(self, call: ApiRequest, wanted: ReviewWanted) -> None:
        from vsched.sim.webhooks.calls import WebhookCaller  # its client takes long to load, and few clusters need it

        if self._webhooks is None:
            self._webhooks = WebhookCaller(self._store)
        try:
            await self._webhooks.ask(wanted.questions, call.reviews)
        finally:
            call.warnings[:] = call.reviews.warnings

    async def _send_any(self, connection: ServerConnection, answer: ServerAnswer | Stream, call: ApiRequest) -> None:
        if isinstance(answer, Stream) or _is_long(answer, call):
            await self._send_long(connection, answer, call)
        else:
            _send(connection, answer, call)

    async def _send_long(self, connection: ServerConnection, answer: ServerAnswer | Stream, call: ApiRequest) -> None:
        """Sends a watch, or a list in parts."""
        if isinstance(answer, Stream):
            await self._send_stream(connection, answer)
            return
        assert answer.listing is not None
        connection.begin(_head(answer.code, _JSON))
        for chunk in answer.listing.chunks(_CHUNK_ITEMS):
            await connection.write(chunk)
        connection.end()

    async def _send_stream(self, connection: ServerConnection, stream: Stream) -> None:
        connection.begin(_head(200, _JSON))
        task = asyncio.current_task()
        assert task is not None
        self.streams[task] = None
        try:
            await stream.run(connection.write)
            connection.end()
        finally:
            self.streams.pop(task, None)


def _read(request: Request) -> ApiRequest:
    if request.too_large:
        raise too_large(MAX_BODY_BYTES)
    path, _, query = request.target.partition("?")
    head = request.head
    return ApiRequest(
        method=request.method,
        path=path,
        query=parse_query(query) if query else {},
        accept=head.accept,
        content_type=head.content_type,
        user_agent=head.user_agent,
        body=request.body,
    )


def _is_long(answer: ServerAnswer, call: ApiRequest) -> bool:
    """Whether it is a list that is sent in parts."""
    return answer.listing is not None and len(answer.listing.records) > _CHUNK_ITEMS and not _wants_yaml(call)


def _send(connection: ServerConnection, answer: ServerAnswer, call: ApiRequest) -> None:
    body, content_type = _encoded(answer, call)
    fields: Fields = (*answer.headers.items(), *_warnings(call)) if answer.headers or call.warnings else ()
    connection.send(_head(answer.code, content_type, fields), body)


@lru_cache(maxsize=256)
def _head(code: int, content_type: str, fields: Fields = ()) -> bytes:
    return head_of(code, (("Content-Type", content_type), *_UNCACHED, *fields))


def _encoded(answer: ServerAnswer, call: ApiRequest) -> tuple[bytes, str]:
    if answer.listing is not None:
        body = b"".join(answer.listing.chunks(_CHUNK_ITEMS))
    elif answer.raw is not None:
        body = answer.raw
    else:
        body = orjson.dumps(answer.obj)
    if answer.content_type == _JSON and _wants_yaml(call):
        return yaml.safe_dump(orjson.loads(body), sort_keys=True).encode(), "application/yaml"
    return body, answer.content_type


def _wants_yaml(call: ApiRequest) -> bool:
    return "yaml" in call.accept and call.form.yaml


def _warnings(call: ApiRequest) -> Fields:
    """One header a warning, within the limit; unprintable characters become spaces."""
    fields: list[tuple[str, str]] = []
    room = _WARNING_CHARS
    for warning in call.warnings:
        room -= len(warning)
        if room < 0:
            break
        text = "".join(each if each.isprintable() else " " for each in warning)
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        fields.append(("Warning", f'299 - "{quoted}"'))
    return tuple(fields)


def _refuse(error: Exception, path: str, call: ApiRequest | None, connection: ServerConnection) -> None:
    """Answers with the Status of an error; where the answer has begun, ends the connection."""
    if not isinstance(error, Failure):
        log.error("request failed: %s", path, exc_info=error)
        error = internal(f"{type(error).__name__}: {error}")
    if connection.begun:
        connection.close(flush=True)
        return
    fields = (*error.headers.items(), *(_warnings(call) if call is not None else ()))
    connection.send(_head(error.code, _JSON, fields), orjson.dumps(error.body))

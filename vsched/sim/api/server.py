"""The HTTP server of the embedded cluster.

Reads requests, passes them to the router, and writes answers and streams. Every Failure and every unexpected error
becomes a Status.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

import orjson
import yaml
from aiohttp import ClientConnectionError, web
from multidict import CIMultiDict

from vsched.errors import BadInput
from vsched.sim.api import fault_injection
from vsched.sim.api.fault_plan import Fault, FaultInjector
from vsched.sim.api.fault_plan import FaultKind as FaultKind
from vsched.sim.api.metrics_apis import MetricsApis
from vsched.sim.api.routes import Router
from vsched.sim.api.watches import BOOKMARK_SECONDS
from vsched.sim.auth.access import AccessControl
from vsched.sim.auth.bootstrap_roles import seed_roles
from vsched.sim.bootstrap import seed
from vsched.sim.requests.answers import Answer, Stream
from vsched.sim.requests.request import MAX_BODY_BYTES, ApiRequest, parse_query
from vsched.sim.store.api_errors import MODIFIED, Failure, FutureVersion, internal, too_large
from vsched.sim.store.store import Store
from vsched.sim.store.times import Clock, utc_now
from vsched.sim.webhooks.calls import WebhookCaller
from vsched.sim.webhooks.validating import ReviewWanted
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
_UNCACHED = {"Cache-Control": "no-cache, private"}
_CHUNK_ITEMS = 500
_WARNING_CHARS = 4096
_SHUTDOWN_SECONDS = 0.5


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
        self._webhooks = WebhookCaller(store)
        self._runner: web.ServerRunner | None = None
        self.streams: set[asyncio.Task[object]] = set()
        """The watches that run."""
        self.url = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        """Listens; returns the port."""
        # A disconnect cancels the handler, which ends quiet watches at once; writes are synchronous, so none is cut.
        server = web.Server(self._answer, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        site = web.TCPSite(runner, host, port, backlog=1024, ssl_context=tls)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            why = error.strerror or str(error)
            raise BadInput(f"cannot listen on {host}:{port}: {why}; choose another port, or 0 for a free one") from None
        self._runner = runner
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        self.url = f"{'http' if tls is None else 'https'}://{shown}:{address[1]}"
        return int(address[1])

    def drop_watches(self) -> None:
        """Ends every watch, as a failing connection would."""
        for task in list(self.streams):
            task.cancel()

    async def close(self) -> None:
        """Ends every stream and stops listening."""
        self.drop_watches()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
        await self._webhooks.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        call: ApiRequest | None = None
        try:
            call = await self._read(request)
            if self._access is not None:
                self._access.admit(call, request.headers)
            if self._gate is not None:
                await self._gate(call)
            fault = self._faults.draw(call) if self._faults is not None else None
            if fault is not None:
                return await self._spoil(fault, request, call)
            answer = await self._routed(call)
            if isinstance(answer, Stream):
                return await self._send_stream(request, answer)
            return await self._send(request, call, answer)
        except Failure as failure:
            return _refusal(failure, call)
        except fault_injection.Dropped as dropped:
            return fault_injection.drop(request, dropped)
        except (ClientConnectionError, ConnectionError):
            raise
        except Exception as error:
            # A request that fails unexpectedly must not end the connection or other requests.
            log.exception("request failed: %s %s", request.method, request.raw_path)
            return _refusal(internal(f"{type(error).__name__}: {error}"), call)

    async def _spoil(self, fault: Fault, request: web.BaseRequest, call: ApiRequest) -> web.StreamResponse:
        await fault_injection.before(fault, call)
        answer = await self._routed(call)
        if isinstance(answer, Stream):
            return await self._send_stream(request, fault_injection.spoiled(fault, answer))
        await fault_injection.after(fault)
        if fault.kind is FaultKind.TRUNCATED:
            body, content_type = _encoded(answer, call)
            return await fault_injection.send_half(
                request, answer.code, {"Content-Type": content_type, **_UNCACHED}, body
            )
        return await self._send(request, call, answer)

    async def _routed(self, call: ApiRequest) -> Answer | Stream:
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
        try:
            await self._webhooks.ask(wanted.questions, call.reviews)
        finally:
            call.warnings[:] = call.reviews.warnings

    async def _read(self, request: web.BaseRequest) -> ApiRequest:
        path, _, query = request.raw_path.partition("?")
        headers = request.headers
        call = ApiRequest(
            method=request.method,
            path=path,
            query=parse_query(query) if query else {},
            accept=headers.get("Accept", ""),
            content_type=headers.get("Content-Type", ""),
            user_agent=headers.get("User-Agent", ""),
        )
        if request.can_read_body:
            call.body = await _read_body(request)
        return call

    async def _send(self, request: web.BaseRequest, call: ApiRequest, answer: Answer) -> web.StreamResponse:
        if answer.listing is not None and len(answer.listing.records) > _CHUNK_ITEMS and not _wants_yaml(call):
            response = web.StreamResponse(status=answer.code, headers={"Content-Type": _JSON, **_UNCACHED})
            await response.prepare(request)
            for chunk in answer.listing.chunks(_CHUNK_ITEMS):
                await response.write(chunk)
            await response.write_eof()
            return response
        body, content_type = _encoded(answer, call)
        headers = CIMultiDict({"Content-Type": content_type, **_UNCACHED, **answer.headers})
        if call.warnings:
            _warn(call, headers)
        return web.Response(body=body, status=answer.code, headers=headers)

    async def _send_stream(self, request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": _JSON, **_UNCACHED})
        response.enable_chunked_encoding()
        await response.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        self.streams.add(task)
        try:
            await stream.run(response.write)
            await response.write_eof()
        except (ClientConnectionError, ConnectionError):
            # The client is gone.
            log.debug("watch ended by its client: %s", request.raw_path)
        finally:
            self.streams.discard(task)
        return response


async def _read_body(request: web.BaseRequest) -> bytes:
    """The body; raises a Failure as soon as it is over the limit."""
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise too_large(MAX_BODY_BYTES)
    parts: list[bytes] = []
    length = 0
    while part := await request.content.readany():
        parts.append(part)
        length += len(part)
        if length > MAX_BODY_BYTES:
            raise too_large(MAX_BODY_BYTES)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _encoded(answer: Answer, call: ApiRequest) -> tuple[bytes, str]:
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


def _warn(call: ApiRequest, headers: CIMultiDict[str]) -> None:
    """One header a warning, within the limit; unprintable characters become spaces."""
    room = _WARNING_CHARS
    for warning in call.warnings:
        room -= len(warning)
        if room < 0:
            return
        text = "".join(each if each.isprintable() else " " for each in warning)
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        headers.add("Warning", f'299 - "{quoted}"')


def _refusal(failure: Failure, call: ApiRequest | None) -> web.Response:
    headers = CIMultiDict({"Content-Type": _JSON, **_UNCACHED, **failure.headers})
    if call is not None:
        _warn(call, headers)
    return web.Response(body=orjson.dumps(failure.body), status=failure.code, headers=headers)

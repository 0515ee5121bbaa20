"""Traces by OpenTelemetry: a span for each session, write, transaction of claims and HTTP request.

OpenTelemetry is imported where tracing is on, and only there. Spans are sent in batches by a thread of its SDK; while
the collector does not take them they are dropped, and nothing waits for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from socket import gethostname
from typing import TYPE_CHECKING, Any

from aiohttp import web

from vsched import __version__
from vsched.api.resources import PODS
from vsched.clock import now
from vsched.daemon.observe.telemetry import Timing
from vsched.daemon.options import Options
from vsched.daemon.words import log as words
from vsched.daemon.words import options as option_words
from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import Credentials, Headers
from vsched.log import logger
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.serve.routing import Handler
from vsched.writes.limits import Attempts
from vsched.writes.writer import Write, Writer, WriteResult, may_help

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Span

TRACEPARENT = "traceparent"
AWAITED_MAX = 20_000
"""Of so many pods and gangs it is known which session decided about them, until that is sent."""
QUEUE_MAX, BATCH_MAX, DELAY_MILLISECONDS = 8192, 512, 1000
"""Spans that wait to be sent, those that are sent at once, and how long the first one waits."""
EXPORT_SECONDS = 2.0
"""How long the collector may take; the daemon ends that much later where it does not answer."""
DECIDED = frozenset({"binding", "eviction"})
"""Kinds of writes that end what is awaited."""


class Tracing:
    """Makes spans, and sends them to a collector."""

    def __init__(self, endpoint: str, share: float, worry: Callable[..., Any]) -> None:
        """``endpoint``: the collector's URL for OTLP over HTTP; ``share``: of the sessions that are traced, at most.

        Raises BadInput where OpenTelemetry is not installed.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError:
            raise BadInput(option_words.NO_OPENTELEMETRY) from None
        quiet()
        self._provider = TracerProvider(ParentBased(TraceIdRatioBased(share)), described(), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=EXPORT_SECONDS)
        self._exporter = _telling(exporter, worry)
        self._provider.add_span_processor(
            BatchSpanProcessor(self._exporter, QUEUE_MAX, DELAY_MILLISECONDS, max_export_batch_size=BATCH_MAX)
        )
        self._tracer = self._provider.get_tracer("vsched", __version__)
        self._carried = TraceContextTextMapPropagator()
        self._session: Span | None = None
        self._context: Context | None = None
        """That of the last session."""
        self._began = self._policy_at = 0.0
        self._parents: dict[str, Context] = {}
        """The session that decided about a pod, by the pod's path; about a gang with claims, by its job."""

    # -- sessions

    def begin(self, number: int, seconds: float) -> None:
        """A session that began so long ago comes to its decisions."""
        from opentelemetry.trace import set_span_in_context

        self._end_failed()
        self._policy_at = now()
        self._began = self._policy_at - seconds
        self._session = self._tracer.start_span(
            "session", context=_root(), start_time=_nanos(self._began), attributes={"vsched.session": number}
        )
        self._context = set_span_in_context(self._session, _root())

    def deciding(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """What is written about these pods belongs to the session."""
        context = self._context
        if context is None:
            return
        pods = [(one.namespace, one.name) for many in (report.evictions, report.binds) for one in many]
        gangs = dict.fromkeys(bind.job for bind in report.binds if bind.claims is not None)
        for about in (*(PODS.path(*pod) for pod in pods), *gangs):
            self._parents[about] = context
            if len(self._parents) > AWAITED_MAX:
                del self._parents[next(iter(self._parents))]
            yield

    def ended(self, report: CycleReport, timing: Timing) -> None:
        """The session has ended; when its parts began follows from how long they took."""
        session, context, self._session = self._session, self._context, None
        if session is None or context is None:
            return
        if session.is_recording():
            session.set_attributes(
                {
                    "vsched.reason": timing.reason.value,
                    "vsched.binds": len(report.binds),
                    "vsched.evictions": len(report.evictions),
                    "vsched.waiting": len(report.unschedulable),
                    **{f"vsched.plugin.{name}": spent for kind, name, spent in report.spans if kind == "plugin"},
                }
            )
            self._part("snapshot", self._began, timing.snapshot, context)
            decide = self._part("decide", self._policy_at, timing.decide, context)
            at = self._policy_at
            for kind, name, spent in report.spans:
                if kind in ("session", "action"):
                    inner = self._part(f"action {name}" if kind == "action" else "open session", at, spent, decide)
                    if kind == "session":
                        self._plugins(report, at, inner)
                    at += spent
            self._part("hand over", self._policy_at + timing.decide, timing.handover, context)
        session.end(_nanos(self._policy_at + timing.decide + timing.handover))

    def _plugins(self, report: CycleReport, at: float, context: Context) -> None:
        for kind, name, spent in report.spans:
            if kind == "open":
                self._part(f"open {name}", at, spent, context)
                at += spent

    def _part(self, name: str, at: float, seconds: float, context: Context) -> Context:
        from opentelemetry.trace import set_span_in_context

        span = self._tracer.start_span(name, context=context, start_time=_nanos(at))
        span.end(_nanos(at + seconds))
        return set_span_in_context(span, context)

    def _end_failed(self) -> None:
        from opentelemetry.trace import StatusCode

        if self._session is not None:
            self._session.set_status(StatusCode.ERROR)
            self._session.end()
            self._session = None

    # -- everything else

    @contextmanager
    def write(self, write: Write) -> Iterator[Span]:
        """A write to the API server; it belongs to the session that decided it, or to what is under way."""
        from opentelemetry.trace import SpanKind, get_current_span

        pod = write.path.rpartition("/")[0]
        known = self._parents.pop(pod, None) if write.kind in DECIDED else self._parents.get(pod)
        parent = None if get_current_span().get_span_context().is_valid else known or self._context
        told = {"http.request.method": write.method, "url.path": write.path}
        with self._tracer.start_as_current_span(f"write {write.kind}", parent, SpanKind.CLIENT, told) as span:
            yield span

    def claims(self, job: str) -> AbstractContextManager[object]:
        """The transaction of a gang's claims."""
        parent = self._parents.pop(job, None) or self._context
        return self._tracer.start_as_current_span("claims", parent, attributes={"vsched.job": job})

    def middleware(self) -> Any:
        """Of HTTP requests to the daemon; each belongs to the trace that its ``traceparent`` names."""
        from opentelemetry.trace import SpanKind

        @web.middleware
        async def traced(request: web.Request, handler: Handler) -> web.StreamResponse:
            resource = request.match_info.route.resource
            path = "unknown" if resource is None else resource.canonical
            parent = self._carried.extract({TRACEPARENT: request.headers.get(TRACEPARENT, "")}, _root())
            told = {"http.request.method": request.method, "http.route": path}
            name = f"{request.method} {path}"
            with self._tracer.start_as_current_span(name, parent, SpanKind.SERVER, told) as span:
                response = await handler(request)
                span.set_attribute("http.response.status_code", response.status)
                return response

        return traced

    def carrying(self, connection: Connection) -> Connection:
        """The connection, with requests that say which span they belong to."""
        return replace(connection, credentials=_Carrying(connection.credentials, self._headers))

    def _headers(self) -> Headers:
        carrier: dict[str, str] = {}
        self._carried.inject(carrier)
        return tuple(carrier.items())

    async def close(self) -> None:
        """Send what waits, and end."""
        self._end_failed()
        if not self._exporter.failed:
            await asyncio.to_thread(self._provider.force_flush)
        await asyncio.to_thread(self._provider.shutdown)

    def numbers(self) -> dict[str, dict[str, float]]:
        """For metrics."""
        return {"vsched_trace_spans_total": {name: float(count) for name, count in self._exporter.counts.items()}}


class TracedWriter(Writer):
    """A writer whose writes are spans."""

    def __init__(self, tracing: Tracing, *given: Any) -> None:
        super().__init__(*given)
        self._tracing = tracing

    async def send(
        self, write: Write, attempts: Attempts, again: Callable[[WriteResult], bool] = may_help
    ) -> WriteResult:
        from opentelemetry.trace import StatusCode

        with self._tracing.write(write) as span:
            answer = await super().send(write, attempts, again)
            span.set_attributes({"http.response.status_code": answer.code, "vsched.attempts": answer.attempts})
            if not answer.done:
                span.set_status(StatusCode.ERROR, answer.message)
            return answer


class _Carrying:
    """Credentials with a header about the span under way."""

    def __init__(self, inner: Credentials, carried: Callable[[], Headers]) -> None:
        self._inner, self._carried = inner, carried

    async def headers(self) -> Headers:
        return (*await self._inner.headers(), *self._carried())

    async def refresh(self, refused: Headers) -> bool:
        return await self._inner.refresh(tuple(each for each in refused if each[0] != TRACEPARENT))


def tracing_of(options: Options) -> Tracing | None:
    """The tracing that a daemon's options ask for, None for none; raises BadInput."""
    if not options.otlp_endpoint:
        return None
    return Tracing(options.otlp_endpoint, options.trace_share, logger("vsched").warning)


def _telling(exporter: SpanExporter, worry: Callable[..., Any]) -> Any:
    """The exporter, which tells once that spans are lost, and counts them; called in the SDK's thread."""
    from opentelemetry.sdk.trace.export import SpanExporter as Exporter
    from opentelemetry.sdk.trace.export import SpanExportResult as Result

    class Telling(Exporter):
        """Passes spans on."""

        def __init__(self) -> None:
            self.counts = {"sent": 0, "lost": 0}
            self.failed = False

        def export(self, spans: Sequence[Any]) -> SpanExportResult:
            found = exporter.export(spans)
            failed = found is not Result.SUCCESS
            self.counts["lost" if failed else "sent"] += len(spans)
            if failed is not self.failed:
                self.failed = failed
                worry(words.TRACES_LOST if failed else words.TRACES_GO_ON)
            return found

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30000) -> bool:
            return exporter.force_flush(timeout_millis)

    return Telling()


def quiet() -> None:
    """What OpenTelemetry logs of a collector that does not answer is said by the daemon, once."""
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)


def described() -> Resource:
    """What a collector is told of this process."""
    from opentelemetry.sdk.resources import Resource

    known = {"service.name": "vsched", "service.version": __version__, "service.instance.id": gethostname()}
    return Resource.create(known)


def _root() -> Context:
    from opentelemetry.context import Context

    return Context()


def _nanos(at: float) -> int:
    return int(at * 1e9)

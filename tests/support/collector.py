"""A collector of OpenTelemetry on the loopback: it takes traces and log records by OTLP over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.answering import Answering, answering, content


class CollectedSpan(NamedTuple):
    """A span as it arrived; times in seconds since the epoch."""

    name: str
    trace: str
    id: str
    parent: str
    began: float
    ended: float
    told: dict[str, object]


class CollectedRecord(NamedTuple):
    """A log record as it arrived; its time in seconds since the epoch."""

    at: float
    event: str
    said: str
    told: dict[str, object]


TRACES, LOGS = "/v1/traces", "/v1/logs"


class Collector:
    """What has arrived until now."""

    def __init__(self, server: Answering) -> None:
        self._server = server
        self.url = server.url

    def refuse(self, code: int, path: str = TRACES) -> None:
        """Answer with this code from now on; 200 takes what is sent again."""
        self._server.replies[path] = content(b"", code, kind="application/x-protobuf")

    @property
    def records(self) -> list[CollectedRecord]:
        """All log records, in the order in which they came."""
        return [
            CollectedRecord(record.time_unix_nano / 1e9, record.event_name, record.body.string_value, _told(record))
            for each in self._server.asked
            if each.path == LOGS
            for logs in ExportLogsServiceRequest.FromString(each.body).resource_logs
            for scope in logs.scope_logs
            for record in scope.log_records
        ]

    @property
    def spans(self) -> list[CollectedSpan]:
        """All of them, in the order of their beginnings, the longer one first."""
        found = []
        for each in self._server.asked:
            if each.path != TRACES:
                continue
            for spans in ExportTraceServiceRequest.FromString(each.body).resource_spans:
                for scope in spans.scope_spans:
                    found += [
                        CollectedSpan(
                            span.name,
                            span.trace_id.hex(),
                            span.span_id.hex(),
                            span.parent_span_id.hex(),
                            span.start_time_unix_nano / 1e9,
                            span.end_time_unix_nano / 1e9,
                            _told(span),
                        )
                        for span in scope.spans
                    ]
        return sorted(found, key=lambda span: (span.began, -span.ended))


def _told(one: Any) -> dict[str, object]:
    return {each.key: getattr(each.value, str(each.value.WhichOneof("value"))) for each in one.attributes}


@asynccontextmanager
async def collecting_spans() -> AsyncIterator[Collector]:
    """A collector that takes spans."""
    async with answering() as server:
        collector = Collector(server)
        collector.refuse(200)
        yield collector

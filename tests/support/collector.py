"""A collector of OpenTelemetry on the loopback: it takes traces by OTLP over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

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


class Collector:
    """What has arrived until now."""

    def __init__(self, server: Answering) -> None:
        self._server = server
        self.url = server.url

    def refuse(self, code: int) -> None:
        """Answer with this code from now on; 200 takes spans again."""
        self._server.replies["/v1/traces"] = content(b"", code, kind="application/x-protobuf")

    @property
    def spans(self) -> list[CollectedSpan]:
        """All of them, in the order of their beginnings, the longer one first."""
        found = []
        for each in self._server.asked:
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
                            {
                                one.key: getattr(one.value, str(one.value.WhichOneof("value")))
                                for one in span.attributes
                            },
                        )
                        for span in scope.spans
                    ]
        return sorted(found, key=lambda span: (span.began, -span.ended))


@asynccontextmanager
async def collecting_spans() -> AsyncIterator[Collector]:
    """A collector that takes spans."""
    async with answering() as server:
        collector = Collector(server)
        collector.refuse(200)
        yield collector

"""Lines of the audit log as log records of OpenTelemetry, which is imported where they are on, and only there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from vsched import __version__
from vsched.daemon.observe.tracing import EXPORT_SECONDS, described, quiet
from vsched.daemon.words import log as words
from vsched.daemon.words import options as option_words
from vsched.errors import BadInput
from vsched.record.audit import AuditLine

BATCH_MAX = 512
"""Records in one request."""


class CollectedLines:
    """Sends lines to a collector."""

    def __init__(self, endpoint: str) -> None:
        """``endpoint``: the URL for OTLP over HTTP. Raises BadInput where OpenTelemetry is not installed."""
        try:
            from opentelemetry._logs import LogRecord, SeverityNumber
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.sdk._logs import ReadableLogRecord
            from opentelemetry.sdk._logs.export import LogRecordExportResult
            from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        except ImportError:
            raise BadInput(option_words.NO_OPENTELEMETRY) from None
        quiet()
        self._exporter = OTLPLogExporter(f"{endpoint.rstrip('/')}/v1/logs", timeout=EXPORT_SECONDS)
        self._taken = LogRecordExportResult.SUCCESS
        resource, scope = described(), InstrumentationScope("vsched", __version__)

        def record(line: AuditLine) -> ReadableLogRecord:
            told: dict[str, Any] = msgspec.to_builtins(line)
            at = int(datetime.fromisoformat(line.at).timestamp() * 1e3) * 1_000_000
            body = f"{line.event} {line.pod or line.job}".rstrip()
            given = {f"vsched.{name}": value for name, value in told.items()}
            one = LogRecord(
                timestamp=at,
                severity_number=SeverityNumber.INFO,
                severity_text="INFO",
                body=body,
                attributes=given,
                event_name=f"vsched.{line.event}",
            )
            return ReadableLogRecord(one, resource, scope)

        self._record = record

    def write(self, lines: Sequence[AuditLine]) -> None:
        """Send them; raises OSError where the collector does not take them."""
        for first in range(0, len(lines), BATCH_MAX):
            records = [self._record(line) for line in lines[first : first + BATCH_MAX]]
            if self._exporter.export(records) is not self._taken:
                raise OSError(words.NOT_COLLECTED)

    def close(self) -> None:
        """Send nothing more."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

"""The points of ``vsched bench --grow`` for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from vsched.lab.bench.words import grow as words

Document = dict[str, Any]

SIZE = (("nodes", "{nodes:,}"), ("pods", "{pods:,}"))
DECIDED = (
    (words.NEW_SHAPE, "{new_shape_ms:,.1f}"),
    ("snapshot, ms", "{snapshot_ms:,.2f}"),
    ("idle, ms", "{idle_ms:,.2f}"),
    ("restart, s", "{restart_seconds:,.1f}"),
    ("memory, MB", "{memory[resident_mb]:,.0f}"),
    ("peak, MB", "{peak_mb:,}"),
)
SERVED = (
    ("/metrics, KB", "{metrics_kb:,.0f}"),
    ("ms", "{metrics[ms]:,.0f}"),
    ("page, KB", "{page_kb:,.0f}"),
    ("gzipped, KB", "{gzip_kb:,.0f}"),
    ("ms", "{page_ms:,.0f}"),
)
"""The heading of each column, and its figure."""

Columns = Sequence[tuple[str, str]]


def as_tables(points: Sequence[Document]) -> list[Table]:
    """Two tables with a line for each point: what decisions cost, and what is served."""
    size = words.size(points[0]["queues"], points[0]["namespaces"])
    return [_table(size, (*SIZE, *DECIDED), points), _table(words.SERVED, (*SIZE, *SERVED), points)]


def _table(title: str, columns: Columns, points: Sequence[Document]) -> Table:
    table = Table(title=title, title_justify="left", show_edge=False, box=SIMPLE)
    for heading, _ in columns:
        table.add_column(heading.replace(", ", "\n"), justify="right")
    for point in points:
        table.add_row(*_cells(columns, point))
    return table


def as_line(point: Document) -> str:
    """One point as it is told when it has been measured."""
    headings = (heading for heading, _ in DECIDED)
    return "; ".join(f"{heading}: {cell}" for heading, cell in zip(headings, _cells(DECIDED, point), strict=True))


def page_ms(point: Document) -> float:
    """What a picture of the page costs, from the session to the bytes."""
    page = point["page"]
    return float(page["freeze_ms"] + page["draw_ms"] + page["encode_ms"])


def _cells(columns: Columns, point: Document) -> list[str]:
    page, metrics = point["page"], point["metrics"]
    figures = {
        **point,
        "metrics_kb": metrics["bytes"] / 1e3,
        "page_kb": page["bytes"] / 1e3,
        "gzip_kb": page["gzip_bytes"] / 1e3,
        "page_ms": page_ms(point),
    }
    return [form.format(**figures) for _, form in columns]

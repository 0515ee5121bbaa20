"""The words that tables have in common, on the terminal as on the page: one heading for one thing, in one order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, OverflowMethod, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

QUEUE = ("queue", "state", "weight", "priority", "share")
"""Before the amounts, one column a resource; ``QUEUE_COUNTS`` follow them."""
QUEUE_COUNTS = ("jobs", "waiting")
NAMESPACE = ("namespace", "queue", "weight", "share")
"""Before the amounts; ``waiting`` follows them."""
JOB = ("job", "queue", "phase", "priority", "min", "ready", "pending", "running", "age", "position", "reason")
"""``message`` follows where there is room."""
NODE = ("node",)
"""Before the amounts; ``NODE_STATE`` follows them."""
NODE_STATE = ("pods", "usage", "state")

USUAL = ("cpu", "memory")
"""Resources that always have a column; the scarcest of the others joins them."""

GAP = "  "
"""Between two columns."""

NUMBERS = frozenset(
    {"weight", "priority", "share", "jobs", "waiting", "min", "ready", "pending", "running", "age", "position", "pods"}
    | {"inqueue", "unknown", "completed", "succeeded", "failed", "count"}
)
"""Headings over numbers, which are set to the right."""

NAMES = frozenset({"job", "queue", "namespace", "node"})
"""Headings over names, which may be cut off: a number is whole, or says something else."""


def columned(headings: Iterable[str], *, unicode: bool = True, giving: Container[str] = ()) -> Table:
    """A table without lines; resources go by the last part of their names, and no heading is broken.

    Where there is no room those that are ``giving`` way do so before others, the widest first; their cells are to be
    ``named``.

    Where there are only the letters of ASCII, what does not fit is cut off without the sign that says so.
    """
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(
            heading.rpartition("/")[2],
            justify="right" if heading in NUMBERS else "left",
            no_wrap=heading not in giving,
            overflow=_overflow(unicode),
        )
    return table


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of thousands of rows: drawn a row at a time where all of it has room, else like any other."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    unicode: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType | Segment]:
        first = [heading.rpartition("/")[2] for heading in self.headings]
        widths = [max(map(_cells, column)) for column in zip(first, *self.rows, strict=True)]
        if sum(widths) + len(GAP) * (len(widths) - 1) > options.max_width:
            yield self._table()
            return
        right = [heading in NUMBERS for heading in self.headings]
        bold = console.get_style("bold")
        for row in ([Text(heading, bold) for heading in first], *self.rows):
            for at, cell in enumerate(row):
                blank = " " * (widths[at] - _cells(cell))
                yield Segment(f"{GAP if at else ''}{blank if right[at] else ''}")
                if isinstance(cell, str):
                    yield Segment(cell)
                else:
                    yield from cell.render(console)
                if not right[at] and at + 1 < len(row):
                    yield Segment(blank)
            yield Segment.line()

    def _table(self) -> Table:
        table = columned(self.headings, unicode=self.unicode, giving={*NAMES, "message"})
        for row in self.rows:
            table.add_row(*row)
        return table


def _cells(cell: str | Text) -> int:
    return cell_len(cell) if isinstance(cell, str) else cell.cell_len


def named(name: str | Text, *, unicode: bool) -> Text:
    """A name that takes one line, whatever room there is."""
    text = Text(name) if isinstance(name, str) else name
    text.no_wrap, text.overflow = True, _overflow(unicode)
    return text


def _overflow(unicode: bool) -> OverflowMethod:
    return "ellipsis" if unicode else "crop"

"""Tables: the same headings in the same order in all commands, and on the web page."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, OverflowMethod, RenderableType
from rich.containers import Lines
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

QUEUE = ("queue", "state", "weight", "priority", "share")
"""Headings before the amounts of each resource; ``QUEUE_COUNTS`` follow."""
QUEUE_COUNTS = ("jobs", "waiting")
NAMESPACE = ("namespace", "queue", "weight", "share")
"""Headings before the amounts; ``waiting`` follows."""
JOB = ("job", "queue", "phase", "priority", "min", "ready", "pending", "running", "age", "position", "reason")
"""``message`` follows where there is room."""
NODE = ("node",)
"""Headings before the amounts; ``NODE_STATE`` follows."""
NODE_STATE = ("pods", "usage", "state")

USUAL = ("cpu", "memory")
"""Resources that always have a column; the scarcest of the others has one, too."""

GAP = "  "
"""Between two columns."""

NUMBERS = frozenset(
    {"weight", "priority", "share", "jobs", "waiting", "min", "ready", "pending", "running", "age", "position", "pods"}
    | {"inqueue", "unknown", "completed", "succeeded", "failed", "count"}
)
"""Headings of numbers, which are aligned to the right."""

NAMES = frozenset({"job", "queue", "namespace", "node"})
"""Headings of names, which may be shortened where numbers may not."""


def columned(headings: Iterable[str], *, unicode: bool = True, giving: Container[str] = ()) -> Table:
    """A table without lines; a resource is named by the last part of its name, and no heading is broken.

    Where there is no room, the columns in ``giving`` shrink first, the widest before others; their cells are made by
    ``named`` or ``sentence``.
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
class RowTable:
    """A table of thousands of rows: drawn row by row where all columns fit, which is faster, else as any other."""

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


class Name(Text):
    """A name that is shortened in the middle where there is no room: names of one kind often differ at the end."""

    mark = "…"

    def wrap(self, console: Console, width: int, **_: Any) -> Lines:
        """The name in one line of at most this width."""
        if self.cell_len <= width:
            return Lines([self.copy()])
        room = max(0, width - len(self.mark))
        first, last = set_cell_size(self.plain, (room + 1) // 2).rstrip(), self.plain
        while cell_len(last) > room // 2:
            last = last[1:]
        shortened = Text.assemble(self[: len(first)], self.mark[:width], self[len(self.plain) - len(last) :])
        shortened.style = self.style
        return Lines([shortened])


def named(name: str | Text, *, unicode: bool) -> Text:
    """A name in one line, shortened in the middle where there is no room for it."""
    found = Name("", style="" if isinstance(name, str) else name.style)
    found.append(name)
    found.mark = "…" if unicode else "..."
    return found


def sentence(text: str, *, unicode: bool) -> Text:
    """A sentence in one line, cut off at the end where there is no room for it."""
    return Text(text, no_wrap=True, overflow=_overflow(unicode))


def _overflow(unicode: bool) -> OverflowMethod:
    return "ellipsis" if unicode else "crop"

"""Tables: one description of each column, for text and for documents."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, OverflowMethod, RenderableType
from rich.containers import Lines
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from vsched.cli.show.drawing import Look

R = TypeVar("R")

USUAL = ("cpu", "memory")
"""Resources that always have a column; the scarcest of the others has one, too."""

GAP = "  "
"""Between two columns."""


@dataclass(frozen=True, slots=True)
class TableColumn(Generic[R]):
    """What is shown of each row of a table: a column of text, an entry of documents, or both."""

    heading: str = ""
    """Empty: no column of text."""
    value: Callable[[R], object] = lambda _: None
    cell: Callable[[R, Look], str | Text] | None = None
    """How a text shows the value; None: as it is, a dash for nothing."""
    key: str = ""
    """The name of the entry in documents; empty: no entry."""
    number: bool = False
    """Whether it is aligned to the right."""
    gives: bool = False
    """Whether it shrinks first where there is no room: names in the middle; other cells are made by ``sentence``."""
    folds: bool = False
    """Whether it takes several lines where there is no room."""
    fits: Callable[[Look], bool] = lambda _: True
    """Whether a terminal has room for it."""


def wide(look: Look) -> bool:
    """Of columns for which only wide tables have room."""
    return look.wide


def ranks(look: Look) -> bool:
    """Of columns of weight and priority."""
    return look.ranks


def entries(columns: Iterable[TableColumn[R]], row: R) -> dict[str, Any]:
    """The document of a row."""
    return {column.key: column.value(row) for column in columns if column.key}


def table_of(columns: Iterable[TableColumn[R]], rows: Iterable[R], look: Look) -> Table:
    """The columns that fit as a table without lines, drawn as a whole."""
    shown = _shown(columns, look)
    table = _empty(shown, look.unicode)
    for row in rows:
        table.add_row(*_cells_of(shown, row, look))
    return table


def row_table_of(columns: Iterable[TableColumn[R]], rows: Iterable[R], look: Look) -> RowTable:
    """The columns that fit as a table of thousands of rows."""
    shown = _shown(columns, look)
    return RowTable(shown, [_cells_of(shown, row, look) for row in rows], look.unicode)


def _shown(columns: Iterable[TableColumn[R]], look: Look) -> list[TableColumn[R]]:
    return [column for column in columns if column.heading and column.fits(look)]


def _cells_of(columns: Iterable[TableColumn[R]], row: R, look: Look) -> list[str | Text]:
    return [
        column.cell(row, look) if column.cell is not None else known(column.value(row), look, name=column.gives)
        for column in columns
    ]


def known(value: object, look: Look | None = None, *, name: bool = False) -> str | Text:
    """A value as a cell; a dash for None and for an empty text."""
    if value is None or value == "":
        return Text("-", style="dim")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return str(value)
    return named(value, unicode=look.unicode) if name and look is not None else Text(value)


def columned(
    headings: Iterable[str], *, unicode: bool = True, giving: Container[str] = (), numbers: Container[str] = ()
) -> Table:
    """A table without lines, of texts alone, to be filled row by row.

    Where there is no room, the columns in ``giving`` shrink first, the widest before others; their cells are made by
    ``named`` or ``sentence``. Columns in ``numbers`` are aligned to the right.
    """
    columns: Iterator[TableColumn[Any]] = (TableColumn(it, number=it in numbers, gives=it in giving) for it in headings)
    return _empty(columns, unicode)


def _empty(columns: Iterable[TableColumn[Any]], unicode: bool) -> Table:
    """A resource is named by the last part of its name, and no heading is broken."""
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    for column in columns:
        table.add_column(
            column.heading.rpartition("/")[2],
            justify="right" if column.number else "left",
            no_wrap=not (column.gives or column.folds),
            overflow="fold" if column.folds else _overflow(unicode),
        )
    return table


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of thousands of rows: drawn row by row where all columns fit, which is faster, else as any other."""

    columns: Sequence[TableColumn[Any]]
    rows: Sequence[Sequence[str | Text]]
    unicode: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType | Segment]:
        first = [column.heading.rpartition("/")[2] for column in self.columns]
        widths = [max(map(_cells, column)) for column in zip(first, *self.rows, strict=True)]
        if sum(widths) + len(GAP) * (len(widths) - 1) > options.max_width:
            yield self._table()
            return
        right = [column.number for column in self.columns]
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
        table = _empty(self.columns, self.unicode)
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

"""``vsched queue usage``: the resource-hours of queues, namespaces and users, as a table and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.ask.daemon import ask_daemon
from vsched.cli.queue import words
from vsched.cli.show.amounts import with_bar
from vsched.cli.show.columns import GAP, USUAL
from vsched.cli.show.drawing import Look, bar, count_text
from vsched.client.target import DaemonTarget
from vsched.model.history.showback import Showback, UsageRow, showback
from vsched.printable import one_printable_line

ROWS_MAX = 50
"""Rows of a table that is not wide."""
UNITS = {"cpu": "core-hours", "memory": "GiB-hours"}
"""Units of what is not counted in pieces."""
FORMULA_SIGNS = ("=", "+", "-", "@")
"""A spreadsheet takes a cell that begins with one of these for a formula."""
NOBODY = {"namespace": "(others)", "user": "-"}
"""Instead of a name that is empty: namespaces that are no longer counted one by one, pods that name no user."""


def read_showback(target: DaemonTarget, seconds: float, by: Sequence[str]) -> Showback:
    """What a running daemon has counted; raises what ``DaemonClient`` raises."""
    return ask_daemon(target, lambda daemon: daemon.usage_history(seconds, by))


def showback_of(file: Path, seconds: float, by: Sequence[str]) -> Showback:
    """The same of a file that ``vsched dump`` wrote."""
    from vsched.cli.ask.recordings import load  # only a file needs what decodes it

    return showback(load(file).snapshot.history, seconds, by)


def usage_table(found: Showback, look: Look) -> RenderableType:
    """A line for each of those told apart, the largest share first, and what the cluster had."""
    if not found.counted_seconds:
        return Text(words.NOTHING_COUNTED)
    resources = _columns(found, look)
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    for name in found.by:
        table.add_column(name, overflow="fold")  # names give way where there is no room, figures never
    table.add_column("share", no_wrap=True)
    for name in resources:
        table.add_column(_heading(name), justify="right", no_wrap=True)
    shown = found.rows if look.wide else found.rows[:ROWS_MAX]
    for row in shown:
        names = [Text(_name(row, dimension)) for dimension in found.by]
        share = with_bar(look, bar(look, 1.0, row.share), f"{row.share:6.1%}")
        table.add_row(*names, share, *(hours(row.used.get(name, 0.0)) for name in resources))
    whole = [Text("the cluster", style="dim"), *(Text() for _ in found.by[1:]), Text()]
    table.add_row(*whole, *(Text(hours(found.had.get(name, 0.0)), style="dim") for name in resources))
    return Group(table, Text(), *(Text(line, style="dim") for line in _remarks(found, len(shown))))


def usage_csv(found: Showback) -> str:
    """The same with all resources, in plain numbers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*found.by, "share", *(f"{name} {UNITS.get(name, 'hours')}" for name in found.resources)])
    for row in found.rows:
        names = [_cell(getattr(row, name)) for name in found.by]
        writer.writerow([*names, row.share, *(row.used.get(name, 0.0) for name in found.resources)])
    return out.getvalue()


def hours(amount: float) -> str:
    """Resource-hours with as many digits as matter."""
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.2f}"


def span_text(seconds: float) -> str:
    """``7d``, ``24h``, ``90m``: a span of time in its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g}{unit}"
    return f"{seconds:.3g}s"


def _columns(found: Showback, look: Look) -> list[str]:
    """Cpu, memory, and the devices that somebody has used; a wide table has all."""
    used = {name for row in found.rows for name in row.used}
    return [name for name in found.resources if look.wide or name in USUAL or name in used]


def _heading(name: str) -> str:
    return UNITS.get(name) or f"{name.rpartition('/')[2]}-hours"


def _name(row: UsageRow, dimension: str) -> str:
    return getattr(row, dimension) or NOBODY.get(dimension, "-")


def _remarks(found: Showback, shown: int) -> Iterator[str]:
    if len(found.rows) > shown:
        yield words.more_rows(len(found.rows) - shown)
    counted = found.counted_seconds
    missing = words.of_which_counted(span_text(counted)) if counted < 0.99 * found.span_seconds else ""
    told = count_text(len(found.rows), "line", "lines")
    yield words.of_the_last(span_text(found.span_seconds), missing, told)


def _cell(name: str) -> str:
    """A name in a cell; one that a spreadsheet would take for a formula has an apostrophe before it."""
    text = one_printable_line(name)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text

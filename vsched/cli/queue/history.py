"""``vsched queue history``: shares of queues over time, as tables with small curves and as CSV."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.ask.daemon import ask_daemon
from vsched.cli.queue import words
from vsched.cli.queue.usage import span_text
from vsched.cli.show.columns import GAP, named
from vsched.cli.show.drawing import BLOCKS, PLAIN_BLOCKS, Look
from vsched.cli.show.output import Output
from vsched.client.target import DaemonTarget
from vsched.printable import one_printable_line
from vsched.web.overview.share_series import Points, QueueSeries, ShareSeries

CURVE_CELLS = {False: 30, True: 60}
"""The length of a curve, in a usual and in a wide table; each cell is a point."""
LINES = 30
"""Lines about one queue; each is a point."""
POINTS_OF_ALL = 120
"""Points of each queue in documents about all queues."""
POINTS_OF_ONE = 1008
MEASURES = ("held", "deserved", "waiting")
WHOLE = "the cluster"


def read_history(target: DaemonTarget, span: str, points: int, queue: str | None = None) -> ShareSeries:
    """Shares over time from a running daemon; raises what ``DaemonClient`` raises."""
    return ask_daemon(target, lambda daemon: daemon.queue_history(span, points, queue))


def points_for(output: Output, *, one: bool) -> int:
    """How many points of each queue an output shows: all of one queue in documents."""
    if output.output not in ("text", "wide"):
        return POINTS_OF_ONE if one else POINTS_OF_ALL
    return LINES if one else CURVE_CELLS[output.wide]


def history_table(found: ShareSeries, look: Look) -> RenderableType:
    """A line a queue: what it holds now, held on average, deserves and waits for, and the curve of what it held."""
    if not found.queues:
        return Text(words.NO_DATA)
    table = _table(["queue", "held", "mean", "most", "deserved", "waiting", words.held_over(found.span)])
    top = max((value for one in found.queues for value in one.held if value is not None), default=0.0)
    for one in found.queues:
        name = Text(WHOLE, style="dim") if not one.queue else named(one.queue, unicode=look.unicode)
        known = [value for value in one.held if value is not None]
        mean = sum(known) / len(known) if known else None
        figures = (_last(one.held), mean, max(known, default=None), _last(one.deserved), _last(one.waiting))
        table.add_row(name, *map(_percent, figures), curve(one.held, top, look))
    return Group(table, Text(), *(Text(line, style="dim") for line in _remarks(found, top)))


def queue_table(found: ShareSeries, look: Look) -> RenderableType:
    """A line a step of one queue, and the curves of all that is known."""
    [one] = found.queues
    table = _table(["from", *MEASURES, "held"])
    top = max((value for points in _measured(one) for value in points if value is not None), default=0.0)
    for at in range(len(one.held)):
        began = time.strftime("%m-%d %H:%M:%S", time.localtime(found.begins + at * found.step_seconds))
        values = [points[at] for points in _measured(one)]
        cells = round((values[0] or 0.0) / top * LINES) if top else 0
        table.add_row(began, *map(_percent, values), Text(look.signs[0] * cells, style="cyan"))
    curves = Table.grid(padding=(0, len(GAP), 0, 0))
    for name, points in zip(MEASURES, _measured(one), strict=True):
        curves.add_row(Text(name, style="dim"), curve(points, top, look))
    return Group(Text(one.queue or WHOLE, style="bold"), Text(), curves, Text(), table, Text(), *_dim(found, top))


def history_csv(found: ShareSeries) -> str:
    """A line a step of a queue, times in seconds since the epoch; an empty cell is unknown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["queue", "from", "seconds", *MEASURES])
    for one in found.queues:
        for at, values in enumerate(zip(*_measured(one), strict=True)):
            began = found.begins + at * found.step_seconds
            cells = ("" if value is None else value for value in values)
            writer.writerow([one_printable_line(one.queue), f"{began:.0f}", f"{found.step_seconds:.0f}", *cells])
    return out.getvalue()


def curve(points: Sequence[float | None], top: float, look: Look) -> Text:
    """A cell a point, as high as its part of the top; a blank where nothing is known."""
    blocks = BLOCKS if look.unicode else PLAIN_BLOCKS
    return Text("".join(_cell(value, top, blocks) for value in points), style="cyan")


def _cell(value: float | None, top: float, blocks: str) -> str:
    if value is None:
        return " "
    return blocks[min(len(blocks) - 1, int(value / top * len(blocks)))] if top else blocks[0]


def _measured(one: QueueSeries) -> tuple[Points, Points, Points]:
    return one.held, one.deserved, one.waiting


def _last(points: Points) -> float | None:
    return points[-1] if points else None


def _percent(value: float | None) -> str:
    """A part in per cent; from twice as much on, how many times: ``14x``."""
    if value is not None and value >= 2:
        return f"{value:.2g}x" if value < 100 else f"{value:.0f}x"
    return "-" if value is None else f"{value:.0%}" if value >= 0.0995 or not value else f"{value:.1%}"


def _table(headings: Sequence[str]) -> Table:
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    for at, heading in enumerate(headings):
        numbers = 0 < at < len(headings) - 1
        table.add_column(heading, justify="right" if numbers else "left", no_wrap=True)
    return table


def _dim(found: ShareSeries, top: float) -> Iterator[Text]:
    return (Text(line, style="dim") for line in _remarks(found, top))


def _remarks(found: ShareSeries, top: float) -> Iterator[str]:
    yield (words.shares_explained(span_text(found.step_seconds), _percent(top)))
    if any(found.hourly):
        until = found.begins + (len(found.hourly) - found.hourly[::-1].index(True)) * found.step_seconds
        began = time.strftime("%m-%d %H:%M", time.localtime(until))
        yield words.hourly_before(began)
    if found.left_out:
        queues = "queue has" if found.left_out == 1 else "queues have"
        yield words.no_history(found.left_out, queues)

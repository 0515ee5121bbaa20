"""The tables of ``vsched top``: as many rows of each as fit, from the first visible one on. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from vsched.cli.job.source import line_of_overview
from vsched.cli.job.view import as_table as job_table
from vsched.cli.queue.shown import COUNTED, Queues, QueueView
from vsched.cli.queue.view import as_table as queue_table
from vsched.cli.queue.view import in_tree
from vsched.cli.show.amounts import with_bar
from vsched.cli.show.columns import TableColumn, table_of
from vsched.cli.show.drawing import Look, bar, short
from vsched.cli.top import words
from vsched.cli.top.document import in_order
from vsched.cli.usage.nodes import by_name, node_table
from vsched.model.amounts.durations import short_duration
from vsched.web.overview.document import JobRow, NamespaceRow, Overview, QueueRow, SessionRow

TABS = ("all", "queues", "namespaces", "jobs", "nodes", "sessions")
SHOWN = 3
"""Resources shown: cpu, memory, and the scarcest of the others."""
MESSAGES_FROM = 140
"""Least width of a terminal where jobs have the column ``message``."""
FIRST_JOBS = 20
"""Waiting jobs on the first tab."""
GAPS = 3
"""Lines of the first tab that are no table: blank ones, and the counts of reasons."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The size of the terminal, and what it shows."""

    width: int
    height: int | None
    """None: all rows are shown."""
    look: Look
    now: float
    source: str
    tab: str = TABS[0]
    top: int = 0
    """The first visible row."""
    problem: str = ""
    """Why nothing new arrives."""
    keys: bool = False
    """Whether keys are read."""


class TabTable(NamedTuple):
    """The rows of a table, and a function that draws some of them."""

    rows: Sequence[Any]
    draw: Callable[[Sequence[Any]], RenderableType]


def body(overview: Overview, screen: Screen, room: int) -> list[RenderableType]:
    """What the tab shows, in ``room`` lines."""
    if screen.tab in LISTINGS:
        return _fitting(LISTINGS[screen.tab](overview, screen), screen.top, room)
    return _everything(overview, screen, room)


def rows_of(overview: Overview, screen: Screen) -> int:
    """How many rows the table of the tab has."""
    return len(LISTINGS[screen.tab](overview, screen).rows) if screen.tab in LISTINGS else 0


def _everything(overview: Overview, screen: Screen, room: int) -> list[RenderableType]:
    """The first tab: queues, namespaces, why jobs wait, and the first of these, each cut to its share of the lines."""
    queues, namespaces, jobs = (LISTINGS[name](overview, screen) for name in ("queues", "namespaces", "jobs"))
    waiting = [row for row in jobs.rows if row.waits or row.position is not None]
    # One line for the headings, and one for the position where not all rows fit.
    wants = [len(queues.rows) + 1, len(namespaces.rows) + 1, min(len(waiting), FIRST_JOBS + 1) + 1]
    lines = dealt(room - (GAPS if waiting else 1), wants)
    parts = _fitting(queues, 0, lines[0])
    if namespaces.rows and lines[1] > 1:
        parts += [Text(), *_fitting(namespaces, 0, lines[1])]
    if waiting:
        parts += [Text(), _reasons(Counter(row.reason for row in waiting), screen)]
        if lines[2] > 1:
            parts += _fitting(TabTable(waiting, jobs.draw), 0, lines[2])
    return parts


def _fitting(listing: TabTable, top: int, room: int) -> list[RenderableType]:
    """The rows that fit below a line of headings; where not all do, a last line says which these are."""
    count, fits = len(listing.rows), max(1, room - 1)
    if count <= fits:
        return [listing.draw(listing.rows)]
    fits = max(1, fits - 1)
    first = max(0, min(top, count - fits))
    position = f"{first + 1} to {first + fits} of {count:,}"
    return [listing.draw(listing.rows[first : first + fits]), Text(position, style="dim")]


def dealt(room: int, wants: Sequence[int]) -> list[int]:
    """Lines for parts that want so many: a part that wants less than an equal share leaves the rest to the others."""
    lines = [0] * len(wants)
    left = max(0, room)
    for rank, at in enumerate(sorted(range(len(wants)), key=lambda at: wants[at])):
        lines[at] = min(wants[at], left // (len(wants) - rank))
        left -= lines[at]
    return lines


def _reasons(reasons: Counter[str], screen: Screen) -> Text:
    not_tried = words.NOT_TRIED_YET
    counts = ", ".join(f"{count} {reason or not_tried}" for reason, count in reasons.most_common())
    line = Text.assemble(("waiting  ", "bold"), counts)
    line.truncate(screen.width, overflow="ellipsis" if screen.look.unicode else "crop")
    return line


def queues_of(overview: Overview) -> Queues:
    """The queues of an overview as ``vsched queue`` shows them."""
    names = [resource.name for resource in overview.resources[:SHOWN] if resource.name != "pods"]
    total = {resource.name: resource.total for resource in overview.resources}
    return Queues({name: _queue_view(row, names) for name, row in sorted(overview.queues.items())}, total)


def _queue_view(row: QueueRow, names: Sequence[str]) -> QueueView:
    def named(values: Iterable[int | None]) -> dict[str, int]:
        return {name: value for name, value in zip(names, values, strict=False) if value is not None}

    return QueueView(
        name=row.name,
        uid="",
        state=row.state,
        parent=row.parent,
        priority=row.priority,
        priority_class="",
        weight=row.weight,
        reclaimable=True,
        allocated=named(row.allocated),
        deserved=named(row.deserved),
        guarantee=named(row.guarantee),
        capability=named(row.capability),
        counts=dict.fromkeys(COUNTED, 0),
        jobs=row.jobs,
        waiting=row.waiting,
        conditions=({"type": "Misconfigured", "message": row.problem},) if row.problem else (),
        share=None if all(amount is None for amount in row.deserved) else row.share,
        overused=row.overused,
    )


def _amount(overview: Overview, row: NamespaceRow, at: int, look: Look) -> Text:
    """What a namespace uses of the cluster, with a mark at what it deserves, where that is known."""
    resource, used, fair = overview.resources[at], row.allocated[at], row.deserved[at]
    amounts = short(resource.name, used) + ("" if fair is None else f"/{short(resource.name, fair)}")
    return with_bar(look, bar(look, resource.total, used, fair=fair), amounts)


# -- one listing a tab


def _queues(overview: Overview, screen: Screen) -> TabTable:
    queues = queues_of(overview)
    return TabTable(list(in_tree(queues)), lambda rows: queue_table(queues, screen.look, rows=rows, legend=False))


def _namespaces(overview: Overview, screen: Screen) -> TabTable:
    resources = [resource for resource in overview.resources[:SHOWN] if resource.name != "pods"]

    def resource(at: int) -> TableColumn[NamespaceRow]:
        return TableColumn(overview.resources[at].name, cell=lambda row, look: _amount(overview, row, at, look))

    def roomy(look: Look) -> bool:
        return not look.narrow

    columns: list[TableColumn[NamespaceRow]] = [
        TableColumn("namespace", lambda row: row.namespace, gives=True),
        TableColumn("queue", lambda row: row.queue, gives=True),
        TableColumn("weight", lambda row: row.weight, number=True, fits=roomy),
        TableColumn("share", cell=lambda row, _: f"{row.share:.0%}", number=True, fits=roomy),
        *map(resource, range(len(resources))),
        TableColumn(
            "waiting", cell=lambda row, _: str(row.waiting) if row.waiting else Text("0", style="dim"), number=True
        ),
    ]

    def draw(rows: Sequence[NamespaceRow]) -> RenderableType:
        return table_of(columns, rows, screen.look)

    return TabTable(sorted(overview.namespaces.values(), key=lambda row: (row.queue, row.namespace)), draw)


def _jobs(overview: Overview, screen: Screen) -> TabTable:
    """Jobs, waiting ones first."""

    def draw(rows: Sequence[JobRow]) -> RenderableType:
        lines = [line_of_overview(row) for row in rows]
        return job_table(lines, screen.look, screen.now, messages=screen.width >= MESSAGES_FROM)

    return TabTable(in_order(overview.jobs.values()), draw)


def _nodes(overview: Overview, screen: Screen) -> TabTable:
    return TabTable(by_name(overview.nodes), lambda rows: node_table(overview, screen.look, rows))


def _sessions(overview: Overview, screen: Screen) -> TabTable:
    """Sessions, the latest first."""

    def action(name: str) -> TableColumn[SessionRow]:
        return TableColumn(name, cell=lambda row, _: f"{row.actions.get(name, 0.0):.1f} ms", number=True)

    columns: list[TableColumn[SessionRow]] = [
        TableColumn("session", lambda row: row.number),
        TableColumn("age", cell=lambda row, _: short_duration(max(0.0, screen.now - row.at)), number=True),
        TableColumn("why", cell=lambda row, _: row.reason),
        TableColumn("bindings", lambda row: row.binds, number=True),
        TableColumn("evictions", lambda row: row.evictions, number=True),
        TableColumn("waiting", lambda row: row.waiting, number=True),
        TableColumn("snapshot", cell=lambda row, _: f"{row.snapshot_ms:.1f} ms", number=True),
        *map(action, dict.fromkeys(name for row in overview.sessions for name in row.actions)),
        TableColumn("hand-over", cell=lambda row, _: f"{row.handover_ms:.1f} ms", number=True),
    ]

    def draw(rows: Sequence[SessionRow]) -> RenderableType:
        return table_of(columns, rows, screen.look)

    return TabTable(overview.sessions[::-1], draw)


LISTINGS: Mapping[str, Callable[[Overview, Screen], TabTable]] = {
    "queues": _queues,
    "namespaces": _namespaces,
    "jobs": _jobs,
    "nodes": _nodes,
    "sessions": _sessions,
}
"""The table of each tab but the first, which shows a part of each."""

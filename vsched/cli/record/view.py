"""The figures of a work trace as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.record import words
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look, short
from vsched.model.amounts.durations import short_duration

GAPS_SHOWN = 5


def as_text(found: Mapping[str, Any], look: Look) -> RenderableType:
    """What is in the trace, and how long jobs waited by queue."""
    facts = Table.grid(padding=(0, 2))
    for name, says in _facts(found):
        facts.add_row(Text(name, style="dim"), Text(says))
    return Group(facts, Text(), _waits(found["waits"], look)) if found["waits"] else facts


def _facts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    long = short_duration(found["seconds"])
    yield words.TIME, words.span(_moment(found["begin"]), _moment(found["end"]), long)
    gaps = [words.gap(_moment(gap["begin"]), short_duration(gap["seconds"])) for gap in found["gaps"]]
    if gaps:
        more = len(gaps) - GAPS_SHOWN
        yield words.GAPS, ", ".join([*gaps[:GAPS_SHOWN], *([f"{more} more"] if more > 0 else [])])
    bound = [words.bound_by(name, count) for name, count in found["bound_by"].items()]
    yield words.SCHEDULERS, ", ".join(bound) or ", ".join(found["schedulers"])
    amounts = ", ".join(f"{name} {short(name, amount)}" for name, amount in found["amounts"].items())
    yield words.NODES, f"{found['nodes']:,}" + (f" ({amounts})" if amounts else "")
    yield words.JOBS, words.gangs(found["jobs"], found["gangs"])
    fates = [f"{count:,} {words.ENDED[how]}" for how, count in found["ended"].items()]
    yield words.PODS, f"{found['pods']:,}" + (f": {', '.join(fates)}" if fates else "")
    if found["anonymous"]:
        yield "", words.ANONYMOUS


def _waits(waits: Mapping[str, Mapping[str, float]], look: Look) -> RenderableType:
    headings = (words.QUEUE, words.STARTED, words.WAITING, words.MEDIAN, words.P95, words.LONGEST)
    table = columned(headings, unicode=look.unicode)
    for queue, one in waits.items():
        times = [short_duration(one[name]) if one["started"] else "-" for name in ("median", "p95", "longest")]
        table.add_row(*map(Text, (queue, f"{one['started']:,}", f"{one['waiting']:,}", *times)))
    return table


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"

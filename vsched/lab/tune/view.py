"""What a tuning found, as text: a table of the best candidates, and the smallest change with what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.markup import escape
from rich.table import Table

from vsched.cli.show.output import console_for
from vsched.lab.tune import words
from vsched.lab.tune.figures import ReplayFigure, Unit
from vsched.lab.tune.judging import GainVerdict

Document = dict[str, Any]
OF_VERDICT = {
    GainVerdict.HOLDS: words.HOLDS,
    GainVerdict.SHRINKS: words.SHRINKS,
    GainVerdict.UNSURE: words.UNSURE,
    GainVerdict.LOST: words.LOST,
}


def show(found: Document, no_color: bool = False) -> None:
    """Print the result."""
    console = console_for(no_color, wide=False)
    console.print(escape(title_of(found)), soft_wrap=True)
    console.print(as_table(found))
    judged = found["parts"][words.JUDGED]
    console.print(words.resampled(judged["periods"], judged["hours"]), style="dim", soft_wrap=True)
    for line in lines_of(found):
        console.print(escape(line), soft_wrap=True)


def title_of(found: Document) -> str:
    """What was tuned, in one line."""
    tuned, judged = (words.part(one["jobs"], one["days"]) for one in found["parts"].values())
    return words.title(found["policy"], tuned, judged, len(found["space"]), len(found["tried"]))


def as_table(found: Document) -> Table:
    """A line for each figure and part, a column for the policy in force and for each of the best candidates."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(words.FIGURE)
    policies = [(words.IN_FORCE, found["in_force"])]
    policies += [(f"{words.CANDIDATE} {one['number']}", one["figures"]) for one in found["front"]]
    if found["smallest"] is not None:
        policies.append((words.SMALLEST, found["smallest"]["figures"]))
    for name, _ in policies:
        table.add_column(name, justify="right")
    for figure in (*found["goals"], *found["limits"]):
        name, shown = figure["figure"], _shown(figure["unit"])
        limit = f" {figure['limit']}" if "limit" in figure else ""
        for part in (words.TUNED, words.JUDGED):
            cells = [_estimate(figures[part][name], shown) for _, figures in policies]
            table.add_row(escape(f"{name}{limit}, {part}"), *cells)
    return table


def _shown(unit: str) -> Callable[[float], str]:
    return ReplayFigure("", Unit(unit), lambda found, times: 0.0).shown


def _estimate(found: dict[str, float], shown: Callable[[float], str]) -> str:
    return f"{shown(found['value'])} ({shown(found['low'])}-{shown(found['high'])})"


def lines_of(found: Document) -> Iterator[str]:
    """What is to be said below the table."""
    smallest = found["smallest"]
    if not any(one["keeps_limits"] for one in found["tried"]):
        yield words.NOTHING_KEEPS
    elif smallest is None:
        yield words.NO_CHANGE
    else:
        yield from _of_smallest(smallest)
    yield from found["cannot_know"]


def _of_smallest(smallest: Document) -> Iterator[str]:
    yield words.SMALLEST_TITLE
    yield smallest["diff"].rstrip("\n")
    for one in smallest["each"]:
        told = [words.effect_on(name, *map(signed, values.values())) for name, values in one["effects"].items()]
        yield words.effect(one["change"], ", ".join(told))
    yield words.gains(*(_gain(smallest["gain"][part]) for part in (words.TUNED, words.JUDGED)))
    yield OF_VERDICT[GainVerdict(smallest["verdict"])]
    for limit in smallest["limits_broken_where_judged"]:
        yield words.limit_broken(limit)


def _gain(found: dict[str, float]) -> str:
    return words.effect_on("", f"{found['value']:.1%}", f"{found['low']:.1%}", f"{found['high']:.1%}").strip()


def signed(value: float) -> str:
    """A change in per cent with its sign."""
    return f"{value:+.1%}"

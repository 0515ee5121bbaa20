"""A soak as text: a line while it runs, a table at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from vsched.lab.soak import words

UNITS = {"rss_mb": "memory (MB)", "fds": "open files", "tasks": "tasks", "series": words.SERIES}
KILLS = {
    "kill_to_leader_seconds": words.KILL_TO_LEADER,
    "leader_to_binding_seconds": words.LEADER_TO_BINDING,
    "kill_to_binding_seconds": words.KILL_TO_BINDING,
}
MOST_WARNINGS = 15


def as_line(result: Mapping[str, Any]) -> str:
    """The progress in one line."""
    trends, latency = result["trends"], result["latency_ms"]
    broken = sum(result["violations"].values())
    return (
        f"{result['seconds']:>7,.0f} s  {result['created']:>7,} pods, {result['waiting']:>4} wait,"
        f" {result['evicted']} evicted  p50/p99 {latency['p50']:,.0f}/{latency['p99']:,.0f} ms"
        f"  {result['kills']} kills  {trends['rss_mb']['last']:.0f} MB, {trends['fds']['last']:.0f} files,"
        f" {trends['tasks']['last']:.0f} tasks  {broken} broken"
    )


def as_table(result: Mapping[str, Any]) -> RenderableType:
    """The result as tables and lines."""
    parts: list[RenderableType] = [_figures(result), _growth(result["trends"])]
    if result["faults"]:
        parts += ["", *result["faults"]]
    warnings = list(result["warnings"].items())
    if warnings:
        parts += ["", words.WARNINGS]
        parts += [f"  {count:>7,}  {event}" for event, count in warnings[:MOST_WARNINGS]]
    for promise, count in result["violations"].items():
        parts += ["", f"broken: {promise}, {count} times", *(f"  {line}" for line in result["told"][promise])]
    return Group(*parts)


def _figures(result: Mapping[str, Any]) -> Table:
    table = Table(show_header=False, show_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    latency = result["latency_ms"]
    table.add_row("seconds", f"{result['seconds']:,.0f}")
    table.add_row(words.PODS_CREATED, "{created:,}, {bound:,}, {finished:,}".format(**result))
    table.add_row(words.PODS_EVICTED, "{evicted:,}, {cancelled_works:,}".format(**result))
    table.add_row(words.CREATION_TO_BINDING, f"{latency['p50']:,.0f} / {latency['p99']:,.0f}")
    table.add_row(words.NEVER_BOUND, "{waiting}, {partial_gangs}".format(**result))
    table.add_row(words.SESSIONS_CHECKED, "{checked_sessions:,}".format(**result))
    if result["answers"]:
        table.add_row(words.QUESTIONS_ANSWERED, f"{result['answers']:,}")
    if result["kills"]:
        table.add_row("daemons killed", f"{result['kills']:,}")
        for key, label in KILLS.items():
            if result[key]["max"]:
                table.add_row(
                    f"{label}, p50 / p99 / max (s)", "{p50:.2f} / {p99:.2f} / {max:.2f}".format(**result[key])
                )
    if result["gave_up"]:
        table.add_row(words.LEADERS_GAVE_UP, f"{result['gave_up']:,}")
    return table


def _growth(trends: Mapping[str, Any]) -> Table:
    """The trends of the daemon process with the most measurements."""
    table = Table(show_edge=False)
    for column in ("", "first", "last", "peak", "a minute", ""):
        table.add_column(column, justify="left" if not column else "right")
    for name, label in UNITS.items():
        found = trends[name]
        verdict = ("grows" if found["grows"] else "flat") if found["judged"] else words.TOO_SHORT
        numbers = (f"{found[key]:,.1f}" for key in ("first", "last", "peak"))
        table.add_row(label, *numbers, f"{found['per_minute']:+.3f}", verdict)
    return table

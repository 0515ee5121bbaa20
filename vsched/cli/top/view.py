"""The screen of ``vsched top``: a summary, and the table of a tab. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.show.drawing import bar, count_text, cut, heat, short
from vsched.cli.top import words
from vsched.cli.top.tables import SHOWN, TABS, Screen, body
from vsched.cli.usage.nodes import by_name
from vsched.framework.words.lists import counted
from vsched.model.amounts.durations import short_duration
from vsched.web.overview.document import Overview, SessionRow
from vsched.web.snapshots import STOPPING, idle_of

HEAT_FROM = 8
"""A line of heat needs at least so many cells."""
RECENT_SECONDS = 10.0
"""Rates and times are of the last seconds."""
UNBOUNDED = 10_000
"""Lines of a screen of unlimited height."""


class Rates(NamedTuple):
    """Rates of the latest sessions."""

    sessions: float
    binds: float
    evictions: float
    """Per second."""
    median_ms: float
    longest_ms: float
    """Durations of sessions, from the snapshot to the hand-over of decisions."""


def as_screen(overview: Overview, screen: Screen) -> RenderableType:
    """The whole screen, cut to its height."""
    head = [*_head(overview, screen), Text()]
    foot = [Text(_help(screen), style="dim")] if screen.keys else []
    room = UNBOUNDED if screen.height is None else max(4, screen.height - len(head) - len(foot))
    shown = [] if _idle(overview) else body(overview, screen, room)
    return Group(*head, *shown, *foot)


def as_line(overview: Overview, problem: str = "") -> str:
    """The overview in one line of plain text."""
    if idle := _idle(overview):
        return idle
    counts, rates = overview.counts, rates_of(overview)
    used = ", ".join(
        f"{resource.name} {short(resource.name, resource.held)}/{short(resource.name, resource.total)}"
        for resource in overview.resources[:SHOWN]
    )
    line = (
        f"{overview.role}: {counted(counts['nodes'], 'node', 'nodes')}, "
        f"{counted(counts['pods_running'], 'pod runs', 'pods run')}, {counts['pods_waiting']} wait, "
        f"{counted(counts['jobs_waiting'], 'job waits', 'jobs wait')}, "
        f"{rates.sessions:.1f} sessions/s, {rates.binds:.0f} bindings/s; {used}"
    )
    return f"{line}; {problem}" if problem else line


def _idle(overview: Overview) -> str:
    """Why the daemon shows nothing; empty where it leads, or is stopping and shows its last state."""
    return "" if overview.role == STOPPING else idle_of(overview.role)


# -- the head


def _head(overview: Overview, screen: Screen) -> list[Text]:
    """The summary, each part one line."""
    state = Text("live", style="green")
    if screen.problem:
        since = short_duration(max(0.0, screen.now - overview.at))
        problem = screen.problem.removeprefix(f"{screen.source}: ")  # the title has the address already
        state = Text(words.nothing_new(since, problem), style="bold red")
    title = Text.assemble(
        ("vsched", "bold"), f" {overview.version}  {screen.source}  ", (overview.role, "bold"), "  ", state
    )
    counts = overview.counts
    away = Counter(row.state for row in overview.nodes.values() if row.state)
    closed = ", ".join(f"{count} {state}" for state, count in sorted(away.items()))
    work = Text.assemble(
        "pods ", (f"{counts['pods_running']:,}", "bold"), " run, ",
        (f"{counts['pods_waiting']:,}", "bold yellow" if counts["pods_waiting"] else "bold"), " wait   ",
        f"jobs {counts['jobs_running']:,} run, {counts['jobs_waiting']:,} wait   ",
        f"nodes {counts['nodes']:,}", f" ({closed})" if closed else "",
    )  # fmt: skip
    lines = [title, work, _pace(overview, screen.now), _policy(overview, screen)]
    if idle := _idle(overview):
        lines = [title, Text(idle, style="bold yellow")]
    lines += [_resource(overview, at, screen) for at in range(min(SHOWN, len(overview.resources)))]
    for line in lines:
        line.truncate(screen.width, overflow="ellipsis" if screen.look.unicode else "crop")
    return lines


def _pace(overview: Overview, now: float) -> Text:
    quiet = now - overview.at
    if quiet > RECENT_SECONDS:
        return Text(words.nothing_changed(short_duration(quiet)), style="dim")
    rates = rates_of(overview)
    return Text(
        f"{rates.sessions:.1f} sessions/s of {rates.median_ms:.1f} ms (median), {rates.longest_ms:.1f} ms (longest)   "
        f"{rates.binds:.0f} bindings/s, {rates.evictions:.0f} evictions/s"
    )


def _policy(overview: Overview, screen: Screen) -> Text:
    policy = overview.policy
    if policy is None:
        return Text(words.NO_POLICY_YET, style="dim")
    since = f", {short_duration(screen.now - policy.reloaded_at)} ago" if policy.reloaded_at else ""
    if policy.ok:
        return Text(f"policy {policy.generation} from {policy.source}{since}: {', '.join(policy.actions)}", style="dim")
    return Text(words.edit_rejected(policy.generation, since, policy.text), style="bold red")


def _resource(overview: Overview, at: int, screen: Screen) -> Text:
    """A line about a resource: its used part as a bar and in numbers, and a cell of heat for each node."""
    resource = overview.resources[at]
    part = resource.held / resource.total if resource.total else 0.0
    name = cut(resource.name.rpartition("/")[2], 16, screen.look)
    amounts = f"{short(resource.name, resource.held)}/{short(resource.name, resource.total)}"
    line = Text.assemble(f"{name:<8} ", bar(screen.look, 1.0, part), f" {part:4.0%}  {amounts:<14}")
    parts = [used / 100 for row in by_name(overview.nodes) if (used := row.allocated[at]) is not None]
    label = f"  {count_text(len(parts), 'node', 'nodes')} "
    room = screen.width - line.cell_len - len(label)
    if parts and room >= HEAT_FROM:
        line.append(label, "dim").append_text(heat(parts, room, unicode=screen.look.unicode))
    return line


def rates_of(overview: Overview) -> Rates:
    """The rates of the last seconds; sessions without a row count by their numbers."""
    since = overview.at - RECENT_SECONDS
    recent = [row for row in overview.sessions if row.at > since]
    if not recent:
        return Rates(0.0, 0.0, 0.0, 0.0, 0.0)
    before = [row for row in overview.sessions if row.at <= since]
    times = sorted(_took_ms(row) for row in recent)
    return Rates(
        (recent[-1].number - _number_at(since, recent[0], before)) / RECENT_SECONDS,
        sum(row.binds for row in recent) / RECENT_SECONDS,
        sum(row.evictions for row in recent) / RECENT_SECONDS,
        times[len(times) // 2],
        times[-1],
    )


def _number_at(since: float, first: SessionRow, before: Sequence[SessionRow]) -> float:
    """The number of the last session at that time, interpolated: sessions that did nothing have no row."""
    if not before:
        return first.number - 1
    last = before[-1]
    part = (since - last.at) / (first.at - last.at)
    return last.number + part * (first.number - last.number - 1)


def _took_ms(row: SessionRow) -> float:
    return row.snapshot_ms + row.decide_ms + row.handover_ms


def _help(screen: Screen) -> str:
    tabs = "  ".join(f"[{tab}]" if tab == screen.tab else tab for tab in TABS)
    return cut(words.keys(tabs), screen.width, screen.look)

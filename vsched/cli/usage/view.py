"""What nodes use, as data and as a table with bars. Pure: what is known in, what is shown out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.show.columns import NAMES, columned, named
from vsched.cli.show.drawing import Look, bar
from vsched.cli.usage.source import UsageRound
from vsched.collectors.poll import why_blind
from vsched.model.usage import STALE_SECONDS, Figures, NodeUsage

RESOURCES = ("cpu", "memory")
MOST_NAMED = 10
"""Strangers that are named to people."""
WITHOUT_CLUSTER = "no cluster to compare with (--kubeconfig FILE): shown is what the source itself knows"
STYLES = {"known": "green", "above": "red", "stale": "yellow", "unknown": "magenta"}


def as_document(sight: UsageRound) -> dict[str, Any]:
    """Everything for programs: nodes by name, those that nothing is known of with their state alone."""
    return {
        "source": sight.source,
        "periods": list(sight.periods),
        "thresholds": [threshold._asdict() for threshold in sight.thresholds],
        "nodes": {name: _node(sight, name) for name in sight.nodes},
        "strangers": list(sight.collected.strangers),
        "ahead": sight.collected.ahead,
    }


def as_plan(sight: UsageRound) -> dict[str, Any]:
    """What ``vsched plan --usage`` reads: the nodes whose figures hold."""
    found = {name: sight.collected.reading.nodes.get(name) for name in sight.nodes}
    return {
        name: {"cpu": _plain(usage.cpu), "memory": _plain(usage.memory)}
        for name, usage in found.items()
        if usage is not None and state_of(sight, usage) != "stale"
    }


def _plain(by_period: Mapping[str, Figures]) -> dict[str, dict[str, float]]:
    """Percent to one decimal, and no more than all there is."""
    return {
        period: {"average": round(min(100.0, one.average), 1), "spread": round(min(100.0, one.spread), 1)}
        for period, one in by_period.items()
    }


def _node(sight: UsageRound, name: str) -> dict[str, Any]:
    usage = sight.collected.reading.nodes.get(name)
    told: dict[str, Any] = {"state": state_of(sight, usage)}
    if usage is not None:
        told["ageSeconds"] = round(sight.collected.reading.taken - usage.measured, 1)
        told["cpu"], told["memory"] = msgspec.to_builtins(usage.cpu), msgspec.to_builtins(usage.memory)
    return told


def state_of(sight: UsageRound, usage: NodeUsage | None) -> str:
    """``known``, ``above`` (a threshold), ``stale`` or ``unknown``."""
    if usage is None:
        return "unknown"
    if sight.collected.reading.taken - usage.measured > STALE_SECONDS:
        return "stale"
    return "above" if any(_above(sight, usage, *key) for key in _columns(sight)) else "known"


def as_table(sight: UsageRound, look: Look) -> RenderableType:
    """All nodes, a line each, and what does not fit together below."""
    keys = _columns(sight)
    table = columned(
        ["node", *(f"{resource} {period}" for resource, period in keys), "age", "state"],
        unicode=look.unicode,
        giving=NAMES,
    )
    for name in sight.nodes:
        usage = sight.collected.reading.nodes.get(name)
        state = state_of(sight, usage)
        cells: list[RenderableType] = [_cell(sight, usage, *key, look) for key in keys]
        age = "-" if usage is None else f"{sight.collected.reading.taken - usage.measured:.0f}s"
        table.add_row(named(name, unicode=look.unicode), *cells, age, Text(state, style=STYLES[state]))
    return Group(table, Text(), *(Text(line) for line in remarks(sight)))


def remarks(sight: UsageRound) -> list[str]:
    """The source, how many nodes it knows, and what it knows besides."""
    states = [state_of(sight, sight.collected.reading.nodes.get(name)) for name in sight.nodes]
    counts = ", ".join(f"{states.count(state)} {state}" for state in STYLES if state in states)
    lines = [f"{sight.source}: {len(sight.nodes)} nodes" + (f", {counts}" if counts else "")]
    if sight.without_cluster:
        lines.append(WITHOUT_CLUSTER)
    if sight.thresholds:
        told = ", ".join(f"{one.resource} {one.percent:g}% over {one.period}" for one in sight.thresholds)
        lines.append(f"closed to new pods above {told}")
    strangers = sight.collected.strangers
    if strangers:
        more = f" and {len(strangers) - MOST_NAMED} more" if len(strangers) > MOST_NAMED else ""
        lines.append(f"it knows what is no node: {', '.join(strangers[:MOST_NAMED])}{more}")
    if sight.collected.ahead:
        lines.append(f"{sight.collected.ahead} nodes are left out: their samples are of the future, a clock is wrong")
    return lines


def figure_lines(sight: UsageRound) -> list[str]:
    """What the source answered, a line a figure."""
    nodes = sight.collected.reading.nodes
    lines = [f"probe: {sight.source}"]
    if sight.without_cluster:
        lines.append(f"  {WITHOUT_CLUSTER}")
    for resource, period in _columns(sight):
        found = [figures for usage in nodes.values() if (figures := _figures(usage, resource, period)) is not None]
        for what, numbers in (
            ("average", [figures.average for figures in found]),
            ("spread", [figures.spread for figures in found]),
        ):
            told = f", {min(numbers):.1f} to {max(numbers):.1f}%" if numbers else ""
            lines.append(f"  {resource} {period} {what}: {len(numbers)} of {len(sight.nodes)} nodes{told}")
    ages = [sight.collected.reading.taken - usage.measured for usage in nodes.values()]
    lines.append(f"  newest samples: {min(ages):.0f} to {max(ages):.0f} s old" if ages else "  newest samples: none")
    return lines


def why_nothing(sight: UsageRound) -> str:
    """Why no node is known though there are some; empty where one is."""
    if sight.collected.reading.nodes or not sight.nodes:
        return ""
    return f"{sight.source}: {why_blind(len(sight.nodes), sight.collected)}"


def _columns(sight: UsageRound) -> list[tuple[str, str]]:
    return [(resource, period) for period in sight.periods for resource in RESOURCES]


def _figures(usage: NodeUsage, resource: str, period: str) -> Figures | None:
    return (usage.cpu if resource == "cpu" else usage.memory).get(period)


def _limit(sight: UsageRound, resource: str, period: str) -> float | None:
    limits = (one.percent for one in sight.thresholds if (one.resource, one.period) == (resource, period))
    return next(limits, None)


def _above(sight: UsageRound, usage: NodeUsage, resource: str, period: str) -> bool:
    figures, limit = _figures(usage, resource, period), _limit(sight, resource, period)
    return figures is not None and limit is not None and figures.average > limit


def _cell(sight: UsageRound, usage: NodeUsage | None, resource: str, period: str, look: Look) -> Text:
    figures = None if usage is None else _figures(usage, resource, period)
    if usage is None or figures is None:
        return Text("-", style="dim")
    told = Text(f"{figures.average:5.1f}% ±{figures.spread:.1f}")
    if not look.cells:
        return told
    limit = _limit(sight, resource, period)
    style = "red" if limit is not None and figures.average > limit else "cyan"
    filled = bar(look, 100, max(0.0, figures.average), fair=limit, beyond="red", style=style)
    return Text.assemble(filled, " ", told)

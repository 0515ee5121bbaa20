"""What nodes use, as data and as a table with bars. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.show.amounts import with_bar
from vsched.cli.show.columns import TableColumn, table_of
from vsched.cli.show.drawing import Look, bar
from vsched.cli.usage import words
from vsched.cli.usage.source import UsageRound
from vsched.collectors.poll import why_blind
from vsched.model.nodes.usage import STALE_SECONDS, Figures, NodeUsage

RESOURCES = ("cpu", "memory")
MOST_NAMED = 10
"""Names shown of what the source knows and is no node."""
STYLES = {"known": "green", "above": "red", "stale": "yellow", "unknown": "magenta"}


def as_document(polled: UsageRound) -> dict[str, Any]:
    """Everything for programs: nodes by name; a node of which nothing is known has a state only."""
    return {
        "source": polled.source,
        "periods": list(polled.periods),
        "thresholds": [threshold._asdict() for threshold in polled.thresholds],
        "nodes": {name: _node(polled, name) for name in polled.nodes},
        "strangers": list(polled.collected.strangers),
        "ahead": polled.collected.ahead,
    }


def as_plan(polled: UsageRound) -> dict[str, Any]:
    """What ``vsched plan --usage`` reads: the nodes with figures that are not stale."""
    found = {name: polled.collected.reading.nodes.get(name) for name in polled.nodes}
    return {
        name: {"cpu": _plain(usage.cpu), "memory": _plain(usage.memory)}
        for name, usage in found.items()
        if usage is not None and state_of(polled, usage) != "stale"
    }


def _plain(by_period: Mapping[str, Figures]) -> dict[str, dict[str, float]]:
    """Percent with one decimal, at most 100."""
    return {
        period: {"average": round(min(100.0, one.average), 1), "spread": round(min(100.0, one.spread), 1)}
        for period, one in by_period.items()
    }


def _node(polled: UsageRound, name: str) -> dict[str, Any]:
    usage = polled.collected.reading.nodes.get(name)
    document: dict[str, Any] = {"state": state_of(polled, usage)}
    if usage is not None:
        document["ageSeconds"] = round(polled.collected.reading.taken - usage.measured, 1)
        document["cpu"], document["memory"] = msgspec.to_builtins(usage.cpu), msgspec.to_builtins(usage.memory)
    return document


def state_of(polled: UsageRound, usage: NodeUsage | None) -> str:
    """``known``, ``above`` (a threshold), ``stale`` or ``unknown``."""
    if usage is None:
        return "unknown"
    if polled.collected.reading.taken - usage.measured > STALE_SECONDS:
        return "stale"
    return "above" if any(_above(polled, usage, *key) for key in _columns(polled)) else "known"


def as_table(polled: UsageRound, look: Look) -> RenderableType:
    """A line a node, and remarks below."""

    def figures(key: tuple[str, str]) -> TableColumn[str]:
        return TableColumn(" ".join(key), cell=lambda name, look: _cell(polled, usage_of(name), *key, look))

    def usage_of(name: str) -> NodeUsage | None:
        return polled.collected.reading.nodes.get(name)

    def age(name: str, _: Look) -> str:
        usage = usage_of(name)
        return "-" if usage is None else f"{polled.collected.reading.taken - usage.measured:.0f}s"

    def state(name: str, _: Look) -> Text:
        found = state_of(polled, usage_of(name))
        return Text(found, style=STYLES[found])

    columns: list[TableColumn[str]] = [
        TableColumn("node", lambda name: name, gives=True),
        *map(figures, _columns(polled)),
        TableColumn("age", cell=age, number=True),
        TableColumn("state", cell=state),
    ]
    table = table_of(columns, polled.nodes, look)
    return Group(table, Text(), *(Text(line) for line in remarks(polled)))


def remarks(polled: UsageRound) -> list[str]:
    """Lines below the table: the source, how many nodes it knows, and what else it knows."""
    states = [state_of(polled, polled.collected.reading.nodes.get(name)) for name in polled.nodes]
    counts = ", ".join(f"{states.count(state)} {state}" for state in STYLES if state in states)
    lines = [f"{polled.source}: {len(polled.nodes)} nodes" + (f", {counts}" if counts else "")]
    if polled.without_cluster:
        lines.append(words.NO_CLUSTER)
    if polled.thresholds:
        limits = ", ".join(f"{one.resource} {one.percent:g}% over {one.period}" for one in polled.thresholds)
        lines.append(words.closed_above(limits))
    unmatched = polled.collected.strangers
    if unmatched:
        more = f" and {len(unmatched) - MOST_NAMED} more" if len(unmatched) > MOST_NAMED else ""
        lines.append(words.no_such_nodes(", ".join(unmatched[:MOST_NAMED]), more))
    if polled.collected.ahead:
        lines.append(words.ahead(polled.collected.ahead))
    return lines


def figure_lines(polled: UsageRound) -> list[str]:
    """The answer of the source, a line for each figure."""
    nodes = polled.collected.reading.nodes
    lines = [f"probe: {polled.source}"]
    if polled.without_cluster:
        lines.append(f"  {words.NO_CLUSTER}")
    for resource, period in _columns(polled):
        found = [figures for usage in nodes.values() if (figures := _figures(usage, resource, period)) is not None]
        for what, numbers in (
            ("average", [figures.average for figures in found]),
            ("spread", [figures.spread for figures in found]),
        ):
            extremes = f", {min(numbers):.1f} to {max(numbers):.1f}%" if numbers else ""
            lines.append(f"  {resource} {period} {what}: {len(numbers)} of {len(polled.nodes)} nodes{extremes}")
    ages = [polled.collected.reading.taken - usage.measured for usage in nodes.values()]
    lines.append(words.ages(min(ages), max(ages)) if ages else words.NO_SAMPLES)
    return lines


def why_nothing(polled: UsageRound) -> str:
    """The reason why the source knows none of the nodes; empty where it knows one."""
    if polled.collected.reading.nodes or not polled.nodes:
        return ""
    return f"{polled.source}: {why_blind(len(polled.nodes), polled.collected)}"


def _columns(polled: UsageRound) -> list[tuple[str, str]]:
    return [(resource, period) for period in polled.periods for resource in RESOURCES]


def _figures(usage: NodeUsage, resource: str, period: str) -> Figures | None:
    return (usage.cpu if resource == "cpu" else usage.memory).get(period)


def _limit(polled: UsageRound, resource: str, period: str) -> float | None:
    limits = (one.percent for one in polled.thresholds if (one.resource, one.period) == (resource, period))
    return next(limits, None)


def _above(polled: UsageRound, usage: NodeUsage, resource: str, period: str) -> bool:
    figures, limit = _figures(usage, resource, period), _limit(polled, resource, period)
    return figures is not None and limit is not None and figures.average > limit


def _cell(polled: UsageRound, usage: NodeUsage | None, resource: str, period: str, look: Look) -> Text:
    figures = None if usage is None else _figures(usage, resource, period)
    if usage is None or figures is None:
        return Text("-", style="dim")
    limit = _limit(polled, resource, period)
    style = "red" if limit is not None and figures.average > limit else "cyan"
    filled = bar(look, 100, max(0.0, figures.average), fair=limit, beyond="red", style=style)
    return with_bar(look, filled, f"{figures.average:5.1f}% ±{figures.spread:.1f}")

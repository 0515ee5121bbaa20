"""Nodes of a daemon's overview as data and as a table: how much is allocated, how much is used. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.show.amounts import with_bar
from vsched.cli.show.columns import NODE, NODE_STATE, RowTable, named
from vsched.cli.show.drawing import Look, bar
from vsched.cli.usage import words
from vsched.framework.words.lists import counted
from vsched.web.overview.document import NodeRow, Overview

STATE_STYLES = {"cordoned": "yellow", "notready": "red", "tainted": "magenta"}
SHOWN = 3
"""Resources with a column: cpu, memory, and the scarcest of the others; a wide table has all."""


def node_document(overview: Overview) -> dict[str, Any]:
    """Nodes for programs, in percent by resource: null for what is not known, no entry for what a node has none of.

    In very large clusters daemons show some nodes only; ``left_out`` is how many are missing.
    """
    left = overview.counts.get("nodes_left_out", 0)
    return {
        "at": overview.at,
        "nodes": {name: as_document(overview, row) for name, row in sorted(overview.nodes.items())},
        **({"left_out": left} if left else {}),
    }


def as_document(overview: Overview, row: NodeRow) -> dict[str, Any]:
    """The document of one node."""
    parts = zip(overview.resources, row.allocated, strict=True)
    return {
        "allocated": {resource.name: part for resource, part in parts if part is not None},
        "usage": {"cpu": row.cpu_usage, "memory": row.memory_usage},
        "pods": row.pods,
        "state": row.state,
        "group": row.group,
        "rack": row.rack,
    }


def node_table(overview: Overview, look: Look, rows: Iterable[NodeRow] | None = None) -> RenderableType:
    """A line a node, in percent of its allocatable amounts."""
    if not overview.nodes:
        return Text("no nodes")
    shown = [at for at, resource in enumerate(overview.resources) if resource.name != "pods"]
    shown = shown if look.wide else shown[:SHOWN]
    headings = [*NODE, *(overview.resources[at].name for at in shown), *NODE_STATE]
    cells: list[list[str | Text]] = [
        [
            named(row.name, unicode=look.unicode),
            *(part_text(row.allocated[at], look) for at in shown),
            str(row.pods),
            usage_text(row),
            Text(row.state or "-", style=STATE_STYLES.get(row.state, "dim")),
            *([Text(row.group or "-")] if look.wide else []),
        ]
        for row in (by_name(overview.nodes) if rows is None else rows)
    ]
    return RowTable([*headings, *(["group"] if look.wide else [])], cells, look.unicode)


def node_page(overview: Overview, look: Look) -> RenderableType:
    """The table, and a line about its figures."""
    measured = sum(1 for row in overview.nodes.values() if row.cpu_usage is not None or row.memory_usage is not None)
    nodes, left = counted(len(overview.nodes), "node", "nodes"), overview.counts.get("nodes_left_out", 0)
    if left:
        nodes = words.nodes_shown(len(overview.nodes), len(overview.nodes) + left)
    remark = words.of_each_node(nodes, measured)
    return Group(node_table(overview, look), Text(), Text(remark, style="dim"))


def by_name(nodes: Mapping[str, NodeRow]) -> list[NodeRow]:
    """Nodes sorted by name."""
    return [nodes[name] for name in sorted(nodes)]


def part_text(part: int | None, look: Look) -> Text:
    """The allocated part of a node's resource."""
    if part is None:
        return Text("-", style="dim")
    return with_bar(look, bar(look, 100, part), f"{part:3d}%")


def usage_text(row: NodeRow) -> Text:
    """Measured usage in percent of cpu and memory, with a question mark for one that is not known."""
    if row.cpu_usage is None and row.memory_usage is None:
        return Text("-", style="dim")
    known = ("?" if value is None else f"{value}%" for value in (row.cpu_usage, row.memory_usage))
    cpu, memory = known
    return Text(f"cpu {cpu} memory {memory}")

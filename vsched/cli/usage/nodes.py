"""Nodes of a daemon's overview as data and as a table: how much is allocated, how much is used. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.show.amounts import with_bar
from vsched.cli.show.columns import TableColumn, entries, row_table_of, wide
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


def columns(overview: Overview, look: Look | None = None) -> list[TableColumn[NodeRow]]:
    """What is shown of each node, in the order of tables and of documents; of documents alone without a terminal."""
    shown = [at for at, resource in enumerate(overview.resources) if resource.name != "pods"] if look else []

    def allocated(row: NodeRow) -> dict[str, int]:
        parts = zip(overview.resources, row.allocated, strict=True)
        return {resource.name: part for resource, part in parts if part is not None}

    def part(at: int) -> TableColumn[NodeRow]:
        return TableColumn(overview.resources[at].name, cell=lambda row, look: part_text(row.allocated[at], look))

    return [
        TableColumn("node", lambda row: row.name, gives=True),
        *map(part, shown if look and look.wide else shown[:SHOWN]),
        TableColumn(key="allocated", value=allocated),
        TableColumn(key="usage", value=lambda row: {"cpu": row.cpu_usage, "memory": row.memory_usage}),
        TableColumn("pods", lambda row: row.pods, key="pods", number=True),
        TableColumn("usage", cell=lambda row, _: usage_text(row)),
        TableColumn("state", lambda row: row.state, lambda row, _: state_text(row), "state"),
        TableColumn("group", lambda row: row.group, key="group", fits=wide),
        TableColumn(key="rack", value=lambda row: row.rack),
    ]


def as_document(overview: Overview, row: NodeRow) -> dict[str, Any]:
    """The document of one node."""
    return entries(columns(overview), row)


def node_table(overview: Overview, look: Look, rows: Iterable[NodeRow] | None = None) -> RenderableType:
    """A line a node, in percent of its allocatable amounts."""
    if not overview.nodes:
        return Text("no nodes")
    return row_table_of(columns(overview, look), by_name(overview.nodes) if rows is None else rows, look)


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


def state_text(row: NodeRow) -> Text:
    """The state in its colour."""
    return Text(row.state or "-", style=STATE_STYLES.get(row.state, "dim"))


def usage_text(row: NodeRow) -> Text:
    """Measured usage in percent of cpu and memory, with a question mark for one that is not known."""
    if row.cpu_usage is None and row.memory_usage is None:
        return Text("-", style="dim")
    known = ("?" if value is None else f"{value}%" for value in (row.cpu_usage, row.memory_usage))
    cpu, memory = known
    return Text(f"cpu {cpu} memory {memory}")

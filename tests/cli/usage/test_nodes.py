"""Nodes of a daemon's overview, in clusters where it shows some of them only."""

from __future__ import annotations

import io

from msgspec.structs import replace
from rich.console import Console

from tests.support.overviews import EMPTY
from vsched.cli.show.drawing import Look
from vsched.cli.usage import words
from vsched.cli.usage.nodes import node_document, node_page
from vsched.web.overview.document import NodeRow, Overview


def overview(left_out: int) -> Overview:
    row = NodeRow("n1", (50, 20), None, None, 3, "", "pool")
    return replace(EMPTY, nodes={"n1": row}, counts={**EMPTY.counts, "nodes": 1 + left_out, "nodes_left_out": left_out})


def printed(found: Overview) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(node_page(found, Look(cells=0, ranks=False, counts=False)))
    return console.export_text()


def test_all_nodes_are_counted() -> None:
    assert "1 node; percent of each node allocated" in printed(overview(0))
    assert "left_out" not in node_document(overview(0))


def test_how_many_nodes_are_missing_is_told() -> None:
    assert words.nodes_shown(1, 40_000) + "; percent of each node allocated" in printed(overview(39_999))
    assert node_document(overview(39_999))["left_out"] == 39_999

"""What tables say, whatever the width of their figures."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

WIDE = 1000
"""Columns of a screen with room for everything: nothing is wrapped or cut."""


def printed(*shown: RenderableType) -> str:
    """The words in reading order, one space between them, without the lines of tables."""
    console = Console(width=WIDE, record=True, file=io.StringIO())
    console.print(*shown)
    return " ".join(console.export_text().replace("│", " ").split())

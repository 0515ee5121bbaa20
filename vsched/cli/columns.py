"""The words that tables have in common, on the terminal as on the page: one heading for one thing, in one order."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

QUEUE = ("queue", "state", "weight", "priority", "share")
"""Before the amounts, one column a resource; ``QUEUE_COUNTS`` follow them."""
QUEUE_COUNTS = ("jobs", "waiting")
NAMESPACE = ("namespace", "queue", "weight", "share")
"""Before the amounts; ``waiting`` follows them."""
JOB = ("job", "queue", "phase", "priority", "min", "ready", "pending", "running", "age", "position", "reason")
"""``message`` follows where there is room."""
NODE = ("node",)
"""Before the amounts; ``NODE_STATE`` follows them."""
NODE_STATE = ("pods", "usage", "state")

USUAL = ("cpu", "memory")
"""Resources that always have a column; the scarcest of the others joins them."""

NUMBERS = frozenset(
    {"weight", "priority", "share", "jobs", "waiting", "min", "ready", "pending", "running", "age", "position", "pods"}
    | {"inqueue", "unknown", "completed", "succeeded", "failed", "count"}
)
"""Headings over numbers, which are set to the right."""


def columned(headings: Iterable[str], *, unicode: bool = True) -> Table:
    """A table without lines; resources go by the last part of their names, and no heading is broken.

    Where there are only the letters of ASCII, what does not fit is cut off without the sign that says so.
    """
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(
            heading.rpartition("/")[2],
            justify="right" if heading in NUMBERS else "left",
            no_wrap=True,
            overflow="ellipsis" if unicode else "crop",
        )
    return table

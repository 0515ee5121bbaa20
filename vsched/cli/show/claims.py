"""Claims of waiting pods, for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from vsched.cli.show.amounts import facts
from vsched.explain.records import ClaimState


def claims_table(found: Iterable[ClaimState]) -> Table:
    """A line for claims that are in the same state: which, what each asks for, and what has become of them."""
    return facts(map(_row, found), style="")


def _row(one: ClaimState) -> tuple[Text, Text]:
    more = one.count - len(one.names)
    names = ", ".join(one.names) + (f" and {more} more" if more else "")
    kind = one.kind if one.count == 1 else f"{one.count} {one.kind}s"
    state = Text(one.state, style="" if one.usable else "yellow")
    told = Text(f"{one.asks}: ") + state if one.asks else state
    return Text.assemble((f"{kind} ", "dim"), names), told + Text(f"; {one.missing}") if one.missing else told

"""Parts of tables that several commands share: facts about one thing, amounts of resources, cells with bars. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.show.columns import USUAL, columned
from vsched.cli.show.drawing import Look, short

Amounts = Mapping[str, int]
"""Base units by resource name."""
Short = Callable[[str, int | None], str]
"""An amount of a named resource in few digits."""


def facts(
    rows: Iterable[Sequence[RenderableType]], style: str = "dim", justify: Literal["left", "right"] = "left"
) -> Table:
    """Rows of a short word and what it stands for, which may take several lines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=style, justify=justify, no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def with_bar(look: Look, drawn: Text, words: str) -> Text:
    """The bar and the words; the words alone where there is no room for bars."""
    return Text.assemble(drawn, " ", words) if look.cells else Text(words)


def amounts_table(
    look: Look, kinds: Mapping[str, Amounts], total: Amounts, bar_of: Callable[[str], Text], written: Short = short
) -> Table:
    """A line a resource: a bar, then its amount of each kind, and of the cluster."""
    numbers = (*kinds, "cluster")
    table = columned(["resource", *(["held"] if look.cells else []), *numbers], unicode=look.unicode, numbers=numbers)
    others = {name for amounts in kinds.values() for name in amounts} - set(USUAL)
    for name in (*USUAL, *sorted(others)):
        drawn = [bar_of(name)] if look.cells else []
        table.add_row(name, *drawn, *(written(name, amounts.get(name)) for amounts in (*kinds.values(), total)))
    return table


def one_line(amounts: Amounts, written: Short = short) -> str:
    """``cpu 4, memory 8Gi``; a dash for none."""
    return ", ".join(f"{name} {written(name, value)}" for name, value in sorted(amounts.items())) or "-"


def scarcest(parts: Iterable[tuple[str, float]]) -> str | None:
    """The resource besides the usual ones with the largest part in use; None where there is no other.

    ``parts`` names resources, as often as they are used, with the part in use.
    """
    largest: dict[str, float] = {}
    for name, part in parts:
        if name not in USUAL:
            largest[name] = max(part, largest.get(name, 0.0))
    return max(sorted(largest), key=lambda name: largest[name], default=None)

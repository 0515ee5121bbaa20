"""How the results of the fill test compare, as a table: a line for each policy."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from vsched.cli.show.drawing import count_text
from vsched.cli.show.output import console_for
from vsched.lab.fill import words
from vsched.lab.fill.arrivals import FULL

Document = dict[str, Any]


def show(document: Document, no_color: bool = False) -> None:
    """Print the comparison."""
    console = console_for(no_color, wide=False)
    console.print(escape(title_of(document["trace"])), soft_wrap=True)
    console.print(as_table(document))
    console.print(words.LEGEND, style="dim", soft_wrap=True)


def title_of(trace: Document) -> str:
    """What was run, in one line."""
    drawn = count_text(trace["pods"], "pod", "pods")
    return words.title(
        trace["files"][1],
        drawn,
        count_text(trace["nodes"], "node", "nodes"),
        count_text(trace["gpus"], "GPU", "GPUs"),
        trace["fill"],
        written(trace["seeds"]),
    )


def written(seeds: list[int]) -> str:
    """Seeds as they are given: ``42-51``, ``1,5``."""
    first, last = seeds[0], seeds[-1]
    if len(seeds) > 1 and seeds == [*range(first, last + 1)]:
        return f"{first}-{last}"
    return ",".join(map(str, seeds))


def as_table(document: Document) -> Table:
    """A line for each policy."""
    fill, policies = document["trace"]["fill"], document["policies"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy")
    table.add_column(words.allocated_at(fill), justify="right")
    at_full = all("stranded_percent" in policy for policy in policies)
    if at_full:
        table.add_column(words.stranded_at(FULL), justify="right")
    table.add_column("dropped", justify="right")
    table.add_column(words.WITH_ROOM, justify="right")
    for policy in policies:
        dropped = sum(seed["dropped"] for seed in policy["seeds"]) / len(policy["seeds"])
        table.add_row(
            escape(policy["policy"]),
            _spread(policy["gpu_allocation_percent"]),
            *([_spread(policy["stranded_percent"])] if at_full else []),
            f"{dropped:,.0f}",
            f"{policy['dropped_with_room'] / len(policy['seeds']):,.0f}",
        )
    return table


def _spread(found: Document) -> str:
    return f"{found['mean']:.2f} ± {found['spread']:.2f}"

"""What all benches share: the options --seed and --json, and how results are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

seed_option = click.option("--seed", type=int, default=1)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_result(result: Mapping[str, Any], as_json: bool, as_tables: Callable[[Any], Iterable[Table]]) -> None:
    """Print the result of a bench as JSON, or as tables."""
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        Console().print(*as_tables(result))


def figures_table(rows: Iterable[tuple[str, str]]) -> Table:
    """A line for each figure: its name and its value. On a narrow screen names are wrapped, never values."""
    table = Table(show_header=False, show_edge=False)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def side_by_side(title: str, headings: Iterable[str]) -> Table:
    """A table without rows: a column for what is measured, and one for each run."""
    table = Table(title=title, title_justify="left", show_edge=False)
    table.add_column(no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def pair(spread: Mapping[str, float]) -> str:
    """``p50 / p99``."""
    return "{p50:,} / {p99:,}".format(**spread)

"""The options of ``vsched bench --grow``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from vsched.cli.options import typed_flags
from vsched.lab.bench.grow.run import Growth, measure_growth
from vsched.lab.bench.words import grow as words

T = TypeVar("T")

DEFAULTS: dict[str, Any] = {
    "nodes": (1_000, 5_000, 20_000, 50_000),
    "pods": (10_000, 50_000, 500_000),
    "queues": 1_000,
    "namespaces": 5_000,
    "gang": 20,
    "config": "",
}
"""The options that it takes, with their values where none is given."""
GROW_EPILOG = """\\b
--grow lists clusters of every number of --nodes and of running --pods, each in a
process of its own, and measures processor time and memory:
  vsched bench --grow --out results
  vsched bench --grow --nodes 1000,5000 --pods 10000,50000 --queues 100 --namespaces 500
  restart_seconds  from encoded objects, as lists give them, to the first decision
  new_shape_ms     the cycle after a gang of 100 came that asks for what no pod asked for
  snapshot_ms      the snapshot before that cycle
  idle_ms          a snapshot and a cycle when nothing changed
  memory           after a collection of garbage; peak_mb: the most that it ever was
  metrics, page    size and time of /metrics, and of the page's picture of the cluster
Without --nodes and --pods: 1,000 to 50,000 nodes with 10,000 to 500,000 pods; also
1,000 queues in a tree of three levels (--queues) and 5,000 namespaces (--namespaces).
--out also draws growth.png and .svg where matplotlib is installed.
"""

out_option = click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --grow: a folder for the figures as JSON and a plot.",
)


class Sizes(click.ParamType[Any]):
    """One whole number, or several with commas between them."""

    name = "number[,number…]"

    def __init__(self, least: int, most: int) -> None:
        self._range = click.IntRange(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The numbers; fails with one line where one of them is none, or out of range."""
        given: Sequence[Any] = value if isinstance(value, tuple) else str(value).split(",")
        return tuple(int(self._range(word, param, ctx)) for word in given)


def one_size(name: str, sizes: tuple[int, ...]) -> int:
    """The only number; raises UsageError where there are several."""
    if len(sizes) > 1:
        raise click.UsageError(words.several_sizes(name, ",".join(map(str, sizes))))
    return sizes[0]


def grow_from(context: click.Context, out: Path | None, *, as_json: bool) -> None:
    """Measure what the command line asks for; raises UsageError for options that say nothing here."""
    given = {**DEFAULTS}
    for name, flag in typed_flags().items():
        if name in DEFAULTS:
            given[name] = context.params[name]
        elif name not in ("grow", "out", "as_json"):
            raise click.UsageError(words.not_with_grow(flag))
    draws = out is not None and find_spec("matplotlib") is not None
    measure_growth(Growth(**given, out=out, draws=draws), as_json=as_json)

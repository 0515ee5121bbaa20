"""The flags of ``vsched replay --trace``; the code behind them is imported only when they are used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vsched.cli.options import Decorator, options

MOST_WEIGHT = 1_000_000
FILE = click.Path(dir_okay=False, path_type=Path)


def share(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """``60%`` or ``0.6`` as 0.6."""
    try:
        found = float(value.removesuffix("%")) / (100.0 if value.endswith("%") else 1.0)
    except ValueError:
        found = 0.0
    if not 0.0 < found <= 1.0:
        raise click.BadParameter(f"{value!r} (expected more than 0% and at most 100%, such as 60%)", ctx, param)
    return found


def weights(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, int]:
    """Several ``QUEUE=N`` as a mapping."""
    found = {}
    for text in value:
        queue, _, weight = text.partition("=")
        if not queue or not weight.isascii() or not weight.isdecimal() or not 0 < int(weight) <= MOST_WEIGHT:
            problem = f"{text!r} (expected QUEUE=WEIGHT with a weight from 1 to {MOST_WEIGHT}, such as ls=3)"
            raise click.BadParameter(problem, ctx, param)
        found[queue] = int(weight)
    return found


def _option(*names: str, says: str, **more: Any) -> Decorator:
    return click.option(*names, help=f"For --trace: {says}", **more)


trace_options = options(
    click.option(
        "--trace",
        nargs=2,
        type=FILE,
        metavar="NODES PODS",
        help="Replay a trace of a cluster: two CSV files in OpenB's format (.csv or .csv.gz).",
    ),
    click.option(
        "--policy", "policies", multiple=True, type=FILE, help="For --trace; repeat it to compare.  [default: built-in]"
    ),
    _option(
        "--nodes",
        "share",
        says="keep so much of each kind of node, as 60%.",
        callback=share,
        default="100%",
        metavar="SHARE",
    ),
    _option(
        "--load",
        says="have pods come so fast that at the peak they ask for so many times what there is.",
        type=click.FloatRange(0, 1000, min_open=True),
    ),
    _option(
        "--weight",
        "weights",
        says="of a queue, as ls=3; repeatable.  [default: 1 each]",
        callback=weights,
        multiple=True,
        metavar="QUEUE=N",
    ),
    _option("--seed", says="draws other uids.", type=click.IntRange(0), default=1),
    _option("--jobs", says="policies replayed at a time.", type=click.IntRange(1, 64), default=2),
    _option("--out", says="where comparison.json, .png and .svg go.", type=click.Path(file_okay=False, path_type=Path)),
    _option("--plots/--no-plots", says="draw, or not.  [default: where there is --out]", default=None),
    _option("--quiet", says="say nothing of how far it is.", is_flag=True),
)

"""The flags of ``vsched replay --trace``; the code behind them is imported only when they are used."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.options import options

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
    click.option(
        "--nodes",
        "share",
        callback=share,
        default="100%",
        metavar="SHARE",
        help="For --trace: keep so much of each kind of node, as 60%.",
    ),
    click.option(
        "--load",
        type=click.FloatRange(0, 1000, min_open=True),
        help="For --trace: have pods come so fast that at the peak they ask for so many times what there is.",
    ),
    click.option(
        "--weight",
        "weights",
        callback=weights,
        multiple=True,
        metavar="QUEUE=N",
        help="For --trace: of a queue, as ls=3; repeatable.  [default: 1 each]",
    ),
    click.option("--seed", type=click.IntRange(0), default=1, help="For --trace: draws other uids."),
    click.option("--jobs", type=click.IntRange(1, 64), default=2, help="For --trace: policies replayed at a time."),
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        help="For --trace: where comparison.json, .png and .svg go.",
    ),
    click.option(
        "--plots/--no-plots", default=None, help="For --trace: draw, or not.  [default: where there is --out]"
    ),
    click.option("--quiet", is_flag=True, help="For --trace: say nothing of how far it is."),
)

"""The flags of ``vsched replay --trace``; the code behind them is imported only when they are used."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from vsched.cli.flags.values import SHARE, Period
from vsched.cli.options import Decorator, options
from vsched.lab.replay import words

MOST_WEIGHT = 1_000_000
MOST_MACHINES, MOST_GPUS = 100_000, 128
MOST_DAYS = 36_500
FORMATS = ("plain", "openb", "philly", "work")
FILE = click.Path(dir_okay=False, path_type=Path)


def share(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """``60%`` or ``0.6`` as 0.6."""
    try:
        found = float(value.removesuffix("%")) / (100.0 if value.endswith("%") else 1.0)
    except ValueError:
        found = 0.0
    if not 0.0 < found <= 1.0:
        raise click.BadParameter(words.no_share(value), ctx, param)
    return found


def weights(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, int]:
    """Several ``QUEUE=N`` as a mapping."""
    found = {}
    for text in value:
        queue, _, weight = text.partition("=")
        if not queue or not weight.isascii() or not weight.isdecimal() or not 0 < int(weight) <= MOST_WEIGHT:
            problem = words.no_weight(text, MOST_WEIGHT)
            raise click.BadParameter(problem, ctx, param)
        found[queue] = int(weight)
    return found


def _option(*names: str, help: str, **more: Any) -> Decorator:
    return click.option(*names, help=f"For --trace: {help}", **more)


def machines(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Several ``COUNTxGPUS`` as pairs."""
    found = []
    for text in value:
        sizes = [int(part) for part in text.split("x") if part.isascii() and part.isdecimal() and len(part) < 7]
        if len(sizes) != 2 or not 0 < sizes[0] <= MOST_MACHINES or not 0 < sizes[1] <= MOST_GPUS:
            problem = words.no_machines(text, MOST_MACHINES, MOST_GPUS)
            raise click.BadParameter(problem, ctx, param)
        found.append((sizes[0], sizes[1]))
    return tuple(found)


def moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | float | None:
    """A date, with or without a time, or a number of days."""
    if value is None:
        return None
    with suppress(ValueError):
        days = float(value)
        if 0.0 <= days <= MOST_DAYS:
            return days
    with suppress(ValueError):
        found = datetime.fromisoformat(value)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    problem = words.no_moment(value)
    raise click.BadParameter(problem, ctx, param)


MOST_SEEDS = 1000


def seeds(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """``42-51`` or ``1,5,7`` as numbers."""
    found: list[int] = []
    for part in value.split(","):
        first, dash, last = part.strip().partition("-")
        numbers = [first, last] if dash else [first]
        if not all(number.isascii() and number.isdecimal() and len(number) < 10 for number in numbers):
            found = []
            break
        begin, end = int(numbers[0]), int(numbers[-1])
        found += range(begin, min(end, begin + MOST_SEEDS) + 1)
    if not 0 < len(found) <= MOST_SEEDS or len(set(found)) < len(found):
        problem = words.no_seeds(value, MOST_SEEDS)
        raise click.BadParameter(problem, ctx, param)
    return tuple(found)


part_options = options(
    _option(
        "--trace-format",
        help="the format of the jobs.  [default: the one that has these columns]",
        type=click.Choice(FORMATS),
    ),
    _option(
        "--nodes",
        "share",
        help="keep this share of each kind of node, such as 60%.",
        callback=share,
        default="100%",
        metavar="SHARE",
    ),
    _option(
        "--machines",
        help="where no file says them, as 88x8: 88 machines of 8 GPUs; repeatable.  [default: 8 GPUs, for the peak]",
        callback=machines,
        multiple=True,
        metavar="COUNTxGPUS",
    ),
    _option(
        "--from",
        "begin",
        help="a date (UTC) of the trace, or days since its first pod; what runs then is there from the beginning.",
        callback=moment,
        metavar="TIME",
    ),
    _option("--days", help="how much of the trace.", type=click.FloatRange(0, MOST_DAYS, min_open=True)),
    _option(
        "--apart",
        help="least time between sessions while pods wait.  [default: 1m for Philly, 1s for --kueue, else 0]",
        type=Period(zero=True),
        metavar="DURATION",
    ),
    _option(
        "--one-queue",
        help="a policy under which jobs of all queues wait in one line, by the name of its file; repeatable.",
        multiple=True,
        metavar="NAME",
    ),
    _option(
        "--declared",
        help="jobs declare this many times their true run time.  [default: they declare none]",
        type=click.FloatRange(0, 1000, min_open=True),
        metavar="TIMES",
    ),
    _option(
        "--load",
        help="scale arrivals so that at the peak pods request this many times the capacity.",
        type=click.FloatRange(0, 1000, min_open=True),
    ),
    _option(
        "--weight",
        "weights",
        help="of a queue, as ls=3; repeatable.  [default: 1 each]",
        callback=weights,
        multiple=True,
        metavar="QUEUE=N",
    ),
)
"""Which part of a trace, on which machines, and how it is replayed."""

trace_options = options(
    click.option(
        "--trace",
        type=click.Path(path_type=Path),
        metavar="JOBS | NODES JOBS",
        help="Replay a trace of a cluster: a CSV file (.csv, .csv.gz) of jobs, and one of its nodes before it if any; "
        "or a file or folder of vsched record.",
    ),
    click.option(
        "--policy", "policies", multiple=True, type=FILE, help="For --trace; repeat it to compare.  [default: built-in]"
    ),
    part_options,
    _option(
        "--fill",
        help="the fill test: pods arrive in random order until they request this many times all GPUs, and none ends.",
        type=click.FloatRange(0, 10, min_open=True),
        metavar="TIMES",
    ),
    _option("--seeds", help="with --fill, an order for each, as 42-51 or 1,5.", callback=seeds, default="42-51"),
    _option("--seed", help="random seed of the uids.", type=click.IntRange(0), default=1),
    _option(
        "--jobs",
        help="policies (with --fill, policies and seeds) to replay at the same time.",
        type=click.IntRange(1, 64),
        default=2,
    ),
    _option(
        "--verify",
        help="so many of the sessions are checked against the rules; exit 1 where one is violated.",
        type=SHARE,
        default="0",
        metavar="SHARE",
    ),
    _option(
        "--out",
        help="directory for comparison.json or fill.json and the plots.",
        type=click.Path(file_okay=False, path_type=Path),
    ),
    _option("--plots/--no-plots", help="draw plots, or not.  [default: with --out]", default=None),
    _option("--quiet", help="show no progress.", is_flag=True),
)

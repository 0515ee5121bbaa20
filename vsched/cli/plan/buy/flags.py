"""The flags of buy menus."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from vsched.cli.ask.cluster import USUAL_CLUSTER, ClusterFlags
from vsched.cli.flags.values import Period
from vsched.cli.options import options_as_one
from vsched.cli.plan.buy import words

GANGS_MAX = 1000


class BuyFlags(NamedTuple):
    """What is asked for with ``--buy``."""

    buy: bool = False
    pools: tuple[Path, ...] = ()
    most: int | None = None
    """How many gangs get a menu."""
    search_time: float | None = None
    """For how long is searched for one gang, in seconds."""
    kubeconfig: Path | None = None
    context: str | None = None

    @property
    def cluster(self) -> ClusterFlags | None:
        """The cluster whose NodePools are to be read; None for none."""
        found = ClusterFlags(self.kubeconfig, self.context)
        return None if found == USUAL_CLUSTER else found

    def check(self, *, live: bool) -> None:
        """Raise UsageError where flags do not go together."""
        if not self.buy and self != BuyFlags():
            given = [
                f"--{name.replace('_', '-')}"
                for name, value, default in zip(self._fields, self, BuyFlags(), strict=True)
                if value != default
            ]
            raise click.UsageError(words.with_buy_only(", ".join(given)))
        if self.cluster is not None and not live:
            raise click.UsageError(words.CLUSTER_WITHOUT_LIVE)


buy_flags = options_as_one(
    "buying",
    BuyFlags,
    click.option(
        "--buy",
        is_flag=True,
        help="Show what each waiting gang would need to start: nodes, quota, time, or evictions.",
    ),
    click.option(
        "--pools",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="With --buy: node pools that could grow, as for vsched cluster --pools, or Karpenter's NodePools  "
        "[default: the NodePools that the daemon has seen, else nodes like the existing ones]",
    ),
    click.option(
        "--most", type=click.IntRange(1, GANGS_MAX), metavar="N", help="With --buy: for how many gangs  [default: 10]"
    ),
    click.option(
        "--search-time",
        type=Period(),
        help="With --buy: how long to search for one gang  [default: 8s]",
    ),
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        help="With --live --buy: read Karpenter's NodePools from the cluster of this kubeconfig.",
    ),
    click.option("--context", help="With --live --buy: context of that kubeconfig."),
)
"""Adds the flags; the command gets them as ``buying``."""

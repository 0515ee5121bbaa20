"""The menus of a cluster: of a running one, of a dump, or of manifests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from vsched.cli.plan.buy import words
from vsched.cli.plan.buy.flags import BuyFlags
from vsched.explain.menu.menus import MENUS_MAX, Menus, menus
from vsched.explain.menu.records import OfferedPool
from vsched.explain.simulation import Asked
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.snapshot import Snapshot
from vsched.settings.installed import registry

SEARCH_SECONDS = 8.0
PARTS = 5
"""Nodes, quota, time, the places of others, and what else would help: each has its part of the time."""


class Bought(NamedTuple):
    """The menus, and what they rest on."""

    menus: Menus
    pools: Sequence[OfferedPool]
    edits: Sequence[str]
    notes: Sequence[str]
    now: float
    session: int | None = None
    """The number of the session; None for manifests."""


def bought(
    snapshot: Snapshot,
    policy: Policy,
    buying: BuyFlags,
    *,
    edits: Sequence[str] = (),
    notes: Sequence[str] = (),
    session: int | None = None,
) -> Bought:
    """The menus for a cluster in which what was decided so far has come true."""
    # Imported here, so that other plans do not load the reader of the embedded cluster's pools.
    from vsched.cli.plan.buy.pools import nodes_of_cluster, nodes_of_snapshot, read_pools

    pools, said = read_pools(buying.pools, snapshot), list(notes)
    if not buying.pools and buying.cluster is None:
        pools = nodes_of_snapshot(snapshot)
    elif buying.cluster is not None:
        of_cluster, note = nodes_of_cluster(buying.cluster, snapshot)
        pools += of_cluster
        said += [note] if note else []
    if policy.plugin("extender") is not None:
        said.append(words.EXTENDER_NOT_CALLED)
    report = run_cycle(snapshot, policy, registry())
    limit = limit_of((buying.search_time or SEARCH_SECONDS) / PARTS)
    found = menus(snapshot, policy, registry(), report, pools, limit, buying.most or MENUS_MAX)
    return Bought(found, pools, edits, said, snapshot.now, session)


def limit_of(seconds: float) -> Callable[[], Asked]:
    """Begins a part: what it returns is True once so many seconds are over."""

    def begin() -> Asked:
        until = monotonic() + seconds
        return lambda: monotonic() >= until

    return begin

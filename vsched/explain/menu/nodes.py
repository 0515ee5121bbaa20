"""How many nodes of each pool would start a gang."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from vsched.explain.candidates.levers import Lever, Rank
from vsched.explain.candidates.machines import KINDS_MAX
from vsched.explain.candidates.nodes import node_levers
from vsched.explain.combined_changes import TOGETHER_MAX, all_of
from vsched.explain.edits.base import Edit
from vsched.explain.edits.nodes import AddNodes, AddPoolNodes, PoolNode
from vsched.explain.menu import words
from vsched.explain.menu.gang import WaitingGang, test_of
from vsched.explain.menu.quota import quota_levers
from vsched.explain.menu.records import MenuAnswer, NodesOffer, NodesOfPool, NodesPart, OfferedPool
from vsched.explain.simulation import Spent
from vsched.explain.single_changes import ChangeSearch, Helping, Test, least, singles
from vsched.explain.situation import apply_all, change_of
from vsched.framework.cycle import run_cycle
from vsched.model.amounts.resources import format_amount
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.shape import Shape

NODES_MAX = 1024
"""The most nodes that are tried."""
WITHOUT_PODS_MAX = 256
"""The most nodes that are tried for a gang whose pods are not made yet: how large they will be is not known."""
COMBINED_MAX, QUOTAS_MAX = 3, 7
"""How many pools are tried with more quota, and with how many limits raised."""


def like_nodes(gang: WaitingGang) -> list[OfferedPool]:
    """The kinds of nodes there are that could take the gang's pods, as pools without a limit."""
    if not gang.wants.waiting:
        return [OfferedPool(like, "node", like=like) for like in _one_of_each_kind(gang.ground.snapshot.nodes)]
    edits = (lever.edits(1) for lever in node_levers(gang.wants))
    likes = [each[0].like for each in edits if len(each) == 1 and isinstance(each[0], AddNodes)]
    return [OfferedPool(like, "node", like=like) for like in dict.fromkeys(likes)]


def _one_of_each_kind(nodes: NodeTable) -> list[str]:
    """A node of each kind, by what it has: nothing is known of pods that are not made yet."""
    if not len(nodes):
        return []
    _, rows = np.unique(nodes.allocatable, axis=1, return_index=True)
    return [nodes.statics.names[row] for row in sorted(rows.tolist())[:KINDS_MAX]]


def nodes_part(gang: WaitingGang, pools: Sequence[OfferedPool], *, with_quota: bool) -> NodesPart:
    """What nodes would do for the gang: those of the pools, or without pools those like nodes there are.

    Where no nodes alone are enough, they are tried together with more quota if ``with_quota``.
    """
    known = list(pools) or like_nodes(gang)
    if not known:
        return NodesPart(MenuAnswer.NO, words.NO_KIND_FITS)
    search, refused = gang.search(len(known) + 1), _unavailable(gang, known)
    offers: list[NodesOffer] = []
    complete = True
    try:
        _look(gang, search, known, with_quota, offers, refused)
    except Spent:
        complete = False
    offers.sort(key=lambda offer: (offer.price is None, offer.price or 0.0, offer.count))
    if offers:
        return NodesPart(MenuAnswer.ENOUGH, offers[0].message, tuple(offers), refused)
    if not complete:
        return NodesPart(MenuAnswer.UNKNOWN, words.OUT_OF_TIME, refused=refused)
    return NodesPart(MenuAnswer.NO, next(iter(refused.values())), refused=refused)


def _unavailable(gang: WaitingGang, pools: Sequence[OfferedPool]) -> dict[str, str]:
    """The pools of which no nodes can be had, or whose nodes are too small, with the reason."""
    found: dict[str, str] = {}
    for pool in pools:
        why = pool.problem or _too_small(gang, pool.nodes)
        if not why and pool.room is not None and pool.room <= 0:
            why = "cannot grow"
        if why:
            found[pool.name] = f"pool {pool.name}: {why}"
    return found


def _too_small(gang: WaitingGang, nodes: Sequence[PoolNode]) -> str:
    """Which resource an empty node of the pool has too little of for a pod; empty where some pod fits there.

    A node for some of the pods may be enough: it leaves others to the rest.
    """
    found = [_lacking(gang, node, shape) for node in nodes[:1] for shape in gang.wants.shapes]
    return found[0] if found and all(found) else ""


def _lacking(gang: WaitingGang, node: PoolNode, shape: Shape) -> str:
    """Which resource an empty node has too little of for such a pod; empty where none."""
    for column, amount in shape.request:
        name = gang.wants.name(column)
        has = node.allocatable.get(name, 0)
        if has < amount:
            return words.node_too_small(format_amount(name, has), name, format_amount(name, amount))
    return ""


def _look(
    gang: WaitingGang,
    search: ChangeSearch,
    pools: Sequence[OfferedPool],
    with_quota: bool,
    offers: list[NodesOffer],
    refused: dict[str, str],
) -> None:
    """Try pool by pool; then, where none is enough, with more quota. Raises Spent."""
    test = test_of(search)
    useful = _useful(gang)
    stuck: list[tuple[OfferedPool, Lever]] = []
    for pool in pools:
        if pool.name in refused:
            continue
        lever = _lever(gang, pool, useful)
        singles(search, [lever], test, [])
        if len(search.helping) > len(offers):
            offers.append(_offer(search, pool, search.helping[-1], _alone(search, lever, search.helping[-1])))
        else:
            stuck.append((pool, lever))
    if not offers and len(stuck) > 1:
        _look_in_several(search, stuck, test, offers)
    if not offers and with_quota:
        _look_with_quota(gang, search, stuck, test, offers)
    named = {name for offer in offers for name in (offer.pool, *(other.pool for other in offer.besides))}
    for pool, lever in stuck:
        if pool.name not in named:
            refused[pool.name] = _not_enough(gang, pool, lever, useful)


def _look_in_several(
    search: ChangeSearch, stuck: Sequence[tuple[OfferedPool, Lever]], test: Test, offers: list[NodesOffer]
) -> None:
    """Try nodes of several pools: pods of one kind may need nodes of one, and others those of another. Raises Spent."""
    # Those that cost most are let back first.
    cheapest = sorted(stuck, key=lambda one: math.inf if one[0].price is None else one[0].price)[:TOGETHER_MAX]
    before = len(search.helping)
    all_of(search, [lever for _, lever in cheapest], test)
    if len(search.helping) > before:
        found = search.helping[-1]
        added = [edit for edit in found.edits if isinstance(edit, AddNodes | AddPoolNodes)]
        counts = [(pool, sum(edit.count for edit in added if edit == pool.edit(edit.count))) for pool, _ in cheapest]
        used = [(pool, count) for pool, count in counts if count]
        offers.append(_offer(search, used[0][0], found) if len(used) == 1 else _offer_of_several(used))


def _offer_of_several(used: Sequence[tuple[OfferedPool, int]]) -> NodesOffer:
    (first, count), *others = used
    prices = [None if pool.price is None else pool.price * count for pool, count in used]
    known = [price for price in prices if price is not None]
    return NodesOffer(
        words.several_would_start([(count, pool.title) for pool, count in used]),
        first.name,
        first.source,
        count,
        count,
        round(sum(known), 6) if len(known) == len(prices) else None,
        first.price,
        max(pool.delay_seconds for pool, _ in used),
        besides=tuple(NodesOfPool(pool.name, pool.source, count, pool.price) for pool, count in others),
    )


def _look_with_quota(
    gang: WaitingGang,
    search: ChangeSearch,
    stuck: Sequence[tuple[OfferedPool, Lever]],
    test: Test,
    offers: list[NodesOffer],
) -> None:
    quotas = quota_levers(gang)[:QUOTAS_MAX]
    for pool, lever in stuck[:COMBINED_MAX] if quotas else ():
        before = len(search.helping)
        all_of(search, [lever, *quotas], test)
        if len(search.helping) > before:
            offers.append(_offer(search, pool, search.helping[-1]))


def _useful(gang: WaitingGang) -> int:
    """How many nodes could be of use at most: one for each pod that it lacks, and for those of jobs before it."""
    lane = gang.ground.order.lane(gang.wants.job.spec.queue)
    before = takewhile(lambda view: view.key != gang.key, lane)
    missing = gang.wants.missing if gang.wants.waiting else max(gang.wants.missing, WITHOUT_PODS_MAX)
    return min(NODES_MAX, missing + sum(len(view.job.pending) for view in before))


def _lever(gang: WaitingGang, pool: OfferedPool, useful: int) -> Lever:
    most = max(1, useful if pool.room is None else min(useful, pool.room))
    return Lever(Rank.MACHINES, pool.edit, most, whole=len(gang.ground.snapshot.nodes))


def _alone(search: ChangeSearch, lever: Lever, found: Helping) -> int:
    """How many of these nodes would be enough if no other job wanted them. Raises Spent."""
    return least(lever._replace(most=_count(found)), search.situation, search.simulations.alone)


def _count(found: Helping) -> int:
    return sum(edit.count for edit in found.edits if isinstance(edit, AddNodes | AddPoolNodes))


def _offer(search: ChangeSearch, pool: OfferedPool, found: Helping, alone: int | None = None) -> NodesOffer:
    added = [edit for edit in found.edits if _adds(edit)]
    others = [edit for edit in found.edits if not _adds(edit)]
    count = _count(found)
    alone = count if alone is None else alone
    quota = change_of(apply_all(search.situation, added), others) if others else None
    price = None if pool.price is None else round(pool.price * count, 6)
    message = words.more_would_start(count, pool.title, quota.message if quota else "", alone)
    return NodesOffer(message, pool.name, pool.source, count, alone, price, pool.price, pool.delay_seconds, quota)


def _adds(edit: Edit) -> bool:
    return isinstance(edit, AddNodes | AddPoolNodes)


def _not_enough(gang: WaitingGang, pool: OfferedPool, lever: Lever, useful: int) -> str:
    """Why nodes of the pool would not start it."""
    limited = pool.room is not None and pool.room < useful
    what = words.all_more_of_pool(lever.most, pool.name) if limited else words.up_to_more(lever.most, pool.title)
    then = apply_all(gang.ground.situation, lever.edits(lever.most))
    why = run_cycle(then.snapshot, then.policy, gang.ground.registry).jobs[gang.key].message
    return words.would_not_start(what, why)

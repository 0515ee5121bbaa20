"""The menus of the gangs that wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vsched.explain.changes import changes
from vsched.explain.estimate.start_times import estimate
from vsched.explain.menu import words
from vsched.explain.menu.gang import Limit, MenuGround, WaitingGang, placed_by
from vsched.explain.menu.nodes import nodes_part
from vsched.explain.menu.quota import quota_part
from vsched.explain.menu.records import Menu, MenuAnswer, NodesPart, OfferedPool, QuotaPart, WaitingPart
from vsched.explain.menu.work import work_part
from vsched.explain.order import waiting_order
from vsched.explain.records import Change
from vsched.explain.simulation import Goal
from vsched.explain.situation import Situation
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot

MENUS_MAX = 10
"""How many gangs get a menu, unless the caller says otherwise."""
OTHERS_MAX = 2
"""How many other changes are told."""


class Menus(NamedTuple):
    """The answer for a cluster."""

    menus: tuple[Menu, ...]
    """Of the first gangs in the order in which they are tried."""
    waiting: int
    """How many gangs lack their minimum."""


def menus(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    report: CycleReport,
    pools: Sequence[OfferedPool],
    limit: Limit,
    most: int = MENUS_MAX,
) -> Menus:
    """The menus of the first gangs that lack their minimum after the cycle that made this report.

    Without pools, the nodes that are offered are like those there are. ``limit`` begins the time of each part.
    """
    fixed = freeze(snapshot)
    order = waiting_order(fixed, policy, registry)
    ground = MenuGround(Situation(fixed, policy), registry, report, order)
    keys = lacking(fixed, report)
    overall = order.overall()
    ordered = sorted(keys, key=lambda key: (overall.get(key, len(overall) + 1), key))
    return Menus(tuple(menu_of(WaitingGang(ground, key, limit), pools) for key in ordered[:most]), len(keys))


def lacking(snapshot: Snapshot, report: CycleReport) -> list[str]:
    """The keys of the jobs that wait, and to which the cycle has not given their minimum."""
    placed = placed_by(report)
    found = []
    for key in snapshot.active:
        job, outcome = snapshot.jobs.get(key), report.jobs.get(key)
        if job is None or outcome is None:
            continue
        waits = bool(job.pending) or (not job.tasks and outcome.phase == "Pending")
        if waits and job.ready + placed[key] < max(1, job.spec.min_member):
            found.append(key)
    return found


def menu_of(gang: WaitingGang, pools: Sequence[OfferedPool]) -> Menu:
    """The menu of one gang."""
    job, outcome = gang.wants.job, gang.ground.report.jobs[gang.key]
    quota = quota_part(gang)
    nodes = nodes_part(gang, pools, with_quota=quota.answer is not MenuAnswer.ENOUGH)
    work = work_part(gang)
    found = MenuAnswer.ENOUGH in (nodes.answer, quota.answer, work.answer)
    return Menu(
        gang.key,
        job.spec.queue,
        job.priority,
        job.spec.min_member,
        job.ready,
        len(job.pending),
        outcome.code,
        outcome.message,
        nodes,
        _with_nodes(quota, nodes),
        _waiting(gang),
        work,
        () if found else _others(gang),
        "" if job.tasks else words.WITHOUT_PODS,
        job.called,
    )


def _with_nodes(quota: QuotaPart, nodes: NodesPart) -> QuotaPart:
    """What is said of quota, where it helps together with nodes only."""
    both = [offer for offer in nodes.offers if offer.quota is not None]
    if quota.answer is not MenuAnswer.NO or not both or both[0].quota is None:
        return quota
    return QuotaPart(MenuAnswer.NO, words.then_lacks_nodes(both[0].quota.message))


def _others(gang: WaitingGang) -> tuple[Change, ...]:
    """What else would let it start: a queue to be opened, pods that are missing, gates, rules of its pods."""
    ground, over = gang.ground, gang.limit()
    return changes(
        ground.snapshot,
        ground.policy,
        ground.registry,
        ground.report,
        gang.key,
        order=ground.order,
        most=OTHERS_MAX,
        spent=over,
        over=over,
    ).changes


def _waiting(gang: WaitingGang) -> WaitingPart:
    ground, over = gang.ground, gang.limit()
    found = estimate(
        ground.snapshot, ground.policy, ground.registry, ground.report, Goal(gang.key), ground.order, over, over
    )
    answer = MenuAnswer.UNKNOWN if found.earliest is None else MenuAnswer.ENOUGH
    return WaitingPart(answer, found.message, found)

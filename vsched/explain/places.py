"""The domains of a session as one job sees them: which hold its pods, and how many more would fit in each.

Counts are sums of vectors by domain. At most ``LISTED_MAX`` domains of a tier are chosen, with those that contain them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.explain.records import DomainRoom, JobPlaces, SubGroupPlace, TierCounts
from vsched.explain.words import reasons as words
from vsched.framework.jobs import JobView
from vsched.framework.places.words import tier_words
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import SubGroup
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.subgroups import LEFT_OVER
from vsched.model.topology.tiers import NO_DOMAIN, Tier

LISTED_MAX = 6
"""How many domains of a tier are chosen."""
SUB_GROUPS_MAX = 16
"""How many sub-groups are listed."""
SOFT = NetworkTopology(hard=False)
"""The wish of a job of which only sub-groups ask for closeness."""


class TierSight(NamedTuple):
    """One tier as a job sees it."""

    tier: Tier
    sizes: Ints
    """int64[domains]: nodes."""
    room: Ints | None
    """int64[domains]: how many of the pods wanted fit."""
    holds: Mapping[int, int]
    """Pods by domain."""
    only: int | None
    """The one domain that the job's pods allow; None for any."""
    allowed: bool


def places_of(session: Session, view: JobView, tasks: Sequence[Task]) -> JobPlaces | None:
    """Where a job is and could be; ``tasks`` are the pods that it needs next, maybe none.

    None where the job does not ask for closeness, or no tiers are known.
    """
    spec, places = view.spec, session.places
    if spec.topology is None and not spec.sub_groups:
        return None
    topology = spec.topology or SOFT
    sights = _sights(session, view, topology, tasks)
    if not sights:
        return None
    chosen = [_chosen(sight) for sight in sights]
    parents = _contain(session, sights, chosen)
    settled = places.settled(view, waiting=True)
    return JobPlaces(
        asks_of(topology, sights),
        len(tasks),
        "" if settled is None else settled.name,
        None if settled is None else settled.level,
        tuple(_counts(sight, len(found), len(tasks)) for sight, found in zip(sights, chosen, strict=True)),
        tuple(_tree(sights, chosen, parents)),
        *_sub_groups(session, view, sights),
    )


def _sub_groups(session: Session, view: JobView, sights: Sequence[TierSight]) -> tuple[tuple[SubGroupPlace, ...], int]:
    """Where the sub-groups of a job are, some of them, and how many it has."""
    if view.sub_groups is None:
        return (), 0
    groups = view.sub_groups.groups.values()
    ordered = sorted(groups, key=lambda group: (group.key == LEFT_OVER, not group.lacks(waiting=True), group.key))
    return tuple(_sub_group(session, view, group, sights) for group in ordered[:SUB_GROUPS_MAX]), len(groups)


def _sub_group(session: Session, view: JobView, group: SubGroup, sights: Sequence[TierSight]) -> SubGroupPlace:
    topology = group.topology or view.spec.topology or SOFT
    pods_by_domain = session.places.pods_by_domain(view, topology, group)
    at = pods_by_domain.lowest()
    number = None if at is None else pods_by_domain.domain(at)
    tier = session.places.tiers_for(topology)[at] if at is not None and number is not None else None
    return SubGroupPlace(
        group.name,
        "" if group.topology is None else asks_of(group.topology, sights),
        group.minimum,
        pods_by_domain.total,
        "" if tier is None or number is None else tier.domains[number],
        None if tier is None else tier.level,
    )


def asks_of(topology: NetworkTopology, sights: Sequence[TierSight]) -> str:
    """``one domain of tier 1 (rack) or closer``."""
    if topology.key:
        return words.nodes_with_one_value(topology.key)
    if not topology.hard:
        return words.AS_CLOSE_AS_POSSIBLE
    if topology.tier_name:
        return words.domain_or_closer(f"tier {topology.tier_name}")
    if topology.highest_tier is None:
        return words.ONE_DOMAIN_AS_CLOSE
    tier = next((tier_words(one.tier) for one in sights if one.tier.level == topology.highest_tier), "")
    return words.domain_or_closer(tier or f"tier {topology.highest_tier}")


def _sights(session: Session, view: JobView, topology: NetworkTopology, tasks: Sequence[Task]) -> list[TierSight]:
    places = session.places
    pods_by_domain = places.pods_by_domain(view, topology)
    allowed = places.allowed(topology)
    reach = places.reach(topology, pods_by_domain)
    usable = {} if isinstance(reach, Refusal) else dict(reach)
    may = () if isinstance(allowed, Refusal) else allowed
    tiers = may if topology.key else () if places.tiers.is_flat else places.tiers.tiers
    batch = places.task_set(tasks, len(tasks)) if tasks else None
    found = []
    for at, tier in enumerate(tiers):
        room = None if batch is None else places.look(batch, tier, None, {}).counts.fits
        only = usable.get(tier, NO_DOMAIN)
        found.append(
            TierSight(
                tier,
                places.grouping(tier).sizes,
                room,
                pods_by_domain.inside(at),
                only,
                any(tier is one for one in may),
            )
        )
    return found


def _chosen(sight: TierSight) -> list[int]:
    """The domains with most of the job's pods, then those with most room, then by name."""
    numbers = np.flatnonzero(sight.sizes)
    holds = np.zeros(len(sight.sizes), dtype=np.int64)
    for number, count in sight.holds.items():
        if number != NO_DOMAIN:
            holds[number] = count
    room = holds if sight.room is None else sight.room
    order = np.lexsort((numbers, -room[numbers], -holds[numbers]))
    found: list[int] = numbers[order[:LISTED_MAX]].tolist()
    return found


Parent = tuple[int, int]
"""Position of the tier, and of the domain in it."""


def _contain(session: Session, sights: Sequence[TierSight], chosen: list[list[int]]) -> dict[Parent, Parent]:
    """The closest domain that contains each chosen one; it joins the chosen ones of its tier."""
    parents: dict[Parent, Parent] = {}
    for at, sight in enumerate(sights):
        for number in chosen[at]:
            row = int(session.places.grouping(sight.tier).rows(number)[0])
            above = ((up, int(sights[up].tier.ids[row])) for up in range(at + 1, len(sights)))
            parent = next(((up, domain) for up, domain in above if domain != NO_DOMAIN), None)
            if parent is not None:
                parents[at, number] = parent
                if parent[1] not in chosen[parent[0]]:
                    chosen[parent[0]].append(parent[1])
    return parents


def _tree(
    sights: Sequence[TierSight], chosen: Sequence[Sequence[int]], parents: Mapping[Parent, Parent]
) -> list[DomainRoom]:
    """The chosen domains, each after the one that contains it, those of one parent in the order of choice."""
    inner: dict[Parent | None, list[Parent]] = {}
    for at in reversed(range(len(sights))):
        for number in chosen[at]:
            inner.setdefault(parents.get((at, number)), []).append((at, number))
    found: list[DomainRoom] = []
    left = [(0, one) for one in reversed(inner.get(None, ()))]
    while left:
        depth, (at, number) = left.pop()
        found.append(_room(sights[at], number, depth))
        left.extend((depth + 1, one) for one in reversed(inner.get((at, number), ())))
    return found


def _room(sight: TierSight, number: int, depth: int) -> DomainRoom:
    return DomainRoom(
        sight.tier.domains[number],
        sight.tier.level,
        depth,
        int(sight.sizes[number]),
        sight.holds.get(number, 0),
        None if sight.room is None else int(sight.room[number]),
        sight.only is None or sight.only == number,
    )


def _counts(sight: TierSight, listed: int, wanted: int) -> TierCounts:
    there = sight.sizes > 0
    enough = 0 if sight.room is None else int((there & (sight.room >= wanted)).sum())
    return TierCounts(sight.tier.level, sight.tier.name, sight.allowed, int(there.sum()), enough, listed)

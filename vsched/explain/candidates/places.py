"""Levers of a job that asks for closeness: wider tiers, and jobs whose end makes room in one domain.

Room in domains is counted by amounts alone; simulations show what really helps. A search looks at a few domains: those
with most room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank
from vsched.explain.edits.jobs import SetHighestTier
from vsched.explain.edits.others import EndJobs
from vsched.framework.places.domains import Grouping, grouping, tier_of_label
from vsched.framework.points.places import TierSource
from vsched.kernels.topology.tiers import tiers_of
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NO_DOMAIN, Ints, Mask
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import Tier, Tiers

DOMAINS_MAX = 4
"""A search looks for jobs in at most this many domains."""
JOBS_MAX, ENDED_MAX = 32, 4
"""How many jobs of a domain are looked at, and the most that one lever ends."""
MANY_PODS = 256
"""Jobs with as many pods are the largest change of their kind."""


class DomainHere(NamedTuple):
    """A domain where the job may be."""

    tier: Tier
    number: int
    rows: Ints
    room: int
    """How many of the pods it lacks fit in it by amounts."""


def tiers_known(wants: MissingMinimum) -> Tiers:
    """The tiers of the cluster under the policy."""
    snapshot = wants.situation.snapshot
    labels = [tier for one in wants.plugins if isinstance(one, TierSource) for tier in one.label_tiers()]
    return tiers_of(snapshot.topology, labels, snapshot.nodes.statics)


def place_levers(wants: MissingMinimum, room: Ints) -> Iterator[Lever]:
    """All levers of places; ``room`` is int64[nodes]: how many of the pods fit on each node that they can use."""
    topology = wants.job.spec.topology
    if topology is None or not topology.hard:
        return
    yield from _wider(wants, topology)
    if not wants.waiting:
        return
    here = domains_here(wants, room)
    holders = _holders(wants, here)
    for domain in here:
        jobs = _to_end(wants, domain, room, holders)
        if jobs:
            pods = sum(len(job.tasks) for job in jobs)
            edit = EndJobs(tuple(sorted(job.key for job in jobs)))
            yield Lever(Rank.ORDER, partial(_ending, edit), whole=max(1, MANY_PODS // max(1, pods)))


def domains_here(wants: MissingMinimum, room: Ints) -> list[DomainHere]:
    """The domains where the job may be that have most room, the closest of equal ones first.

    They contain the nodes of all pods that the job has already.
    """
    topology, statics = wants.job.spec.topology, wants.situation.snapshot.nodes.statics
    if topology is None or not topology.hard:
        return []
    if topology.key:
        tiers: Sequence[Tier] = (tier_of_label(statics, topology.key),)
    else:
        known = tiers_known(wants)
        limit = _limit(topology, known)
        tiers = [tier for tier in known.tiers if limit is None or tier.level <= limit]
    held = [statics.row[task.node] for task in wants.job.tasks.values() if _holds(task) and task.node in statics.row]
    found = [one for tier in tiers for one in _of_tier(tier, grouping(statics, tier), held, room)]
    return sorted(found, key=lambda one: (-min(one.room, wants.missing), one.tier.level, one.number))[:DOMAINS_MAX]


def _of_tier(tier: Tier, group: Grouping, held: Sequence[int], room: Ints) -> list[DomainHere]:
    sums = group.sums(room)
    numbers = np.flatnonzero(group.sizes)
    if held:
        inside = set(tier.ids[list(held)].tolist())
        numbers = np.array([] if len(inside) > 1 else sorted(inside - {NO_DOMAIN}), dtype=np.intp)
    best = numbers[np.lexsort((numbers, -sums[numbers]))][:DOMAINS_MAX]
    return [DomainHere(tier, number, group.rows(number), int(sums[number])) for number in best.tolist()]


def near_rows(wants: MissingMinimum, room: Ints) -> Mask | None:
    """bool[nodes]: the domain where more nodes help most; None where the job may be anywhere."""
    here = domains_here(wants, room)
    if not here:
        return None
    found: Mask = np.zeros(len(room), dtype=np.bool_)
    found[here[0].rows] = True
    return found


# -- wider tiers ------------------------------------------------------------------------------------------------------


def _limit(topology: NetworkTopology, tiers: Tiers) -> int | None:
    """The highest level that is allowed; None for no limit, and 0 where no tier has the name."""
    if topology.tier_name:
        return tiers.levels.get(topology.tier_name, 0)
    return topology.highest_tier


def levels_above(wants: MissingMinimum, topology: NetworkTopology) -> tuple[Sequence[int], int]:
    """The tiers above those that a hard constraint allows, closest first, and how many tiers there are in all."""
    tiers = tiers_known(wants)
    limit = None if topology.key or tiers.is_flat else _limit(topology, tiers)
    levels = [] if limit is None else [tier.level for tier in tiers.tiers if tier.level > limit]
    return levels, len(tiers.tiers)


def _wider(wants: MissingMinimum, topology: NetworkTopology) -> Iterator[Lever]:
    levels, tiers = levels_above(wants, topology)
    if levels:
        edit = partial(_raised, wants.job.key, levels)
        yield Lever(Rank.ELSEWHERE, edit, len(levels), whole=tiers)


def _raised(key: str, levels: Sequence[int], step: int) -> SetHighestTier:
    return SetHighestTier(key, levels[step - 1])


# -- jobs that leave --------------------------------------------------------------------------------------------------


Holders = dict[int, list[tuple[Job, Task]]]
"""By row of a node, the pods of other jobs on it."""


def _holds(task: Task) -> bool:
    return HOLDS[task.status].allocated and bool(task.node)


def _holders(wants: MissingMinimum, here: Sequence[DomainHere]) -> Holders:
    """The pods of other jobs on the nodes of these domains."""
    snapshot = wants.situation.snapshot
    rows = snapshot.nodes.statics.row
    within = np.zeros(len(rows), dtype=np.bool_)
    for domain in here:
        within[domain.rows] = True
    found: Holders = {}
    for jobs in snapshot.holders.values():
        for job in jobs.values():
            if job.key == wants.job.key:
                continue
            for task in job.tasks.values():
                row = rows.get(task.node) if _holds(task) else None
                if row is not None and within[row]:
                    found.setdefault(row, []).append((job, task))
    return found


def _to_end(wants: MissingMinimum, domain: DomainHere, room: Ints, holders: Holders) -> list[Job]:
    """Jobs whose end makes enough room in a domain, as few as are found: one, else several less important ones."""
    there: dict[str, Job] = {}
    for row in domain.rows.tolist():
        there.update((job.key, job) for job, _ in holders.get(row, ()))
    jobs = sorted(there.values(), key=lambda job: (job.priority, len(job.tasks), -job.spec.created, job.key))[:JOBS_MAX]
    short = wants.missing - domain.room
    if short <= 0:
        return []
    for job in jobs:
        if _gain(wants, domain, room, holders, {job.key}) >= short:
            return [job]
    ended: list[Job] = []
    for job in jobs:
        ended.append(job)
        if _gain(wants, domain, room, holders, {one.key for one in ended}) >= short:
            break
    else:
        return []
    for job in list(ended):
        others = {one.key for one in ended if one is not job}
        if _gain(wants, domain, room, holders, others) >= short:
            ended.remove(job)
    return ended if len(ended) <= ENDED_MAX else []


def _gain(wants: MissingMinimum, domain: DomainHere, room: Ints, holders: Holders, ended: set[str]) -> int:
    """How many more of the pods fit in a domain once these jobs have ended."""
    nodes, request = wants.situation.snapshot.nodes, wants.waiting[0].shape.request
    more = 0
    for row in domain.rows.tolist():
        gone = [dict(task.shape.request) for job, task in holders.get(row, ()) if job.key in ended]
        if gone:
            fits = min(
                (int(nodes.idle[column, row]) + sum(one.get(column, 0) for one in gone)) // amount
                for column, amount in request
            )
            more += max(0, fits - int(room[row]))
    return more


def _ending(edit: EndJobs, _: int) -> EndJobs:
    return edit

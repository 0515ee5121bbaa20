"""Turns: in which namespaces a daemon places nothing for now, because it is another shard's turn there. Pure.

What a namespace may hold is worked out for the whole cluster, and every daemon sees a little later what the others have
placed. Where jobs of several shards together want more than their namespaces deserve, each daemon alone would fill the
last room. So they place in turn there, by the clock, and the limit is passed from one to the next. What is deserved is
there for all of it, so namespaces that want no more than that wait for no turn. The namespaces of a bucket have its
limit together, and so one turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor
from typing import NamedTuple
from zlib import crc32

from vsched.mirror.sharding import Division
from vsched.model.amounts.resources import Vector, add
from vsched.model.arbitration.records import Ceiling
from vsched.model.snapshot import Snapshot

TURN_SECONDS = 2.0
PAUSE_SECONDS = 0.5
"""At the beginning of a turn nobody places: what the shard before has placed is seen by the end of it."""


class Group(NamedTuple):
    """Namespaces with a limit in common: those of a bucket that is in no other, or one alone."""

    bucket: str
    namespace: str


class Rest(NamedTuple):
    """Where this daemon places nothing for now."""

    namespaces: frozenset[str]
    seconds: float
    """After so long, look again; without a meaning where there is no such namespace."""


NONE: Mapping[int, int] = {}
NO_REST = Rest(frozenset(), 0.0)


def resting(snapshot: Snapshot, active: Iterable[str], division: Division, held: frozenset[int]) -> Rest:
    """The namespaces with jobs of our shards where it is the turn of another, by the clock of the snapshot.

    ``active`` are the keys of the jobs of all shards that wait. Daemons that see the same come to the same answer.
    """
    wanted: dict[str, Vector] = {}
    shards: dict[Group, set[int]] = {}
    for key in active:
        job = snapshot.jobs[key]
        namespace = job.spec.namespace
        ceiling = snapshot.ceilings.get(namespace)
        if ceiling is not None and job.pending:
            add(wanted.setdefault(namespace, {}), job.pending_request.items())
            shards.setdefault(group_of(namespace, ceiling), set()).add(division.shard_of_job(job, snapshot.queues))
    shared = {group: found for group, found in shards.items() if found & held and found - held}
    if not shared:
        return NO_REST
    members = _members(snapshot.ceilings, shared)
    slot = floor(snapshot.now / TURN_SECONDS)
    since = snapshot.now - slot * TURN_SECONDS
    rests: set[str] = set()
    for group, found in shared.items():
        if any(_wants_more(snapshot, namespace, wanted.get(namespace, NONE)) for namespace in members[group]):
            order = sorted(found)
            ours = order[(slot + crc32(f"{group.bucket}/{group.namespace}".encode())) % len(order)] in held
            if not ours or since < PAUSE_SECONDS:
                rests.update(members[group])
    return Rest(frozenset(rests), (0.0 if since < PAUSE_SECONDS else TURN_SECONDS) + PAUSE_SECONDS - since)


def group_of(namespace: str, ceiling: Ceiling) -> Group:
    """The group of a namespace: its pools are the cluster and the buckets it is in, the outermost last."""
    return Group(ceiling.pools[-1], "") if len(ceiling.pools) > 1 else Group("", namespace)


def _members(ceilings: Mapping[str, Ceiling], groups: Iterable[Group]) -> dict[Group, list[str]]:
    found: dict[Group, list[str]] = {group: [] for group in groups}
    for namespace, ceiling in ceilings.items():
        group = group_of(namespace, ceiling)
        if group in found:
            found[group].append(namespace)
    return found


def _wants_more(snapshot: Snapshot, namespace: str, wanted: Mapping[int, int]) -> bool:
    """Whether a namespace holds and wants more than it deserves, or has limits that requests say nothing of."""
    ceiling, kept = snapshot.ceilings[namespace], snapshot.held.get(namespace, NONE)
    if ceiling.limits and wanted:
        return True
    columns = {*kept, *wanted}
    return any(
        kept.get(column, 0) + wanted.get(column, 0) > ceiling.deserved.get(column, 0)
        for column in columns
        if column in ceiling.most
    )

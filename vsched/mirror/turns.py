"""Turns: where a daemon places nothing for now, because it is another shard's turn in a namespace or a queue. Pure.

What a namespace or a queue may hold is a limit of the whole cluster, and every daemon sees a little later what the
others have placed. Where jobs of several shards together want more than that, each daemon alone would fill the last
room. So they place in turn there, by the clock, and the limit is passed from one to the next. Where everybody can have
what is wanted, nobody waits for a turn. Limits that stand above several are had together, and so is the turn: the
namespaces of a bucket have one, and the queues of a tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import floor
from typing import NamedTuple
from zlib import crc32

from vsched.mirror.sharding import ShardDivision
from vsched.model.amounts.resources import Vector, add
from vsched.model.arbitration.records import Ceiling
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.queues.tree import above
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

    names: frozenset[str]
    seconds: float
    """After so long, look again; without a meaning where there is nothing to wait for."""


NONE: Mapping[int, int] = {}
NO_REST = Rest(frozenset(), 0.0)


class TurnClock:
    """Whose turn it is at a moment, for a daemon with some shards."""

    def __init__(self, now: float, held: frozenset[int]) -> None:
        self._held = held
        self._slot = floor(now / TURN_SECONDS)
        self._since = now - self._slot * TURN_SECONDS

    def shared(self, shards: Collection[int]) -> bool:
        """Whether some of these shards are ours, and some are not."""
        return not self._held.isdisjoint(shards) and not self._held.issuperset(shards)

    def rests(self, name: str, shards: Collection[int]) -> bool:
        """Whether we have to wait where these shards take turns."""
        order = sorted(shards)
        whose = order[(self._slot + crc32(name.encode())) % len(order)]
        return whose not in self._held or self._since < PAUSE_SECONDS

    def rest(self, names: Iterable[str]) -> Rest:
        """These names, and when to look again."""
        return Rest(
            frozenset(names), (0.0 if self._since < PAUSE_SECONDS else TURN_SECONDS) + PAUSE_SECONDS - self._since
        )


def resting_namespaces(
    snapshot: Snapshot, active: Iterable[str], division: ShardDivision, held: frozenset[int]
) -> Rest:
    """The namespaces with jobs of our shards where it is the turn of another, by the clock of the snapshot.

    ``active`` are the keys of the jobs of all shards that wait. Daemons that see the same come to the same answer.
    """
    wanted: dict[str, Vector] = {}
    shards: dict[Group, set[int]] = {}
    for key in active if snapshot.ceilings else ():
        job = snapshot.jobs[key]
        namespace = job.spec.namespace
        ceiling = snapshot.ceilings.get(namespace)
        if ceiling is not None and job.pending:
            add(wanted.setdefault(namespace, {}), job.pending_request.items())
            shards.setdefault(group_of(namespace, ceiling), set()).add(division.shard_of_job(job, snapshot.queues))
    clock = TurnClock(snapshot.now, held)
    members = _members(snapshot.ceilings, [group for group, found in shards.items() if clock.shared(found)])
    rests: set[str] = set()
    for group, namespaces in members.items():
        scarce = any(_wants_more(snapshot, namespace, wanted.get(namespace, NONE)) for namespace in namespaces)
        if scarce and clock.rests(f"{group.bucket}/{group.namespace}", shards[group]):
            rests.update(namespaces)
    return clock.rest(rests) if rests else NO_REST


def resting_queues(snapshot: Snapshot, active: Iterable[str], division: ShardDivision, held: frozenset[int]) -> Rest:
    """The same of queues with a capability, or below one, where pools of nodes say which shard a job belongs to."""
    if division.by == "queue":
        return NO_REST  # a tree of queues is in one shard
    queues, tops = snapshot.queues, dict[str, str]()
    shards: dict[str, set[int]] = {}
    for key in active:
        job = snapshot.jobs[key]
        if job.pending:
            shards.setdefault(_top(job.spec.queue, queues, tops), set()).add(division.shard_of_job(job, queues))
    clock = TurnClock(snapshot.now, held)
    shared = {top for top, found in shards.items() if clock.shared(found)}
    if not shared:
        return NO_REST
    asked = _asked_below(snapshot)
    scarce = {
        _top(name, queues, tops)
        for name, queue in queues.items()
        if any(asked.get(name, NONE).get(column, 0) > value for column, value in queue.capability)
    }
    rests = {top for top in scarce & shared if clock.rests(top, shards[top])}
    return clock.rest(name for name in queues if _top(name, queues, tops) in rests) if rests else NO_REST


def _top(name: str, queues: Mapping[str, Queue], known: dict[str, str]) -> str:
    """The top of a queue's tree, below the root."""
    found = known.get(name)
    if found is None:
        queue = queues.get(name)
        tree = [] if queue is None else [one.name for one in (queue, *above(queue, queues.get)) if one.name != ROOT]
        found = known[name] = tree[-1] if tree else name
    return found


def _asked_below(snapshot: Snapshot) -> dict[str, Vector]:
    """What is held and waited for in each queue and those below it."""
    found: dict[str, Vector] = {}
    for name, usage in snapshot.books.items():
        queue = snapshot.queues.get(name)
        for one in () if queue is None else (queue, *above(queue, snapshot.queues.get)):
            sums = found.setdefault(one.name, {})
            add(sums, usage.allocated.items())
            add(sums, usage.pending.items())
    return found


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

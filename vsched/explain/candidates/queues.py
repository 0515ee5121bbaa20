"""Levers of a job's queue, of its ancestors, and of queues that hold what it deserves."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice

import numpy as np

from vsched.explain.candidates.device_quotas import device_quota_levers
from vsched.explain.candidates.fits import precious_nodes
from vsched.explain.candidates.levers import Lever, LeverLevel, MissingMinimum, Rank, grain_of, lowering, raising
from vsched.explain.edits.jobs import SetJobQueue
from vsched.explain.edits.queues import (
    AddNodeGroup,
    CreateQueue,
    LowerGuarantee,
    OpenQueue,
    SetGroupLimit,
    SetJobLimit,
    SetQueueAmount,
    SetQueueWeight,
    SetReclaimable,
    SetWallTime,
)
from vsched.explain.words import reasons as words
from vsched.framework.points.terms import QueueTerm
from vsched.model.amounts.resources import PODS, Vector, add
from vsched.model.jobs.job import Job
from vsched.model.names import is_subdomain
from vsched.model.nodes.groups import GROUP
from vsched.model.pods.status import HOLDS
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.queues.tree import above, below, lineage, tree
from vsched.model.snapshot import Snapshot

OTHERS_MAX, GROUPS_MAX, CHILDREN_MAX, CLOSE_MAX = 8, 16, 8, 2
NAMES_MAX = 20_000
"""At most this many queue names are compared with an unknown one."""
MORE_JOBS = 100
"""A lever allows at most so many more running jobs."""
WEIGHT_MAX = 65_535
WEIGHT_TIMES = 64
"""A lever raises a weight by at most this factor."""


def queue_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """All levers of queues that could help the job."""
    snapshot = wants.situation.snapshot
    queue = snapshot.queues.get(wants.job.spec.queue)
    if queue is None:
        yield from _other_names(wants)
        if is_subdomain(wants.job.spec.queue):
            yield Lever(Rank.LEFT_UNDONE, partial(_create, wants.job.spec.queue))
        return
    branch = (queue, *above(queue, snapshot.queues.get))
    shut = _shut(branch)
    if shut:
        yield Lever(Rank.LEFT_UNDONE, partial(_open, shut))
    children = sorted(name for name, one in snapshot.queues.items() if one.parent == queue.name and name != queue.name)
    for child in children[:CHILDREN_MAX]:
        yield Lever(Rank.ELSEWHERE, partial(_move, wants.job.key, child))
    for one in branch:
        if one.name != ROOT or one.capability:
            yield from _amounts(wants, one)
        yield from device_quota_levers(wants, one)
    if wants.goes_by(QueueTerm.WEIGHT) and queue.weight < WEIGHT_MAX:
        yield Lever(
            Rank.LIMITS,
            lambda step: SetQueueWeight(queue.name, queue.weight + step),
            min(WEIGHT_MAX - queue.weight, WEIGHT_TIMES * max(1, queue.weight)),
            whole=max(1, queue.weight),
        )
    if wants.goes_by(QueueTerm.RUNNING_JOBS):
        for one in (queue, *above(queue, snapshot.queues.get, rooted=True)):
            yield from _job_limits(one)
    if wants.goes_by(QueueTerm.WALL_TIME):
        yield from _wall_time(wants, (queue, *above(queue, snapshot.queues.get, rooted=True)))
    yield from _lenders(wants, queue)
    yield from _guarantees(wants, {one.name for one in branch})
    if wants.goes_by(QueueTerm.NODE_GROUPS):
        yield from _groups(wants, queue)


def _other_names(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers that move the job to an open queue with a similar name, as the missing name may be a typing error."""
    queues = wants.situation.snapshot.queues
    names = islice(queues, NAMES_MAX)
    for name in get_close_matches(wants.job.spec.queue, names, CLOSE_MAX):
        queue = queues[name]
        if name != ROOT and not _shut((queue, *above(queue, queues.get))):
            # The smaller share puts this before the creation of a queue.
            yield Lever(Rank.LEFT_UNDONE, partial(_move, wants.job.key, name), whole=2)


def _job_limits(queue: Queue) -> Iterator[Lever]:
    """Levers that raise the limits of running jobs that a queue states."""
    limits = queue.limits
    for most, per_user in ((limits.running_jobs, False), (limits.running_jobs_per_user, True)):
        if most is not None:
            edit = partial(_allow_jobs, queue.name, most, per_user)
            yield Lever(Rank.LIMITS, edit, MORE_JOBS, whole=max(1, most), kind="running jobs")


def _wall_time(wants: MissingMinimum, branch: Sequence[Queue]) -> Iterator[Lever]:
    """A lever that gives the queue whose wall time counts for the job the one that the job asks for."""
    asked = wants.job.spec.wall_time
    one = next((one for one in branch if one.limits.wall_time is not None), None)
    if asked and one is not None and asked > (one.limits.wall_time or 0):
        edit = SetWallTime(one.name, asked)
        yield Lever(Rank.LIMITS, lambda _: edit)


def _allow_jobs(name: str, most: int, per_user: bool, step: int) -> SetJobLimit:
    return SetJobLimit(name, most + step, per_user)


def _lenders(wants: MissingMinimum, queue: Queue) -> Iterator[Lever]:
    """Levers that make queues reclaimable; queues that hold the most of what the job asks for go first."""
    snapshot = wants.situation.snapshot

    def held(name: str) -> int:
        books = snapshot.books.get(name)
        return 0 if books is None else max((books.allocated.get(column, 0) for column in wants.columns), default=0)

    found = [
        name
        for name in sorted(snapshot.holders)
        if name != queue.name and name in snapshot.queues and not snapshot.queues[name].reclaimable
    ]
    for name in sorted(found, key=lambda name: (-held(name), name))[:OTHERS_MAX]:
        yield Lever(Rank.LIMITS, partial(_lend, name), kind="lenders")


def _guarantees(wants: MissingMinimum, own: Container[str]) -> Iterator[Lever]:
    """Levers that lower the guarantees of other queues; the queues with the largest unused part go first."""
    snapshot = wants.situation.snapshot
    if not wants.goes_by(QueueTerm.GUARANTEE):
        return
    found = []
    for name, queue in snapshot.queues.items():
        books = snapshot.books.get(name)
        for column, amount in queue.guarantee:
            if name not in own and amount and column in wants.columns and wants.request(column):
                held = 0 if books is None else books.allocated.get(column, 0)
                found.append((held - amount, name, column, amount))
    for _, name, column, amount in sorted(found)[:OTHERS_MAX]:
        edit = partial(LowerGuarantee, name, wants.name(column))
        yield lowering(wants, column, amount, edit, words.GUARANTEES_OF_OTHERS)


def _create(name: str, _: int) -> CreateQueue:
    return CreateQueue(name)


def _open(names: Sequence[str], _: int) -> tuple[OpenQueue, ...]:
    return tuple(OpenQueue(name) for name in names)


def _move(key: str, queue: str, _: int) -> SetJobQueue:
    return SetJobQueue(key, queue)


def _lend(name: str, _: int) -> SetReclaimable:
    return SetReclaimable(name)


def _shut(lineage: Sequence[Queue]) -> tuple[str, ...]:
    """The closed queues to open among a queue and its ancestors, the topmost first; the others open with these."""
    shut = [queue for queue in reversed(lineage) if not queue.open]
    return tuple(queue.name for at, queue in enumerate(shut) if not at or not queue.closed_by_parent)


# -- amounts ----------------------------------------------------------------------------------------------------------


def _amounts(wants: MissingMinimum, queue: Queue) -> Iterator[Lever]:
    """Levers of the queue's capability, deserved amount and guarantee, for resources that the job asks for."""
    levels = _Levels(wants.situation.snapshot, queue.name)
    may_deserve, guarantees = wants.goes_by(QueueTerm.DESERVED), wants.goes_by(QueueTerm.GUARANTEE)
    capability, deserved, guarantee = dict(queue.capability), dict(queue.deserved), dict(queue.guarantee)
    for column in (*wants.columns, PODS):
        if not wants.request(column) or (column == PODS and column not in capability):
            continue
        name = wants.name(column)
        if column in capability:
            level = levels.of(column, capability[column], wants)
            yield raising(wants, column, level, partial(SetQueueAmount, queue.name, "capability", name), "capability")
        if may_deserve and column != PODS:
            level = levels.of(column, deserved.get(column, 0), wants)
            yield raising(wants, column, level, partial(SetQueueAmount, queue.name, "deserved", name), "deserved")
        if guarantees and column != PODS:
            has = guarantee.get(column, 0)
            free = _unguaranteed(wants.situation.snapshot, column) // grain_of(column, name)
            edit = partial(SetQueueAmount, queue.name, "guarantee", name)
            lever = raising(wants, column, levels.of(column, has, wants), edit, "guarantee")
            if free > 0:
                yield lever._replace(most=min(lever.most, free), first=min(lever.first, free))


def _unguaranteed(snapshot: Snapshot, column: int) -> int:
    """What the cluster has beyond all guarantees; of a queue and the sum of its children, the larger counts."""
    parents = tree(snapshot.queues)
    inside: dict[str, int] = {}
    for name in sorted(parents, key=lambda name: -len(list(lineage(name, parents)))):
        own = max(dict(snapshot.queues[name].guarantee).get(column, 0), inside.get(name, 0))
        inside[parents[name]] = inside.get(parents[name], 0) + own
    return snapshot.total[column] - inside.get("", 0)


class _Levels:
    """What a queue and its descendants hold, and what their waiting jobs ask for."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._held: Vector = {}
        self._wanted: Vector = {}
        for one in below(name, snapshot.queues):
            books = snapshot.books.get(one)
            if books is not None:
                add(self._held, books.allocated.items())
                add(self._wanted, books.inqueue.items())
                add(self._wanted, books.pending.items())

    def of(self, column: int, has: int, wants: MissingMinimum) -> LeverLevel:
        """The level of an amount that is stated as ``has``."""
        return LeverLevel(has, self._held.get(column, 0), self._wanted.get(column, 0) + wants.needed(column))


# -- node groups ------------------------------------------------------------------------------------------------------


def _groups(wants: MissingMinimum, queue: Queue) -> Iterator[Lever]:
    """Levers that add a node group to the queue, or raise its limits on node groups."""
    snapshot = wants.situation.snapshot
    allowed = () if queue.affinity is None else (*queue.affinity.required, *queue.affinity.preferred)
    statics = snapshot.nodes.statics
    rows = np.flatnonzero(precious_nodes(wants)).tolist()
    precious = {statics.attributes[row].labels.get(GROUP) for row in rows}
    for group in sorted(snapshot.nodes.statics.label(GROUP).values)[:GROUPS_MAX]:
        if group not in allowed:
            rank = Rank.PRECIOUS if group in precious else Rank.LIMITS
            yield Lever(rank, partial(_grouped, queue.name, group), kind="groups")
    for group, limit in queue.group_limits or ():
        held = _held_on(snapshot, queue.name, group)
        for column, amount in limit:
            if column in wants.columns and wants.request(column):
                level = LeverLevel(amount, held.get(column, 0), 2 * wants.needed(column))
                edit = partial(SetGroupLimit, queue.name, group, wants.name(column))
                yield raising(wants, column, level, edit, words.LIMITS_ON_GROUPS)


def _grouped(queue: str, group: str, _: int) -> AddNodeGroup:
    return AddNodeGroup(queue, group)


def _held_on(snapshot: Snapshot, queue: str, group: str) -> Vector:
    held: Vector = {}
    for job in snapshot.holders.get(queue, {}).values():
        add(held, _on_group(snapshot, job, group).items())
    return held


def _on_group(snapshot: Snapshot, job: Job, group: str) -> Vector:
    held: Vector = {}
    statics = snapshot.nodes.statics
    for task in job.tasks.values():
        row = statics.row.get(task.node)
        if row is not None and HOLDS[task.status].allocated and statics.attributes[row].labels.get(GROUP) == group:
            add(held, task.shape.request)
    return held

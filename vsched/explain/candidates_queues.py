"""What could be changed of a job's queue, of those above it, and of those that hold what it deserves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

from vsched.explain.edits import (
    AddNodeGroup,
    CreateQueue,
    OpenQueue,
    SetGroupLimit,
    SetJobQueue,
    SetQueueAmount,
    SetQueueWeight,
    SetReclaimable,
)
from vsched.explain.levers import Level, Lever, Rank, Wants, raising
from vsched.model.job import Job
from vsched.model.queue import ROOT, Queue
from vsched.model.resources import Vector, add
from vsched.model.snapshot import Snapshot
from vsched.model.status import HOLDS
from vsched.plugins.nodegroup import GROUP

OTHERS_MAX, GROUPS_MAX, CHILDREN_MAX = 8, 16, 8
WEIGHT_TIMES = 64
"""How many times its weight a queue may be asked to have."""


def queue_levers(wants: Wants) -> Iterator[Lever]:
    """Everything of queues that could matter to the job."""
    snapshot = wants.situation.snapshot
    queue = snapshot.queues.get(wants.job.spec.queue)
    if queue is None:
        yield Lever(Rank.LEFT_UNDONE, partial(_create, wants.job.spec.queue))
        return
    if not queue.open:
        yield Lever(Rank.LEFT_UNDONE, partial(_open, queue.name))
    children = sorted(name for name, one in snapshot.queues.items() if one.parent == queue.name and name != queue.name)
    for child in children[:CHILDREN_MAX]:
        yield Lever(Rank.ELSEWHERE, partial(_move, wants.job.key, child))
    above = _above(snapshot, queue)
    for one in (queue, *above):
        yield from _amounts(wants, one)
    if wants.situation.policy.plugin("proportion") is not None:
        yield Lever(
            Rank.LIMITS,
            lambda step: SetQueueWeight(queue.name, queue.weight + step),
            WEIGHT_TIMES * max(1, queue.weight),
            whole=max(1, queue.weight),
        )
    lenders = (
        name for name in sorted(snapshot.holders) if name in snapshot.queues and not snapshot.queues[name].reclaimable
    )
    for name in islice((name for name in lenders if name != queue.name), OTHERS_MAX):
        yield Lever(Rank.LIMITS, partial(_lend, name))
    if wants.situation.policy.plugin("nodegroup") is not None:
        yield from _groups(wants, queue)


def _create(name: str, _: int) -> CreateQueue:
    return CreateQueue(name)


def _open(name: str, _: int) -> OpenQueue:
    return OpenQueue(name)


def _move(key: str, queue: str, _: int) -> SetJobQueue:
    return SetJobQueue(key, queue)


def _lend(name: str, _: int) -> SetReclaimable:
    return SetReclaimable(name)


def _above(snapshot: Snapshot, queue: Queue) -> list[Queue]:
    """The queues above one, nearest first."""
    found: dict[str, Queue] = {}
    at = queue.parent
    while at and at in snapshot.queues and at not in found and at != queue.name:
        found[at] = snapshot.queues[at]
        at = snapshot.queues[at].parent
    return [one for one in found.values() if one.name != ROOT or one.capability]


# -- amounts ----------------------------------------------------------------------------------------------------------


def _amounts(wants: Wants, queue: Queue) -> Iterator[Lever]:
    """What the queue states of the resources that the job asks for."""
    levels = _Levels(wants.situation.snapshot, queue.name)
    may_deserve = wants.situation.policy.plugin("capacity") is not None
    capability, deserved = dict(queue.capability), dict(queue.deserved)
    for column in wants.columns:
        if not wants.request(column):
            continue
        name = wants.name(column)
        if column in capability:
            level = levels.of(column, capability[column], wants)
            yield raising(wants, column, level, partial(SetQueueAmount, queue.name, "capability", name))
        if may_deserve:
            level = levels.of(column, deserved.get(column, 0), wants)
            yield raising(wants, column, level, partial(SetQueueAmount, queue.name, "deserved", name))


class _Levels:
    """What a queue and all below it hold, and want more."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._held: Vector = {}
        self._wanted: Vector = {}
        for below in _below(snapshot.queues, name):
            books = snapshot.books.get(below)
            if books is not None:
                add(self._held, books.allocated.items())
                add(self._wanted, books.inqueue.items())
                add(self._wanted, books.pending.items())

    def of(self, column: int, has: int, wants: Wants) -> Level:
        """Where an amount stands that is stated as ``has``."""
        return Level(has, self._held.get(column, 0), self._wanted.get(column, 0) + wants.needed(column))


def _below(queues: Mapping[str, Queue], name: str) -> list[str]:
    """A queue and all below it, each once."""
    found = {name: None}
    children: dict[str, list[str]] = {}
    for other in queues.values():
        children.setdefault(other.parent or ROOT, []).append(other.name)
    waiting = [name]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found[child] = None
                waiting.append(child)
    return list(found)


# -- groups of nodes --------------------------------------------------------------------------------------------------


def _groups(wants: Wants, queue: Queue) -> Iterator[Lever]:
    snapshot = wants.situation.snapshot
    allowed = () if queue.affinity is None else (*queue.affinity.required, *queue.affinity.preferred)
    for group in sorted(snapshot.nodes.statics.label(GROUP).values)[:GROUPS_MAX]:
        if group not in allowed:
            yield Lever(Rank.LIMITS, partial(_grouped, queue.name, group))
    for group, limit in queue.group_limits or ():
        held = _held_on(snapshot, queue.name, group)
        for column, amount in limit:
            if column in wants.columns and wants.request(column):
                level = Level(amount, held.get(column, 0), 2 * wants.needed(column))
                yield raising(wants, column, level, partial(SetGroupLimit, queue.name, group, wants.name(column)))


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

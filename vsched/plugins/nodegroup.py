"""nodegroup: limits queues to the node groups that their affinity names.

A node's group is its label ``volcano.sh/nodegroup-name``. A queue may use the groups that it requires or prefers, minus
those of its required anti-affinity. It may also use groups of its preferred anti-affinity; these score lowest. So a
queue with required anti-affinity alone gets no node, as in Volcano: it has to name the groups it may use. Limits by
group (``volcano.sh/nodegroup-resource-limits``) count what the queue itself holds, without the queues below it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import msgspec
import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import Check, QueuePlacement, QueuePreference
from vsched.framework.points.terms import QueueTerm
from vsched.model.amounts.resources import Amounts, Vector, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.nodes.groups import GROUP
from vsched.model.nodes.table import Floats, LabelColumn, Mask, NodeStatics, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.model.queues.queue import NodeGroups, Queue
from vsched.model.queues.tree import above
from vsched.plugins.words import nodes as words

REQUIRED_SCORE, PREFERRED_SCORE, AVOIDED_SCORE = 100.0, 50.0, -1.0

Held = dict[str, Vector]
"""Amounts by node group."""


class NodeGroupArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of nodegroup."""

    strict: bool = True
    """Nodes without a group are nobody's; else queues without an affinity may use them."""
    preferred_order: bool = msgspec.field(default=False, name="enablePreferredOrder")
    """Of the groups that a queue prefers, those named first score higher."""


class NodeGroup(Plugin[NodeGroupArgs], QueuePlacement, QueuePreference, PlacementListener):
    """Filters and scores nodes by group; with ``enableHierarchy`` queues inherit their nearest ancestor's affinity."""

    name = "nodegroup"
    terms = frozenset({QueueTerm.NODE_GROUPS, QueueTerm.GROUP_LIMITS})
    hierarchical = True
    args_type = NodeGroupArgs

    def open(self, context: SessionContext) -> None:
        """Find the queues with limits; the amounts they hold are summed up at the first use."""
        self._hierarchy = context.switches.hierarchy
        self._queues = context.snapshot.queues
        self._jobs = context.snapshot.jobs
        self._statics = context.nodes.statics
        self._limits = {name: queue.group_limits for name, queue in self._queues.items() if queue.group_limits}
        self._moved: dict[str, Held] = {name: {} for name in self._limits}
        """By queue with limits: the changes by placements and evictions of this cycle."""
        self._before: dict[str, Held] = {}
        """By queue with limits: the amounts held at the start of the cycle."""
        self._affinities: dict[str, NodeGroups | None] = {}

    def queue_class(self, queue: str) -> Hashable:
        """The queue's affinity, and the queue itself if it has limits."""
        return (self._affinity(queue), queue if self._queues[queue].group_limits != () else "")

    def queue_checks(self, queue: str, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Rules out nodes of groups that the queue may not use, and by the arguments also nodes without a group."""
        if self._queues[queue].group_limits is None:
            return (Check(words.LIMITS_UNREADABLE, np.zeros(len(nodes), dtype=np.bool_), code=Code.NODE_GROUP),)
        affinity, strict = self._affinity(queue), self.args.strict
        key = ("nodegroup", affinity, strict)
        return nodes.statics.remember(key, lambda: _checks(affinity, strict, nodes.statics))

    def is_limited(self, queue: str) -> bool:
        """Whether the queue has valid limits."""
        return queue in self._limits

    def queue_limit_checks(self, queue: str, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Rules out nodes of groups where one more request would exceed the queue's limit."""
        limits = self._limits.get(queue)
        if limits is None:
            return ()
        held, moved = self._held_before(queue), self._moved[queue]
        request = dict(shape.request)
        full = [group for group, limit in limits if _passes(limit, request, held.get(group, {}), moved.get(group, {}))]
        if not full:
            return ()
        column = nodes.statics.label(GROUP)
        passes: Mask = _spread(column, [group not in full for group in column.values], True).astype(np.bool_)
        return (Check(words.GROUP_AT_LIMIT, passes, resolvable=True, code=Code.NODE_GROUP),)

    def queue_score(self, queue: str, shape: Shape, nodes: NodeTable) -> Floats | None:
        """100 for required groups, 50 for preferred ones, the sum for both; -1 for preferred anti-affinity."""
        affinity, ordered = self._affinity(queue), self.args.preferred_order
        if affinity is None:
            return None
        key = ("nodegroup score", affinity, ordered)
        return nodes.statics.remember(key, lambda: _scores(affinity, ordered, nodes.statics))

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Add the task to what its queue holds on the node's group."""
        if job.queue in self._moved:
            add(self._moved_on(job.queue, row), task.shape.request)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Subtract the task from what its queue holds on the node's group."""
        if job.queue in self._moved:
            subtract(self._moved_on(job.queue, row), task.shape.request)

    def nodes_of(self, queue: Queue, nodes: NodeTable) -> Mask | None:
        """bool[nodes]: the nodes of groups that the affinity allows by name; None for a queue without affinity."""
        if queue.affinity is None:
            return None
        named = (*queue.affinity.required, *queue.affinity.preferred, *queue.affinity.anti_preferred)
        column = nodes.statics.label(GROUP)
        return _spread(column, [group in named for group in column.values], False).astype(np.bool_)

    def _affinity(self, queue: str) -> NodeGroups | None:
        """The queue's own affinity; in a tree of queues, else that of its nearest ancestor with one."""
        if queue not in self._affinities:
            self._affinities[queue] = self._nearest_affinity(queue) if self._hierarchy else self._queues[queue].affinity
        return self._affinities[queue]

    def _nearest_affinity(self, queue: str) -> NodeGroups | None:
        own = self._queues[queue]
        lineage = (own, *above(own, self._queues.get, rooted=True))
        return next((one.affinity for one in lineage if one.affinity is not None), None)

    def _moved_on(self, queue: str, row: int) -> Vector:
        return self._moved[queue].setdefault(_group_of(self._statics, row), {})

    def _held_before(self, queue: str) -> Held:
        found = self._before.get(queue)
        if found is None:
            found = self._before[queue] = self._sum(queue)
        return found

    def _sum(self, queue: str) -> Held:
        """What the queue's jobs held at the start of the cycle; sums of unchanged jobs come from a cache."""
        known: dict[str, tuple[Job, Held]] = self._statics.remember(("nodegroup held", queue), dict)
        current: dict[str, tuple[Job, Held]] = {}
        total: Held = {}
        for key, job in self._jobs.items():
            if job.spec.queue == queue and job.allocated:
                entry = known.get(key)
                if entry is None or entry[0] is not job:
                    entry = (job, _held_by(job, self._statics))
                current[key] = entry
                for group, amounts in entry[1].items():
                    add(total.setdefault(group, {}), amounts.items())
        known.clear()
        known.update(current)
        return total


def _group_of(statics: NodeStatics, row: int) -> str:
    return statics.attributes[row].labels.get(GROUP, "")


def _held_by(job: Job, statics: NodeStatics) -> Held:
    held: Held = {}
    for task in job.tasks.values():
        row = statics.row.get(task.node)
        if row is not None and HOLDS[task.status].allocated:
            add(held.setdefault(_group_of(statics, row), {}), task.shape.request)
    return held


def _passes(limit: Amounts, request: Mapping[int, int], held: Vector, moved: Vector) -> bool:
    """Whether one more request would exceed the limit in any of the resources that it names."""
    return any(held.get(column, 0) + moved.get(column, 0) + request.get(column, 0) > amount for column, amount in limit)


def _checks(affinity: NodeGroups | None, strict: bool, statics: NodeStatics) -> tuple[Check, ...]:
    column = statics.label(GROUP)
    nobodys = not strict and affinity is None
    allowed = [_admits(affinity, group) if group else nobodys for group in column.values]
    passes: Mask = _spread(column, allowed, nobodys).astype(np.bool_)
    passes.flags.writeable = False
    return () if passes.all() else (Check(words.OTHER_GROUP, passes, code=Code.NODE_GROUP),)


def _admits(affinity: NodeGroups | None, group: str) -> bool:
    if affinity is None:
        return False
    wanted = group in affinity.required or group in affinity.preferred
    return (wanted and group not in affinity.anti_required) or group in affinity.anti_preferred


def _scores(affinity: NodeGroups, ordered: bool, statics: NodeStatics) -> Floats:
    column = statics.label(GROUP)
    scores = _spread(column, [_score(affinity, ordered, group) for group in column.values], 0.0)
    scores.flags.writeable = False
    return scores


def _score(affinity: NodeGroups, ordered: bool, group: str) -> float:
    if group in affinity.anti_preferred:
        return AVOIDED_SCORE
    score = REQUIRED_SCORE if group in affinity.required else 0.0
    if group in affinity.preferred:
        count = len(affinity.preferred)
        score += PREFERRED_SCORE * (count - affinity.preferred.index(group)) / count if ordered else PREFERRED_SCORE
    return score


def _spread(column: LabelColumn, by_value: Sequence[float], otherwise: float) -> Floats:
    """float64[nodes]: the number of each node's group, ``otherwise`` for nodes without one."""
    return np.array([*by_value, otherwise], dtype=np.float64)[column.ids]

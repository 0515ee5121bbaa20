"""What one cycle may look at: a consistent view of the cluster, with the sums that would be costly to work out again.

A snapshot is valid until its mirror makes the next one: amounts are copied, records are shared, and the maps are
brought up to date in place. Nothing in a cycle writes to it; a cycle copies the node table before it places anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vsched.model.amounts.counted import Counted
from vsched.model.amounts.resources import ResourceAxis, Vector
from vsched.model.arbitration.records import Arbitration, Ceiling, Pool
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.jobs.durations import Learnt
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.selections import Selections
from vsched.model.queues.queue import Namespace, PriorityClass, Queue
from vsched.model.queues.quota import Quota


@dataclass(slots=True)
class QueueUsage:
    """Sums over the jobs of one queue (reference 4.5, 4.10), base units by column."""

    jobs: int = 0
    """How many jobs name the queue."""
    allocated: Vector = field(default_factory=dict)
    pending: Vector = field(default_factory=dict)
    elastic: Vector = field(default_factory=dict)
    inqueue: Vector = field(default_factory=dict)
    promised: Vector = field(default_factory=dict)

    def copy(self) -> QueueUsage:
        """A copy that may be changed."""
        return QueueUsage(
            self.jobs,
            self.allocated.copy(),
            self.pending.copy(),
            self.elastic.copy(),
            self.inqueue.copy(),
            self.promised.copy(),
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cluster as one cycle sees it."""

    now: float
    """Seconds since the epoch: the only clock of a cycle."""
    axis: ResourceAxis
    nodes: NodeTable
    jobs: Mapping[str, Job]
    """Every job by key, those without work included."""
    active: Sequence[str]
    """Keys of jobs a cycle may do something for: PodGroup not yet admitted, or tasks pending."""
    changed: Sequence[str]
    """Keys of jobs that changed since the last snapshot: their status may have to be written."""
    nominated: Sequence[str]
    """Keys of jobs with pending tasks that a node is kept for, sorted."""
    holders: Mapping[str, Mapping[str, Job]]
    """Jobs with tasks that are bound or run, by queue, then key."""
    queues: Mapping[str, Queue]
    books: Mapping[str, QueueUsage]
    """Sums by queue name, of queues that have jobs."""
    shares: Mapping[tuple[str, str], Vector]
    """What each namespace holds in each queue: (queue, namespace) to allocated amounts."""
    namespaces: Mapping[str, Namespace]
    selections: Mapping[str, Selections]
    """What Services and workload controllers select, by namespace; only namespaces where anything is selected."""
    placed: PlacedPods
    total: Sequence[int]
    """Allocatable of all nodes together, by column."""
    used: Sequence[int]
    """Used on all nodes together, by column."""
    previous: float = 0.0
    """``now`` of the previous snapshot, 0 if there was none; work done only once per period is due by it."""
    budgets: Mapping[str, Sequence[DisruptionBudget]] = field(default_factory=dict)
    """PodDisruptionBudgets that select pods, by namespace."""
    quotas: Mapping[str, Sequence[Quota]] = field(default_factory=dict)
    """ResourceQuotas without scopes, by namespace."""
    priority_range: tuple[int, int] = (0, 0)
    """The lowest and the highest priority that work here can have: what scores of queues are measured by (seed 004)."""
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    """What ``priority_range`` and the priorities of jobs rest on, by name; the same object while none changes."""
    admitted: Sequence[str] = ()
    """Keys of jobs that were admitted and do not hold all they were admitted for, sorted."""
    reserving: Sequence[str] = ()
    """Keys of jobs with pending tasks that their queue keeps room for, sorted."""
    arbitration: Arbitration | None = None
    """The input of arbitration between namespaces; None if there is no arbitration, or it is not due yet."""
    ceilings: Mapping[str, Ceiling] = field(default_factory=dict)
    """How much namespaces may hold, by the last division; those it does not name are not limited."""
    pools: Mapping[str, Pool] = field(default_factory=dict)
    """How much they may hold together, by the names in ``Ceiling.pools``; what is not named is not limited."""
    held: Mapping[str, Vector] = field(default_factory=dict)
    """What the pods of each namespace keep of nodes, for pods of every scheduler, without terminating pods; empty if
    there is no arbitration."""
    held_limits: Mapping[str, Counted] = field(default_factory=dict)
    """What the limits of the same pods add up to, by counted name; only namespaces with any."""
    advice: Mapping[str, Advice] = field(default_factory=dict)
    """What was found to help waiting jobs, by key; decides nothing, and is said with why they wait."""
    foreign: Mapping[str, str] = field(default_factory=dict)
    """What is to be said of pods without a node that name a job and are for other schedulers, by its key."""
    strays: Mapping[str, Job] = field(default_factory=dict)
    """Jobs of pods that name a PodGroup which does not exist, by key; their specs are empty, and nothing is done for
    them. They are in no other map."""
    learnt: Mapping[str, Learnt] = field(default_factory=dict)
    """How long finished pods ran, by the names of ``durations.names_of``; decides nothing."""
    ignored: tuple[str, ...] = ()
    """What people have ignored of what is not supported, sorted."""
    setbacks: Mapping[str, str] = field(default_factory=dict)
    """What the API server said to the last binding of pods that it did not take, by uid; decides nothing."""

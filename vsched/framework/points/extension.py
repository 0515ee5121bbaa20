"""The extension points: the classes a plugin inherits are the decisions it takes part in.

A plugin gets data in ``open`` and answers questions; it has no way to change the cluster, the session or another
plugin. A point that must be answered is abstract, so a plugin that forgets to cannot be made. Orders are sort keys
(smaller first), not comparisons. ``framework.combine.pluginset`` combines the answers of several plugins (reference
7.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import IntEnum
from typing import ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from vsched.framework.budgets import NO_BUDGETS, Budgets
from vsched.framework.callout import Callout
from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.levers import Levers
from vsched.framework.policy import Switches
from vsched.framework.refusal import Bound, Refusal
from vsched.model.amounts.resources import Amounts
from vsched.model.jobs.job import Condition, Job
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

SortKey = float | int | tuple[float | int, ...]
QueuePart = tuple[Hashable, SortKey]
"""A part of a queue's key, and what it is the standing of."""
JobState = JobView | Job
"""A job as it stands: the cycle's view where the cycle has touched the job, else the mirror's record."""


class NoArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a plugin or action that has none."""


ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)


class Vote(IntEnum):
    """An answer that others may overrule (reference 7.1)."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


class SessionContext(NamedTuple):
    """What a plugin may look at for the length of one cycle."""

    snapshot: Snapshot
    nodes: NodeTable
    """The cycle's own node table; changes as tasks are placed. Read only."""
    jobs: Mapping[str, JobView]
    """The cycle's view of every job that it may do something for; changes as tasks are placed. Read only."""
    usage: SessionUsage
    """What queues and namespaces hold; changes as tasks are placed. Read only."""
    standing: Callable[[str], JobState | None]
    """Any job by key as the cycle sees it now, those it has no work for included; None where there is no such job."""
    switches: Switches = Switches()
    """The plugin's own: its modes, and whether it takes part in what another of its decisions may rest on."""
    callout: Callout | None = None
    """The way out to services outside; None where the cycle is run without one."""
    budgets: Budgets = NO_BUDGETS
    """The disruption budgets, as evictions use them up. Read only."""


class Plugin(Levers, Generic[ArgsT]):
    """One plugin of one cycle; made anew for each, so nothing survives in it."""

    name: ClassVar[str]
    args_type: ClassVar[type[msgspec.Struct]] = NoArgs
    heeds: ClassVar[frozenset[str]] = frozenset()
    """Switches that it looks at itself, those of its points aside."""
    hierarchical: ClassVar[bool] = False
    """Whether ``enableHierarchy`` makes it do something else."""

    def __init__(self, args: ArgsT) -> None:
        self.args = args

    def open(self, context: SessionContext) -> None:
        """Take what is needed from the cycle's data."""


class Point(ABC):
    """Base of the extension points; ``point`` is the switch that turns a plugin's part in it off."""

    point: ClassVar[str]


class JobOrder(Point):
    """Which job of a namespace goes first."""

    point = "job_order"
    name: ClassVar[str]
    """The plugin's own."""
    goes_first: ClassVar[str] = ""
    """What is said of a job that goes before another by this: ``holds the smaller share``. Empty names the plugin."""

    @abstractmethod
    def job_key(self, job: JobView) -> SortKey:
        """Smaller goes first."""


class TaskOrder(Point):
    """Which task of a job goes first."""

    point = "task_order"

    @abstractmethod
    def task_key(self, task: Task) -> SortKey:
        """Smaller goes first."""


class QueueOrder(Point):
    """Which queue goes first."""

    point = "queue_order"

    @abstractmethod
    def queue_key(self, queue: Queue) -> SortKey:
        """Smaller goes first."""

    def queue_admission_key(self, queue: Queue) -> SortKey:
        """The same while jobs are admitted: what was admitted and is not held yet counts as held."""
        return self.queue_key(queue)

    def queues_move_together(self) -> bool:
        """Whether what one queue is given can change where another stands."""
        return False

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Sequence[QueuePart]:
        """The queue's key in parts, the first decides first; where queues move together, parts that they share.

        Parts of equal names, after equal names before them, are one part, and equal. What one queue is given changes
        its own parts only; ``queue_epoch`` says where it changed more.
        """
        return ((queue.name, self.queue_admission_key(queue) if admitting else self.queue_key(queue)),)

    def queue_epoch(self, *, admitting: bool = False) -> int:
        """Another number when the parts of any queue may have changed."""
        return 0


class NamespaceOrder(Point):
    """Which namespace of a queue goes first (seed 000)."""

    point = "namespace_order"
    name: ClassVar[str]
    """The plugin's own."""

    @abstractmethod
    def namespace_key(self, queue: str, namespace: str) -> SortKey:
        """Smaller goes first."""

    def namespace_admission_key(self, queue: str, namespace: str) -> SortKey:
        """The same while jobs are admitted: what was admitted and is not held yet counts as held."""
        return self.namespace_key(queue, namespace)


class JobValid(Point):
    """Whether a job can be worked on at all. Has no switch."""

    point = ""

    @abstractmethod
    def job_valid(self, job: JobView) -> Refusal | None:
        """None where nothing is wrong; the first refusal decides."""


class JobCondition(Point):
    """What the PodGroup's condition says when the cycle is over; the first answer decides. Has no switch."""

    point = ""

    @abstractmethod
    def job_condition(self, job: JobView) -> Condition | None:
        """None where there is nothing to say."""


class JobReady(Point):
    """Whether what a job holds may be bound; all must agree."""

    point = "job_ready"

    @abstractmethod
    def job_ready(self, job: JobView) -> bool:
        """True where the job's minimum is met."""

    def tasks_missing(self, job: JobView) -> int:
        """At least how many more tasks have to be placed before ``job_ready`` can be true; 0 where nothing is known."""
        return 0


class JobPipelined(Point):
    """Whether what a job holds and waits for may be kept; a vote."""

    point = "job_pipelined"

    @abstractmethod
    def job_pipelined(self, job: JobView) -> Vote:
        """Reject, abstain or permit."""


class JobStarving(Point):
    """Whether a job may take from others; all of the first tier that has an opinion must agree."""

    point = "job_starving"

    @abstractmethod
    def job_starving(self, job: JobView) -> bool:
        """True where the job has a claim to more."""


class JobEnqueueable(Point):
    """Whether a waiting job is admitted; a vote."""

    point = "job_enqueued"
    asks_outside: ClassVar[bool] = False
    """Whether the answer is somebody else's, who is asked once a job and no more."""

    @abstractmethod
    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permit, abstain, or a refusal that says why (counts as a reject)."""


class JobEnqueued(Point):
    """Is told of every job that was admitted."""

    point = "job_enqueued"

    @abstractmethod
    def job_enqueued(self, job: JobView) -> None:
        """Take note of the admission."""


class Overused(Point):
    """Whether a queue is to get nothing more; any one suffices."""

    point = "overused"

    @abstractmethod
    def overused(self, queue: Queue) -> bool:
        """True where the queue has had its share."""


class Allocatable(Point):
    """Whether a queue may take one more request; all must agree.

    Also asked with the sum of several requests; what is refused must stay refused when more is asked for.
    """

    point = "allocatable"

    @abstractmethod
    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """None where it may."""


class NamespaceLimit(Point):
    """Whether a namespace may take more pods of a shape, whatever its queue may; all must agree.

    As with ``Allocatable``, what is refused must stay refused when more is asked for.
    """

    point = "allocatable"

    @abstractmethod
    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """None where it may."""


class Reserving(Point):
    """Counts room that a queue keeps for pods to come as if it were held, where it says what may be allocated."""

    point = "allocatable"

    @abstractmethod
    def reserve(self, queue: Queue, amounts: Amounts, sign: int) -> None:
        """Keep this much more room (``sign=1``), or this much less (``sign=-1``)."""


class Preemptive(Point):
    """Whether a queue may take from others for a request; all must agree."""

    point = "preemptive"

    @abstractmethod
    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """True where it may."""


class QueueScore(Point):
    """How urgent a queue is, as a number to be weighed against other plugins' numbers (seed 004)."""

    point = "queue_score_order"
    name: ClassVar[str]
    """The plugin's own: actions give weights by it."""

    @abstractmethod
    def queue_score(self, queue: Queue) -> float:
        """Higher goes first; about 0 to 1 before the action's weight for this plugin."""

    def queue_admission_score(self, queue: Queue) -> float:
        """The same while jobs are admitted: what was admitted and is not held yet counts as held."""
        return self.queue_score(queue)

    def queue_scores_move_together(self) -> bool:
        """Whether what one queue is given can change the score of another."""
        return False


class PlacementListener(Point):
    """State that follows placements: told by the ledger forwards and in undo. Has no switch."""

    point = ""

    @abstractmethod
    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The task was placed on the row (allocated or pipelined)."""

    @abstractmethod
    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The placement was taken back, or the task is to leave."""


class CycleEnd(Point):
    """Is told that the actions have run. Has no switch."""

    point = ""

    @abstractmethod
    def end_cycle(self) -> None:
        """Nothing is asked after this but what reports need."""


class QueueDivision(NamedTuple):
    """How a plugin divides the cluster for one queue; for reports."""

    share: float
    """Dominant share of what the queue deserves; above 1 it has more."""
    deserved: Mapping[int, float]
    """Base units by column."""
    overused: bool
    capability: Amounts
    """What the queue may hold at most, as the plugin reads its spec."""
    problem: Refusal | None = None
    """Why the queue is left out, or what of its limits is not in force."""
    subtree: Mapping[int, int] = {}
    """What the queue and all below it hold; empty where the plugin keeps no tree of queues."""


class QueueDivider(Point):
    """Divides the cluster among queues and can say how; the first answer is reported. Has no switch."""

    point = ""

    @abstractmethod
    def division(self, queue: Queue) -> QueueDivision | None:
        """The division of one queue, None where the plugin keeps none for it."""

    def bound(self, queue: Queue, column: int) -> Bound | None:
        """What sets how much of a resource the queue may hold at most; None where the plugin keeps none for it."""

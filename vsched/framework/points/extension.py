"""The extension points. A plugin takes part in a decision by inheriting the class of its extension point.

A plugin gets its data in ``open``, and then answers calls. It must not change the cluster, the session or another
plugin. Methods that a plugin must provide are abstract. Orders are sort keys (smaller first), not comparisons.
``framework.combine.pluginset`` combines the answers of several plugins (reference 7.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import IntEnum
from typing import ClassVar, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np

from vsched.framework.budgets import NO_BUDGETS, Budgets
from vsched.framework.callout import Callout
from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.levers import Levers
from vsched.framework.policy import Switches
from vsched.framework.refusal import Bound, Refusal
from vsched.framework.subgroups import SubGroup
from vsched.model.amounts.resources import Amounts
from vsched.model.jobs.job import Condition, Job
from vsched.model.nodes.table import Floats, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

SortKey = float | int | tuple[float | int, ...]
QueuePart = tuple[Hashable, SortKey]
"""One part of a queue's sort key: the name of the part (a queue, or a queue above it) and its value."""
JobState = JobView | Job
"""The present state of a job: the session's view where there is one, else the mirror's record."""


class NoArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments type of a plugin or action without arguments."""


ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)


class Vote(IntEnum):
    """The answer of one plugin where plugins vote (reference 7.1)."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


class QueueDivision(NamedTuple):
    """A queue's share of the cluster as one plugin computes it, for reports."""

    share: float
    """Dominant share of what the queue deserves; above 1 where it holds more than that."""
    deserved: Mapping[int, float]
    """Base units by column."""
    overused: bool
    capability: Amounts
    """The most the queue may hold, as the plugin reads its spec."""
    problem: Refusal | None = None
    """Why the queue is left out, or which of its limits are not in force."""
    subtree: Mapping[int, int] = {}
    """What the queue and all queues below it hold; empty where the plugin knows no hierarchy of queues."""
    devices: Mapping[int, int] = {}
    """What the ResourceClaims of the queue's own pods hold of the devices that the queue has quotas for.

    The columns are those of ``capability``. The session's sums of requests do not include these amounts.
    """


def undivided(queue: Queue) -> QueueDivision | None:
    """The division where no plugin divides the cluster."""
    return None


def stated_weights(queues: Sequence[Queue]) -> Floats:
    """float64[queues]: the weights that queues state."""
    return np.array([queue.weight for queue in queues], dtype=np.float64)


class SessionContext(NamedTuple):
    """The data that a plugin may read during one session."""

    snapshot: Snapshot
    nodes: NodeTable
    """The session's own node table; it changes as tasks are placed. Read only."""
    jobs: Mapping[str, JobView]
    """The views of all jobs that the session may work on; they change as tasks are placed. Read only."""
    usage: SessionUsage
    """The amounts that queues and namespaces hold; they change as tasks are placed. Read only."""
    standing: Callable[[str], JobState | None]
    """Returns the present state of any job by key, also of jobs that are not active; None where there is none."""
    switches: Switches = Switches()
    """The plugin's own switches: its modes, and which of its extension points are on."""
    callout: Callout | None = None
    """Calls external services; None where the cycle runs without them."""
    budgets: Budgets = NO_BUDGETS
    """The disruption budgets; the session's evictions use them up. Read only."""
    division: Callable[[Queue], QueueDivision | None] = undivided
    """A queue's share of the cluster, by the first plugin that divides it; only once all plugins are open."""
    weights: Callable[[Sequence[Queue]], Floats] = stated_weights
    """float64[queues]: how much queues weigh in a division."""


class Plugin(Levers, Generic[ArgsT]):
    """One plugin in one session. Each session makes new plugin objects, so a plugin keeps no state between sessions."""

    name: ClassVar[str]
    args_type: ClassVar[type[msgspec.Struct]] = NoArgs
    heeds: ClassVar[frozenset[str]] = frozenset()
    """Switches that the plugin reads itself, besides those of its extension points."""
    hierarchical: ClassVar[bool] = False
    """Whether ``enableHierarchy`` changes what the plugin does."""

    def __init__(self, args: ArgsT) -> None:
        self.args = args

    def open(self, context: SessionContext) -> None:
        """Prepare for the session; called once, before any other method."""


class Point(ABC):
    """Base of the extension points; ``point`` names the switch of the policy that turns it on and off."""

    point: ClassVar[str]


class JobOrder(Point):
    """Which job of a namespace goes first."""

    point = "job_order"
    name: ClassVar[str]
    """The plugin's own."""
    goes_first: ClassVar[str] = ""
    """Words for messages on why a job goes first: ``holds the smaller share``. If empty, messages name the plugin."""

    @abstractmethod
    def job_key(self, job: JobView) -> SortKey:
        """Smaller goes first."""


class TaskOrder(Point):
    """Which task of a job goes first."""

    point = "task_order"

    @abstractmethod
    def task_key(self, task: Task) -> SortKey:
        """Smaller goes first."""


class SubGroupOrder(Point):
    """Which sub-group of a job goes first."""

    point = "sub_job_order"

    @abstractmethod
    def sub_group_key(self, group: SubGroup) -> SortKey:
        """Smaller goes first."""


class QueueOrder(Point):
    """Which queue goes first."""

    point = "queue_order"

    @abstractmethod
    def queue_key(self, queue: Queue) -> SortKey:
        """Smaller goes first."""

    def queue_admission_key(self, queue: Queue) -> SortKey:
        """The key while jobs are admitted: pledges (admitted, not held yet) count as held."""
        return self.queue_key(queue)

    def queues_move_together(self) -> bool:
        """Whether a placement in one queue can change the key of another queue."""
        return False

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Sequence[QueuePart]:
        """The queue's key as a list of parts, compared in order; queues whose keys change together share parts.

        Two queues share a part if its name and the names of all parts before it are equal; its value is equal then. A
        placement in a queue changes only that queue's parts. If it changes others, ``queue_epoch`` must change.
        """
        return ((queue.name, self.queue_admission_key(queue) if admitting else self.queue_key(queue)),)

    def queue_epoch(self, *, admitting: bool = False) -> int:
        """A number that changes when the parts of other queues may have changed."""
        return 0


class NamespaceOrder(Point):
    """Which namespace of a queue goes first (seed 000)."""

    point = "namespace_order"
    name: ClassVar[str]
    """The plugin's own."""
    goes_before: ClassVar[str] = ""
    """Words for messages on why one goes first: ``has used less of its share``. If empty, messages name the plugin."""

    @abstractmethod
    def namespace_key(self, queue: str, namespace: str) -> SortKey:
        """Smaller goes first."""

    def namespace_admission_key(self, queue: str, namespace: str) -> SortKey:
        """The key while jobs are admitted: pledges (admitted, not held yet) count as held."""
        return self.namespace_key(queue, namespace)


class UserOrder(Point):
    """Which user of a namespace goes first."""

    point = "namespace_order"
    name: ClassVar[str]
    """The plugin's own."""
    goes_before: ClassVar[str] = ""
    """Words for messages on why one goes first: ``has used less of its share``. If empty, messages name the plugin."""

    @abstractmethod
    def user_key(self, queue: str, namespace: str, user: str) -> SortKey:
        """Smaller goes first. An empty ``namespace`` stands for all: no plugin orders namespaces then."""


class DivisionWeight(Point):
    """How much queues weigh where the cluster is divided among them. Has no switch."""

    point = ""

    @abstractmethod
    def division_weights(self, snapshot: Snapshot, queues: Sequence[Queue], weights: Floats) -> Floats:
        """float64[queues]: the weights to divide by, from those so far. May be called before ``open``."""


class PastUse(NamedTuple):
    """What a queue has used over time, for reports."""

    times: float
    """How many times what its weight stands for."""
    seconds: float
    """Over how long."""


class UsageMemory(Point):
    """Remembers what queues have used; the first plugin's answer is reported. Has no switch."""

    point = ""

    @abstractmethod
    def past_use(self, queue: Queue) -> PastUse | None:
        """None where nothing is known."""


class JobValid(Point):
    """Whether a job is valid, so that actions may work on it. Has no switch."""

    point = ""

    @abstractmethod
    def job_valid(self, job: JobView) -> Refusal | None:
        """None where the job is valid; the first refusal decides."""


class JobCondition(Point):
    """The condition of the PodGroup at the end of the cycle; the first answer decides. Has no switch."""

    point = ""

    @abstractmethod
    def job_condition(self, job: JobView) -> Condition | None:
        """The condition to write; None where the plugin has none."""


class JobReady(Point):
    """Whether the placements of a job may be bound; all plugins must agree."""

    point = "job_ready"

    @abstractmethod
    def job_ready(self, job: JobView) -> bool:
        """True where the job's minimum is met."""

    def tasks_missing(self, job: JobView) -> int:
        """A lower bound on the tasks to place before ``job_ready`` can be true; 0 where none is known."""
        return 0


class JobPipelined(Point):
    """Whether the placements of a job, pipelined ones included, may be kept for the session; plugins vote."""

    point = "job_pipelined"

    @abstractmethod
    def job_pipelined(self, job: JobView) -> Vote:
        """Reject, abstain or permit."""


class JobStarving(Point):
    """Whether a job may evict others to get room; all plugins of the first tier with this point must agree."""

    point = "job_starving"

    @abstractmethod
    def job_starving(self, job: JobView) -> bool:
        """True where the job is entitled to more."""


class JobEnqueueable(Point):
    """Whether a waiting job is admitted; plugins vote."""

    point = "job_enqueued"
    asks_outside: ClassVar[bool] = False
    """Whether the plugin calls an external service for the answer; it must be called only once per job then."""

    @abstractmethod
    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permit, abstain, or a refusal that says why (counts as a reject)."""


class JobEnqueued(Point):
    """Called for every job that was admitted."""

    point = "job_enqueued"

    @abstractmethod
    def job_enqueued(self, job: JobView) -> None:
        """Record the admission."""


class Overused(Point):
    """Whether a queue must get nothing more; one plugin that says so is enough."""

    point = "overused"

    @abstractmethod
    def overused(self, queue: Queue) -> bool:
        """True where the queue has its share."""


class Allocatable(Point):
    """Whether a queue may hold one more request; all plugins must agree.

    The request may also be the sum of several requests. If a request is refused, every larger one must be refused too.
    """

    point = "allocatable"

    @abstractmethod
    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """None where it may."""


class ClaimLimit(Point):
    """Whether a queue may hold what the ResourceClaims of some tasks ask for; all plugins must agree.

    As with ``Allocatable``: if some tasks are refused, the same tasks and further ones must be refused too.
    """

    point = "allocatable"

    @abstractmethod
    def claim_limit(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """None where it may; a claim that the queue's pods use already takes nothing more."""


class NamespaceLimit(Point):
    """Whether a namespace may hold ``count`` more pods of a shape, in any queue; all plugins must agree.

    As with ``Allocatable``: if a request is refused, every larger one must be refused too.
    """

    point = "allocatable"

    @abstractmethod
    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """None where it may."""


class Reserving(Point):
    """Counts room reserved in a queue as held, where the plugin limits what the queue may hold."""

    point = "allocatable"

    @abstractmethod
    def reserve(self, queue: Queue, amounts: Amounts, sign: int) -> None:
        """Reserve this much more room (``sign=1``) or less (``sign=-1``)."""

    def reserve_claims(self, queue: Queue, tasks: Sequence[Task], sign: int) -> None:
        """Reserve what the ResourceClaims of these tasks ask for (``sign=1``), or free it (``sign=-1``)."""


class Preemptive(Point):
    """Whether a queue may reclaim room from other queues for a request; all plugins must agree."""

    point = "preemptive"

    @abstractmethod
    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """True where it may."""


class QueueScore(Point):
    """How urgent a queue is, as a number; actions add up the weighted numbers of all plugins (seed 004)."""

    point = "queue_score_order"
    name: ClassVar[str]
    """The plugin's own name; weights are given by it."""

    @abstractmethod
    def queue_score(self, queue: Queue) -> float:
        """Higher goes first; about 0 to 1 before the action's weight for this plugin."""

    def queue_admission_score(self, queue: Queue) -> float:
        """The score while jobs are admitted: pledges (admitted, not held yet) count as held."""
        return self.queue_score(queue)

    def queue_scores_move_together(self) -> bool:
        """Whether a placement in one queue can change the score of another queue."""
        return False


class BindAnnotations(Point):
    """Annotations that pods get with their binding. Has no switch."""

    point = ""

    @abstractmethod
    def bind_annotations(self, task: Task) -> Sequence[tuple[str, str]]:
        """The annotations of a task that this session binds; called after the actions have run."""


class PlacementListener(Point):
    """Keeps state about placements. The ledger calls it for each step and for each undo. Has no switch."""

    point = ""

    @abstractmethod
    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The task was placed on the row (allocated or pipelined), or its eviction was undone."""

    @abstractmethod
    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The task was evicted from the row, or its placement was undone."""


class CycleEnd(Point):
    """Called once when all actions have run. Has no switch."""

    point = ""

    @abstractmethod
    def end_cycle(self) -> None:
        """The actions have run; only calls for the report follow."""


class QueueDivider(Point):
    """Divides the cluster among queues; the first plugin's answer is reported. Has no switch."""

    point = ""

    @abstractmethod
    def division(self, queue: Queue) -> QueueDivision | None:
        """The division for one queue; None where the plugin has none for it."""

    def bound(self, queue: Queue, column: int) -> Bound | None:
        """What limits how much of a resource the queue may hold; None where the plugin sets no limit for it."""

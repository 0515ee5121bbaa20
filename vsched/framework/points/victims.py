"""Extension points about victims: which tasks may be evicted for a task, in which order, and which to move.

The evictor is the task that needs room. The candidates are tasks that could be evicted for it; victims are those that
are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from enum import Enum, StrEnum
from typing import ClassVar, NamedTuple

from vsched.framework.jobs import JobView
from vsched.framework.points.plugin import JobState, Point, SortKey
from vsched.framework.refusal import Refusal
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


class Purpose(StrEnum):
    """Which action looks for victims."""

    PREEMPT = "preempt"
    """For a task of the same queue, often of the same job."""
    RECLAIM = "reclaim"
    """For a task of another queue."""


class OwnJob(Enum):
    """The default of ``Votes.depends_on``: evictors of one job get equal answers; those of different jobs may not."""

    OWN_JOB = "own job"


def rules_out_none(job: JobState) -> bool:
    """The default of ``Votes.rules_out``: no job is ruled out."""
    return False


def no_refusal(protected: Sequence[Task]) -> Refusal | None:
    """The default of ``Votes.refusal``: the plugin has no message for the job."""
    return None


Keeping = Callable[[Task], bool]
"""Says of a victim whether its queue has to keep what it deserves once the victim has left."""


class Votes(NamedTuple):
    """A plugin's answer about the victims of one evictor, for the present state of the session."""

    agreed: Callable[[Sequence[Task]], Sequence[Task] | None]
    """Returns the candidates that the plugin agrees to evict; None where it abstains.

    The candidates are in the order of eviction. For each candidate, those before it count as evicted. The first is on
    the node where the evictor needs room, and so are all others but those that leave with one of these.
    """
    because: str = ""
    """Why the plugin protects other candidates: ``their priority is not lower``. If empty, messages name the plugin."""
    rules_out: Callable[[JobState], bool] = rules_out_none
    """Whether the plugin agrees to no task of a job at all. The job's nodes are then skipped.

    Called once for each job before any node, so it must be quick. Once True, it must stay True while more tasks are
    evicted.
    """
    depends_on: Hashable = OwnJob.OWN_JOB
    """What of the evictor affects the answer, besides its queue and its request; None where nothing else does.

    Evictors with equal values share their candidates.
    """
    regains: Callable[[Task], bool] | None = None
    """Whether this evictor could evict a task that took its place; by default, whether ``agreed`` accepts that task.

    This prevents two tasks from evicting each other in turn. It is called on the votes of a victim, as if the victim
    were pending again; in the session's state the victim is evicted and the other task is placed.
    """
    refusal: Callable[[Sequence[Task]], Refusal | None] = no_refusal
    """The refusal to report for the job where this plugin alone protects these tasks, and they would be enough."""
    agreed_keeping: Callable[[Sequence[Task], Keeping], Sequence[Task] | None] | None = None
    """The same as ``agreed``, where the queues of some victims have to keep what they deserve: of jobs that leave as a
    whole, and of all where the evictor is more than its job's minimum. ``agreed`` where the plugin makes no difference.
    """

    @classmethod
    def each(cls, agrees: Callable[[Task], bool], because: str = "", *, depends_on: Hashable = OwnJob.OWN_JOB) -> Votes:
        """Votes that judge each candidate on its own."""
        return cls(lambda candidates: [task for task in candidates if agrees(task)], because, depends_on=depends_on)

    @classmethod
    def none(cls, because: str = "", *, depends_on: Hashable = OwnJob.OWN_JOB) -> Votes:
        """Votes that agree to no victim."""
        return cls(lambda candidates: (), because, lambda job: True, depends_on)

    def among(self, candidates: Sequence[Task], keeping: Keeping | None) -> Sequence[Task] | None:
        """The candidates that the plugin agrees to evict; None where it abstains."""
        if keeping is None or self.agreed_keeping is None:
            return self.agreed(candidates)
        return self.agreed_keeping(candidates, keeping)

    def could_regain(self, taker: Task) -> bool:
        """Whether the evictor could evict the task that took its place."""
        return bool(self.agreed((taker,))) if self.regains is None else self.regains(taker)


class VictimVotes(Point):
    """Which tasks may be evicted for an evictor; a plugin inherits ``Preemptable`` or ``Reclaimable`` or both.

    ``framework.combine.agreeing`` combines the votes of several plugins.
    """

    name: ClassVar[str]
    """The plugin's own name."""
    protects_absolutely: ClassVar[bool] = False
    """Whether no task may be evicted without this plugin's agreement, in any tier. Such a plugin never abstains."""
    keeps_deserved: ClassVar[bool] = False
    """Whether it agrees only to victims of queues that hold more than they deserve, and can have them keep that
    (``Votes.agreed_keeping``)."""
    votes_by_kind: ClassVar[bool] = False
    """Whether evictors of jobs that differ in names, ages and labels alone get equal votes."""
    judges_gangs: ClassVar[bool] = True
    """Whether ``gangpreempt`` and ``gangreclaim`` ask the plugin. They judge minima themselves, and compare the
    priorities of whole jobs instead of what single tasks would hold."""
    judges_moves: ClassVar[bool] = False
    """Whether the pods that it protects are not moved to other nodes either, to make room there (``consolidate``)."""

    @abstractmethod
    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        """The plugin's votes on victims of the evictor; None where it abstains for every candidate.

        It is called again after every change, so the returned functions may cache what they compute.
        """


class Preemptable(VictimVotes):
    """Votes on victims within a queue."""

    point = "preemptable"


class Reclaimable(VictimVotes):
    """Votes on victims in other queues."""

    point = "reclaimable"


class VictimProtection(Point):
    """Until when running tasks may not be evicted, whatever the action and the tiers. Has no switch.

    This also holds for ``shuffle`` and for the arbitrator. A plugin that only has a say in the tiers inherits
    ``Preemptable`` or ``Reclaimable`` instead.
    """

    point = ""
    protects_because: ClassVar[str]
    """Why tasks are protected, for messages: ``their minimum run time is not over``."""

    @abstractmethod
    def protected_until(self, victim: Task, purpose: Purpose | None) -> float:
        """When the protection ends, seconds since the epoch; 0 for a task that is not protected.

        Infinite where the end is not known yet. ``purpose`` is None for an eviction that makes room for no other task.
        """


class EvictionDelay(Point):
    """From when on tasks may be evicted for a job, whatever the action and the tiers. Has no switch.

    The arbitrator does not ask: it has a grace period of its own.
    """

    point = ""
    delays_because: ClassVar[str]
    """Why the job waits, for messages: ``its preemption delay is not over``."""

    @abstractmethod
    def may_evict_from(self, job: JobView) -> float:
        """The time, seconds since the epoch; 0 for a job that need not wait."""


class VictimCost(Point):
    """What the eviction of a running task wastes. Has no switch.

    Of victims in one queue, those of jobs of lower priority go first, and of equal ones those that waste least. Nodes
    and domains whose victims waste least are tried first.
    """

    point = ""

    @abstractmethod
    def work_lost(self, victim: Task) -> float:
        """How much work the eviction of this task alone throws away; smaller goes first."""

    def among_its_job(self, victim: Task) -> SortKey:
        """A sort key among the tasks of a job that have the same priority; it goes before the work that is lost."""
        return 0


class VictimQueueOrder(Point):
    """From which queue victims are taken first; of equal queues, from the one last in queue order. Has no switch."""

    point = ""

    @abstractmethod
    def victim_queue_key(self, victim: Queue, evictor: Queue) -> SortKey:
        """A sort key; victims are taken from the queue with the smaller key first."""


class MoveGain(Point):
    """What it is worth to move a pod although nobody waits for its room. Has no switch.

    ``consolidate`` asks where the policy lets it (``defragment.movesPerHour``).
    """

    point = ""

    @abstractmethod
    def move_gain(self, task: Task, row: int, to: int) -> float:
        """How much better it is if a running task leaves a node (``row``) for another one; 0 or less for no better."""


class Rehearsing(Point):
    """Called around tries that are only compared with each other and are always rolled back. Has no switch."""

    point = ""

    @property
    def is_blind(self) -> bool:
        """Whether the plugin does not see what moves in such tries. Then no other victims are looked for."""
        return False

    @abstractmethod
    def rehearse(self, begins: bool) -> None:
        """Such tries begin (``begins``) or are over."""


class VictimTasks(Point):
    """Which running tasks should move to another node. ``shuffle`` evicts them, within disruption budgets.

    The first tier that names any task decides.
    """

    point = "victim"

    @abstractmethod
    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """The victims among all running tasks that may be preempted."""

    def must_leave(self, victim: Task) -> bool:
        """Whether a victim's node must be freed, so that it is evicted even if no other node has room for it."""
        return False

"""Extension points about victims: who may take from whom, in which order, and who had better be elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from enum import Enum, StrEnum
from typing import ClassVar, NamedTuple

from vsched.framework.points.extension import JobState, Point, SortKey
from vsched.framework.refusal import Refusal
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


class Purpose(StrEnum):
    """Why tasks are to leave: which action asks."""

    PREEMPT = "preempt"
    """For a task of the same queue, often of the same job."""
    RECLAIM = "reclaim"
    """For a task of another queue."""


class OwnJob(Enum):
    """The default of ``Votes.depends_on``: evictors of one job get equal answers, others may not."""

    OWN_JOB = "own job"


def rules_out_nobody(job: JobState) -> bool:
    """Takes a closer look at every job."""
    return False


def no_refusal(kept: Sequence[Task]) -> Refusal | None:
    """Only those who ask are told."""
    return None


class Votes(NamedTuple):
    """What a plugin says about the victims of one evictor, as things stand."""

    agreed: Callable[[Sequence[Task]], Sequence[Task] | None]
    """Those it agrees to, of candidates on one node in the order in which they would go; None abstains.

    Each candidate counts as gone for those after it.
    """
    because: str = ""
    """Why it keeps the others, said of them: ``their priority is not lower``. Where it is empty the plugin is named."""
    rules_out: Callable[[JobState], bool] = rules_out_nobody
    """Whether it can agree to no task of a job, whatever else is asked for. Saves looking at the job's nodes.

    Asked once for each job before any node is looked at, so it has to be quick. It must stay True while more tasks are
    evicted.
    """
    depends_on: Hashable = OwnJob.OWN_JOB
    """What of the evictor decides, besides its queue and its request. Evictors of equal values share their candidates.

    None where it makes no difference who asks.
    """
    regains: Callable[[Task], bool] | None = None
    """Whether the evictor could take its place back from a task that took it; by default where it agrees to that task.

    Keeps two tasks from taking one place from each other in turn: asked of the votes of a victim that waits again, with
    the victim out and the other task placed in the books.
    """
    refusal: Callable[[Sequence[Task]], Refusal | None] = no_refusal
    """What the job's own message says where this plugin alone keeps these tasks, and they would be enough."""

    @classmethod
    def each(cls, agrees: Callable[[Task], bool], because: str = "", *, depends_on: Hashable = OwnJob.OWN_JOB) -> Votes:
        """Votes that look at every candidate for itself."""
        return cls(lambda candidates: [task for task in candidates if agrees(task)], because, depends_on=depends_on)

    @classmethod
    def none(cls, because: str = "", *, depends_on: Hashable = OwnJob.OWN_JOB) -> Votes:
        """Agrees to nobody."""
        return cls(lambda candidates: (), because, lambda job: True, depends_on)

    def could_regain(self, taker: Task) -> bool:
        """Whether the evictor could take its place back from the task that took it."""
        return bool(self.agreed((taker,))) if self.regains is None else self.regains(taker)


class VictimVotes(Point):
    """Who may be evicted for whom; a plugin inherits ``Preemptable`` or ``Reclaimable`` or both.

    How the votes of several plugins combine is ``framework.combine.agreeing``'s business.
    """

    name: ClassVar[str]
    """The plugin's own."""
    protects_absolutely: ClassVar[bool] = False
    """Whether nobody becomes a victim without its agreement, whichever tier it is in. Such a plugin never abstains."""

    @abstractmethod
    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        """What the plugin says about the evictor's victims; None where it abstains whatever it is asked.

        Asked again whenever anything has changed, so it may keep what it works out in the functions it returns.
        """


class Preemptable(VictimVotes):
    """Votes on victims within a queue."""

    point = "preemptable"


class Reclaimable(VictimVotes):
    """Votes on victims in other queues."""

    point = "reclaimable"


class VictimQueueOrder(Point):
    """From which queue victims are taken first; where keys are equal, the queue that goes last. Has no switch."""

    point = ""

    @abstractmethod
    def victim_queue_key(self, victim: Queue, evictor: Queue) -> SortKey:
        """Smaller is taken from first."""


class Rehearsing(Point):
    """Is told when a try is only to be compared with others, and is taken back whatever comes of it. Has no switch."""

    point = ""

    @abstractmethod
    def rehearse(self, begins: bool) -> None:
        """Such a try begins or is over."""


class VictimTasks(Point):
    """Which running tasks had better be elsewhere; what ``shuffle`` evicts, within disruption budgets.

    The first tier that names any decides.
    """

    point = "victim"

    @abstractmethod
    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """The victims among all running tasks that may be preempted."""

    def must_leave(self, victim: Task) -> bool:
        """Whether a victim's node is wanted back, so that it goes even where no other node has room for it."""
        return False

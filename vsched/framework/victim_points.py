"""Extension points about victims: who may take from whom, in which order, and who had better be elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import ClassVar

from vsched.framework.extension import Point, SortKey, Standing
from vsched.framework.refusal import Refusal
from vsched.model.queue import Queue
from vsched.model.task import Task


class Retakable:
    """What keeps two tasks from taking one place from each other in turn."""

    def could_retake(self, victim: Task, evictor: Task) -> bool | None:
        """Whether the victim, waiting again, could be given the evictor's place by what this plugin looks at.

        None from a plugin that abstains whatever it is asked. Asked with the victim out and the evictor placed in the
        books.
        """
        return True


class Protecting:
    """Keeping tasks from being victims."""

    protects_absolutely: ClassVar[bool] = False
    """Whoever it does not agree to is nobody's victim, whichever tier is asked. Such a plugin never abstains."""

    def protects(self, kept: Sequence[Task]) -> Refusal | None:
        """What people are told where it alone keeps these, which would be enough; None where only those who ask are."""
        return None


class Preemptable(Retakable, Protecting, Point):
    """Which of these candidates a task may take from within its queue; how answers combine: ``framework.agreeing``."""

    point = "preemptable"

    @abstractmethod
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """The victims this plugin agrees to, of candidates on one node in the order they would go; None abstains."""

    def keeps_from_preemptor(self, preemptor: Task, job: Standing) -> bool | None:
        """Whether no task of this job can be agreed to, whatever else is asked for; False where it takes a closer look.

        None from a plugin that abstains whatever it is asked. Asked once a job before any node is looked at, so quick.
        Must stay True while more tasks are evicted.
        """
        return False

    def preemptor_class(self, preemptor: Task) -> Hashable:
        """What of a preemptor decides, its queue and its request aside: one answer serves all of equal class."""
        return preemptor.job


class Reclaimable(Retakable, Protecting, Point):
    """Which of these candidates a task may take from other queues; how answers combine: ``framework.agreeing``."""

    point = "reclaimable"

    @abstractmethod
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """The victims this plugin agrees to, of candidates on one node in the order they would go; None abstains."""

    def keeps_from_reclaimer(self, reclaimer: Task, job: Standing) -> bool | None:
        """Whether no task of this job can be agreed to, whatever else is asked for; False where it takes a closer look.

        None from a plugin that abstains whatever it is asked. Asked once a job before any node is looked at, so quick.
        Must stay True while more tasks are evicted.
        """
        return False

    def reclaimer_class(self, reclaimer: Task) -> Hashable:
        """What of a reclaimer decides, its queue and its request aside: one answer serves all of equal class."""
        return reclaimer.job


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

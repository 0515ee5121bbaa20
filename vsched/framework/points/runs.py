"""Extension points about the runs of jobs: which may start, when they have to end, and planned starts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence

from vsched.framework.jobs import JobView
from vsched.framework.points.plugin import Point
from vsched.framework.refusal import Refusal
from vsched.model.jobs.spec import Condition, JobSpec
from vsched.model.pods.task import Task


class StartLimit(Point):
    """Whether a job that holds no node may start, whatever room there is. All plugins must agree. Has no switch.

    It is asked again before each try, because starts change the answer. A job that holds a node is refused only
    where it has to end.
    """

    point = ""

    @abstractmethod
    def start_limit(self, job: JobView, *, admitting: bool = False) -> Refusal | None:
        """None where the job may start. With ``admitting``, jobs that were admitted count as running."""

    def starts_left(self, job: JobView) -> Mapping[Hashable, int]:
        """How many more jobs may start, by each limit on running jobs that counts this one; empty where none does.

        Planned starts reserve these slots. A refusal by such a limit has the code ``RUNNING_JOBS``.
        """
        return {}

    def running_within(self, job: JobView) -> Sequence[str]:
        """Keys of the running jobs that the limit counts which refuses this one, sorted; empty where none does."""
        return ()


class RunLimit(Point):
    """When running jobs have to end: all of their pods leave, whatever protects them. Has no switch.

    A job that was ended gets the condition ``WALL_TIME_OVER``, so that it does not start again.
    """

    point = ""

    @abstractmethod
    def overdue(self) -> Sequence[str]:
        """Keys of the running jobs that have to end now, sorted."""

    @abstractmethod
    def next_end(self) -> float:
        """When the next running job has to end, seconds since the epoch; infinite for none."""

    @abstractmethod
    def run_condition(self, job: JobView) -> Condition | None:
        """The condition ``WALL_TIME_OVER`` where it changes: the job ends now, or may start again; else None."""


class PlannedStarts(Point):
    """For which jobs without room a start is planned, and when work is taken to end. Has no switch.

    Until a planned start, other work may use the room that is reserved for it only if it ends before.
    """

    point = ""

    @abstractmethod
    def planned_starts(self) -> int:
        """How many jobs may have a planned start at once."""

    @abstractmethod
    def may_plan(self, job: JobView) -> bool:
        """Whether a start may be planned for the job."""

    @abstractmethod
    def ends_by(self, spec: JobSpec, task: Task, longest: float) -> float:
        """When a task will have ended, seconds since the epoch; infinite where nobody knows.

        A task that does not run yet is taken to start now. ``longest`` is for how long its job may run, seconds.
        """

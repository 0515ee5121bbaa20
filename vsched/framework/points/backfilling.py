"""The extension point of plugins that reserve room for the planned start of jobs, and let other work go before them."""

from __future__ import annotations

from abc import abstractmethod

from vsched.framework.jobs import JobView
from vsched.framework.points.plugin import Point
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.task import Task


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

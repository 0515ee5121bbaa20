"""The slots that a planned start leaves to other jobs, by limit on running jobs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from vsched.framework.jobs import JobView
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task

StartsLeft = Mapping[Hashable, int]
"""How many more jobs may start, by limit on running jobs."""
LimitsOnStart = Callable[[JobView], StartsLeft]


class RunSlots:
    """How many jobs may run besides a planned one at its start, by limit on running jobs. A job takes one slot."""

    def __init__(self, at: float, left: StartsLeft, limits: LimitsOnStart, ends_by: Callable[[Task], float]) -> None:
        """``left`` is what the limits leave besides the planned job, and work that has not ended, at the time ``at``;
        ``limits`` gives the limits that count a job."""
        self._at = at
        self._left = dict(left)
        self._limits = limits
        self._ends_by = ends_by
        self._lasting: dict[str, int] = {}
        """By job: how many of its tasks hold a node and will still do so then."""

    def short(self, job: JobView) -> bool:
        """Whether a job that does not run then may not, besides the planned one."""
        return not self._tasks_of(job) and any(self._left.get(limit, 1) < 1 for limit in self._limits(job))

    def count(self, job: JobView) -> None:
        """Note that ``left`` has counted a job that will have started by then."""
        self._lasting[job.key] = self._tasks_of(job) + 1

    def take(self, job: JobView) -> None:
        """Count a job that will have started by then."""
        self._move(job, self._tasks_of(job), 1)

    def shift(self, job: JobView, task: Task, sign: int) -> None:
        """Follow a task that got a node (1), or that is about to leave its node (-1)."""
        if self._ends_by(task) > self._at:
            known = job.key in self._lasting
            found = self._tasks_of(job)
            self._move(job, found - 1 if sign > 0 and not known else found, sign)

    def _move(self, job: JobView, before: int, by: int) -> None:
        self._lasting[job.key] = before + by
        if (before > 0) != (before + by > 0):
            for limit in self._limits(job):
                if limit in self._left:
                    self._left[limit] -= by

    def _tasks_of(self, job: JobView) -> int:
        found = self._lasting.get(job.key)
        if found is None:
            found = self._lasting[job.key] = sum(self._lasts(task, job) for task in job.job.tasks.values())
        return found

    def _lasts(self, task: Task, job: JobView) -> bool:
        moved = job.moved.get(task.uid)
        status = task.status if moved is None else moved[0]
        holds = HOLDS[status].allocated or (moved is not None and HOLDS[status].reserves)
        return holds and self._ends_by(task) > self._at

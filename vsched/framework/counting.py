"""Counts of tasks by status, for the parts of a job that have minima of their own."""

from __future__ import annotations

from vsched.model.pods.status import READY, Status
from vsched.model.pods.task import Task


class TaskCounts:
    """Counts of the tasks of one role, or of one sub-group, by status."""

    __slots__ = ("best_effort", "pending", "ready", "waiting")

    def __init__(self) -> None:
        self.ready = self.waiting = self.pending = self.best_effort = 0

    def count(self, status: Status, task: Task, by: int) -> None:
        """Count one task of this status more (``by=1``) or less (``by=-1``)."""
        if status in READY:
            self.ready += by
        elif status is Status.PIPELINED:
            self.waiting += by
        elif status is Status.PENDING:
            self.pending += by
            if task.best_effort and not task.unsupported:
                self.best_effort += by

    def occupied(self, *, waiting: bool = False, pending: bool = False) -> int:
        """Number of tasks that count towards the minimum."""
        count = self.ready + (self.waiting if waiting else 0)
        return count + (self.pending if pending else self.best_effort)

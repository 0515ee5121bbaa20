"""The statement: a transaction of placements and evictions, which is committed, kept or rolled back."""

from __future__ import annotations

from types import TracebackType

from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause, Ledger, LedgerEntry
from vsched.framework.ledger.units import unit_of
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

_ALLOCATED, _PENDING, _PIPELINED, _RELEASING = Status.ALLOCATED, Status.PENDING, Status.PIPELINED, Status.RELEASING
"""Looked up once: members of enumerations take long to look up in Python 3.11."""


class Statement:
    """The steps of one try. Leaving the ``with`` block without ``commit`` or ``keep`` rolls all of them back."""

    __slots__ = ("_committed", "_ledger", "_mark", "_open")

    def __init__(self, ledger: Ledger, committed: list[LedgerEntry]) -> None:
        self._ledger = ledger
        self._committed = committed
        self._mark = len(ledger.log)
        self._open = True

    def __enter__(self) -> Statement:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.rollback(self._mark)
            self._open = False

    def allocate(self, job: JobView, task: Task, row: int) -> None:
        """Place a task on idle room."""
        self._ledger.place(job, task, row, _ALLOCATED)

    def pipeline(self, job: JobView, task: Task, row: int) -> None:
        """Reserve room for a task that other pods are still leaving."""
        self._ledger.place(job, task, row, _PIPELINED)

    def withdraw(self, job: JobView, task: Task, row: int) -> None:
        """Undo the reservation of a pipelined task."""
        self._ledger.withdraw(job, task, row)

    def evict(self, job: JobView, task: Task, row: int, cause: EvictionCause) -> None:
        """Evict a running task, and all of its job with it where the job leaves as a whole or not at all.

        Nothing happens where the task has left with another one, or where one of its job's tasks cannot leave.
        """
        if not job.spec.leaves_whole:
            self._ledger.evict(job, task, row, cause)
            return
        for member, at in unit_of(job, self._ledger.rows) or ():
            self._ledger.evict(job, member, at, cause)

    def savepoint(self) -> int:
        """A point to roll back to."""
        return len(self._ledger.log)

    def rollback(self, savepoint: int) -> None:
        """Undo all steps after the savepoint."""
        self._ledger.undo_to(savepoint)

    @property
    def steps(self) -> list[LedgerEntry]:
        """The steps that were not undone, in order."""
        return self._ledger.log[self._mark :]

    @property
    def placed(self) -> bool:
        """Whether any task was placed."""
        return any(entry.before is _PENDING for entry in self._ledger.log[self._mark :])

    @property
    def tasks(self) -> list[Task]:
        """The tasks that were placed, in order."""
        return [entry.task for entry in self._ledger.log[self._mark :] if entry.before is _PENDING]

    @property
    def evictions(self) -> list[LedgerEntry]:
        """The evictions, in the order in which they were decided."""
        return [entry for entry in self._ledger.log[self._mark :] if entry.status is _RELEASING]

    def commit(self) -> None:
        """Commit the steps: allocated tasks become bindings and releasing tasks evictions, in the order decided."""
        for entry in self._ledger.log[self._mark :]:
            if entry.status is _ALLOCATED or entry.status is _RELEASING:
                self._committed.append(entry)
        self._open = False

    def keep(self) -> None:
        """Keep the placements for the rest of the session, but do not commit them."""
        self._open = False

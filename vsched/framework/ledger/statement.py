"""A try: placements and evictions that leave no trace unless they are committed or kept."""

from __future__ import annotations

from types import TracebackType

from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Cause, Entry, Ledger
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


class Statement:
    """The steps of one try. Leaving the ``with`` block without ``commit`` or ``keep`` takes them all back."""

    __slots__ = ("_committed", "_ledger", "_mark", "_open")

    def __init__(self, ledger: Ledger, committed: list[Entry]) -> None:
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
        """Place a task on what is idle."""
        self._ledger.place(job, task, row, Status.ALLOCATED)

    def pipeline(self, job: JobView, task: Task, row: int) -> None:
        """Reserve for a task what is on its way back."""
        self._ledger.place(job, task, row, Status.PIPELINED)

    def withdraw(self, job: JobView, task: Task, row: int) -> None:
        """Give up the reservation of a task that waits."""
        self._ledger.withdraw(job, task, row)

    def evict(self, job: JobView, task: Task, row: int, cause: Cause) -> None:
        """Have a running task leave."""
        self._ledger.evict(job, task, row, cause)

    def savepoint(self) -> int:
        """A point to roll back to."""
        return len(self._ledger.log)

    def rollback(self, savepoint: int) -> None:
        """Take back everything since the savepoint."""
        self._ledger.undo_to(savepoint)

    @property
    def steps(self) -> list[Entry]:
        """What stands of the try, in order."""
        return self._ledger.log[self._mark :]

    @property
    def placed(self) -> bool:
        """Whether any task was given a place."""
        return any(entry.before is Status.PENDING for entry in self._ledger.log[self._mark :])

    @property
    def tasks(self) -> list[Task]:
        """The tasks that were given a place, in the order they were."""
        return [entry.task for entry in self._ledger.log[self._mark :] if entry.before is Status.PENDING]

    @property
    def evictions(self) -> list[Entry]:
        """What leaves, in the order it was decided."""
        return [entry for entry in self._ledger.log[self._mark :] if entry.status is Status.RELEASING]

    def commit(self) -> None:
        """Carry the steps out: allocated tasks become bindings, released ones evictions, in the order decided."""
        self._committed.extend(
            entry
            for entry in self._ledger.log[self._mark :]
            if entry.status is Status.ALLOCATED or entry.status is Status.RELEASING
        )
        self._open = False

    def keep(self) -> None:
        """Leave the placements standing for the rest of the cycle without carrying them out (reference 3.2)."""
        self._open = False

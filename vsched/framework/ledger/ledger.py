"""The only code that moves a task or an amount within a cycle, forwards and back.

Every step is logged with what was before it; undoing is the reverse replay of the log. Amounts are integers, so a
rollback restores the books bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


class Listener(Protocol):
    """Follows placements and evictions, forwards and in undo (``extension.PlacementListener``)."""

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The task was placed on the row (allocated or pipelined)."""

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The placement was taken back, or the task is to leave."""


class Cause(NamedTuple):
    """For whose sake a task is evicted."""

    action: str
    beneficiary: str
    """Key of the job; empty where the task itself is to be better off."""


class Entry(NamedTuple):
    """One step in the log: a task on a row goes from one status to another."""

    job: JobView
    task: Task
    row: int
    before: Status
    status: Status
    cause: Cause | None = None
    """Of an eviction."""


class Ledger:
    """The books of one cycle: node amounts, jobs, usage, and the log that undoes them."""

    __slots__ = (
        "_idle",
        "_listeners",
        "_names",
        "_nodes",
        "_pipelined",
        "_releasing",
        "_requested",
        "_scoring",
        "_usage",
        "evicted",
        "journal",
        "log",
    )

    def __init__(self, nodes: NodeTable, usage: SessionUsage, listeners: Sequence[Listener]) -> None:
        self._names = nodes.statics.names
        self._nodes = nodes
        self._usage = usage
        self._listeners = tuple(listeners)
        # Views on the arrays: an element read or written through one costs a third of numpy's own indexing.
        self._idle = nodes.idle.data
        self._pipelined = nodes.pipelined.data
        self._releasing = nodes.releasing.data
        self._requested = nodes.requested.data
        self._scoring = nodes.scoring.data
        self.log: list[Entry] = []
        self.evicted = 0
        """Evictions in the log."""
        self.journal: list[int] = []
        """Rows whose amounts changed, in order: who remembers scores reads it to know what is stale."""

    @property
    def latest(self) -> Entry | None:
        """The last step that stands. While it is the same object the books are the same: steps go back last first."""
        return self.log[-1] if self.log else None

    def place(self, job: JobView, task: Task, row: int, status: Status) -> None:
        """Put a pending task on a row: ALLOCATED takes from idle, PIPELINED from what is on its way back."""
        self._put(job, task, row, Status.PENDING, status)
        self.log.append(Entry(job, task, row, Status.PENDING, status))

    def withdraw(self, job: JobView, task: Task, row: int) -> None:
        """Take back the reservation of a task that waits: it is pending again."""
        self._take(job, task, row, Status.PIPELINED, Status.PENDING)
        self.log.append(Entry(job, task, row, Status.PIPELINED, Status.PENDING))

    def evict(self, job: JobView, task: Task, row: int, cause: Cause) -> None:
        """Have a task leave its row: what it uses is on its way back, and no longer its job's or queue's."""
        self.evicted += 1
        self._take(job, task, row, task.status, Status.RELEASING)
        self.log.append(Entry(job, task, row, task.status, Status.RELEASING, cause))

    def undo_to(self, mark: int) -> None:
        """Take back every step after ``mark``, last first."""
        while len(self.log) > mark:
            job, task, row, before, status, cause = self.log.pop()
            self.evicted -= cause is not None
            if before is Status.PENDING:
                self._take(job, task, row, status, before)
            else:
                self._put(job, task, row, status, before)

    def _put(self, job: JobView, task: Task, row: int, before: Status, status: Status) -> None:
        """A task comes to hold, or holds again, what it asks for on the row."""
        self._book(task, row, before if before is Status.RELEASING else status, 1)
        job.move(task, before, status, self._names[row])
        self._usage.shift(job.queue, job.namespace, task.shape.request, 1)
        for listener in self._listeners:
            listener.on_allocate(job, task, row)

    def _take(self, job: JobView, task: Task, row: int, before: Status, status: Status) -> None:
        """A task no longer holds what it asks for on the row."""
        for listener in reversed(self._listeners):
            listener.on_release(job, task, row)
        self._usage.shift(job.queue, job.namespace, task.shape.request, -1)
        job.move(task, before, status, "" if status is Status.PENDING else self._names[row])
        self._book(task, row, status if status is Status.RELEASING else before, -1)

    def _book(self, task: Task, row: int, status: Status, sign: int) -> None:
        idle, requested = self._idle, self._requested
        shape = task.shape
        if status is Status.ALLOCATED:
            for column, amount in shape.request:
                value = sign * amount
                idle[column, row] -= value
                requested[column, row] += value
        else:
            # Reserved (pipelined) amounts grow as a task comes, releasing ones as it leaves.
            other, step = (self._pipelined, sign) if status is Status.PIPELINED else (self._releasing, -sign)
            self._nodes.in_motion = True
            for column, amount in shape.request:
                other[column, row] += step * amount
                requested[column, row] += sign * amount
        self._scoring[0, row] += sign * shape.scoring_cpu
        self._scoring[1, row] += sign * shape.scoring_memory
        self.journal.append(row)

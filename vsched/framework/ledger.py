"""The only code that moves a task or an amount within a cycle, forwards and back.

Every step is logged with what was before it; undoing is the reverse replay of the log. Amounts are integers, so a
rollback restores the books bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vsched.framework.extension import PlacementListener
from vsched.framework.holdings import Holdings
from vsched.framework.jobs import JobView
from vsched.model.nodes import NodeTable
from vsched.model.status import Status
from vsched.model.task import Task


class Entry(NamedTuple):
    """One placement in the log."""

    job: JobView
    task: Task
    row: int
    status: Status
    """ALLOCATED or PIPELINED."""


class Ledger:
    """The books of one cycle: node amounts, jobs, holdings, and the log that undoes them."""

    __slots__ = ("_holdings", "_idle", "_listeners", "_names", "_pipelined", "_requested", "_scoring", "journal", "log")

    def __init__(self, nodes: NodeTable, holdings: Holdings, listeners: Sequence[PlacementListener]) -> None:
        self._names = nodes.statics.names
        self._holdings = holdings
        self._listeners = tuple(listeners)
        # Views on the arrays: an element read or written through one costs a third of numpy's own indexing.
        self._idle = nodes.idle.data
        self._pipelined = nodes.pipelined.data
        self._requested = nodes.requested.data
        self._scoring = nodes.scoring.data
        self.log: list[Entry] = []
        self.journal: list[int] = []
        """Rows whose amounts changed, in order: who remembers scores reads it to know what is stale."""

    def place(self, job: JobView, task: Task, row: int, status: Status) -> None:
        """Put a pending task on a row: ALLOCATED takes from idle, PIPELINED from what is on its way back."""
        self._book(task, row, status, 1)
        job.move(task, Status.PENDING, status, self._names[row])
        self._holdings.shift(job.queue, job.namespace, task.shape.request, 1)
        self.log.append(Entry(job, task, row, status))
        for listener in self._listeners:
            listener.on_allocate(job, task, row)

    def undo_to(self, mark: int) -> None:
        """Take back every placement after ``mark``, last first."""
        while len(self.log) > mark:
            job, task, row, status = self.log.pop()
            for listener in reversed(self._listeners):
                listener.on_release(job, task, row)
            self._holdings.shift(job.queue, job.namespace, task.shape.request, -1)
            job.move(task, status, Status.PENDING, "")
            self._book(task, row, status, -1)

    def _book(self, task: Task, row: int, status: Status, sign: int) -> None:
        idle, pipelined, requested = self._idle, self._pipelined, self._requested
        shape = task.shape
        for column, amount in shape.request:
            value = sign * amount
            if status is Status.PIPELINED:
                pipelined[column, row] += value
            else:
                idle[column, row] -= value
            requested[column, row] += value
        self._scoring[0, row] += sign * shape.scoring_cpu
        self._scoring[1, row] += sign * shape.scoring_memory
        self.journal.append(row)

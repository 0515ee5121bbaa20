"""The ledger: the only code that changes the status of tasks and the amounts on nodes within a session.

It logs every step with the status before it, and undoes steps by walking the log backwards. Amounts are integers, so a
rollback restores all amounts exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

_ALLOCATED, _PENDING, _PIPELINED, _RELEASING = Status.ALLOCATED, Status.PENDING, Status.PIPELINED, Status.RELEASING
"""Looked up once: members of enumerations take long to look up in Python 3.11."""


class LedgerListener(Protocol):
    """Receives every placement and eviction, and their undoing (``extension.PlacementListener``)."""

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The task was placed on the row (allocated or pipelined), or its eviction was undone."""

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The task was evicted from the row, or its placement was undone."""


class ClaimSteps(Protocol):
    """Receives every step, and every undo, last first, so that tasks get and lose what they claim.

    Steps of tasks without ``Task.claims`` are left out, unless ``implicit`` says that they may have claims as well.
    """

    implicit: bool

    def take(self, task: Task, row: int, *, later: bool) -> None:
        """The task was placed on the row; ``later`` where pods are still to leave it."""

    def give_back(self, task: Task, row: int) -> None:
        """The placement is undone."""

    def withdraw(self, task: Task, row: int) -> None:
        """The task gives up its place, though others may have been placed since."""

    def reinstate(self, task: Task, row: int) -> None:
        """The withdrawal is undone."""

    def evict(self, task: Task, row: int) -> None:
        """The task is evicted from the row."""

    def restore(self, task: Task, row: int) -> None:
        """The eviction is undone."""


class EvictionCause(NamedTuple):
    """Which action evicts a task, and for which job."""

    action: str
    beneficiary: str
    """Key of the job that gets the room; empty where the task is moved for its own good."""
    to: str = ""
    """The node that has room for its successor, where that was made sure of."""


NO_CAUSE = EvictionCause("", "")
"""Of steps that are undone, or that are in no report."""


class LedgerEntry(NamedTuple):
    """One step in the log: the status of a task on a row changes from ``before`` to ``status``."""

    job: JobView
    task: Task
    row: int
    before: Status
    status: Status
    cause: EvictionCause | None = None
    """Of an eviction."""


class Ledger:
    """Changes node amounts, job views and usage together, and logs each step so that it can be undone."""

    __slots__ = (
        "_claims",
        "_idle",
        "_implicit",
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
        "rows",
        "touched",
    )

    def __init__(
        self,
        nodes: NodeTable,
        usage: SessionUsage,
        listeners: Sequence[LedgerListener],
        claims: ClaimSteps | None = None,
        journal: list[int] | None = None,
    ) -> None:
        """``journal`` is one to go on with; the ledger's own is new."""
        self._claims = claims
        self._implicit = claims is not None and claims.implicit
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
        self.log: list[LedgerEntry] = []
        self.rows = nodes.statics.row
        """The rows of nodes by name."""
        self.evicted = 0
        """Evictions in the log."""
        self.touched: set[str] = set()
        """Keys of jobs with any step, undone ones included."""
        self.journal: list[int] = [] if journal is None else journal
        """Rows whose amounts changed, in order. Caches of scores read it to find stale rows."""

    @property
    def latest(self) -> LedgerEntry | None:
        """The last step that was not undone; None where there is none.

        As long as this is the same object, nothing has changed, because steps are undone last first.
        """
        return self.log[-1] if self.log else None

    def place(self, job: JobView, task: Task, row: int, status: Status) -> None:
        """Place a pending task on a row. ALLOCATED takes idle amounts; PIPELINED reserves amounts being released."""
        self._put(job, task, row, _PENDING, status)
        if self._claims is not None and (task.claims is not None or self._implicit):
            self._claims.take(task, row, later=status is _PIPELINED)
        self.log.append(LedgerEntry(job, task, row, _PENDING, status))

    def withdraw(self, job: JobView, task: Task, row: int) -> None:
        """Undo the reservation of a pipelined task: it is pending again. This is a step of its own in the log."""
        self._take(job, task, row, _PIPELINED, _PENDING)
        if self._claims is not None and (task.claims is not None or self._implicit):
            self._claims.withdraw(task, row)
        self.log.append(LedgerEntry(job, task, row, _PIPELINED, _PENDING))

    def evict(self, job: JobView, task: Task, row: int, cause: EvictionCause) -> None:
        """Evict a task from its row: its amounts become releasing, and no longer count for its job and queue."""
        self.evicted += 1
        self._take(job, task, row, task.status, _RELEASING)
        if self._claims is not None and (task.claims is not None or self._implicit):
            self._claims.evict(task, row)
        self.log.append(LedgerEntry(job, task, row, task.status, _RELEASING, cause))

    def end(self, job: JobView, task: Task, row: int, cause: EvictionCause) -> None:
        """Take a task to have ended, to see what there is room for then. It may have been placed in this session."""
        status = job.moved[task.uid][0] if task.uid in job.moved else task.status
        if status is task.status:
            self.evict(job, task, row, cause)
        elif status is _PIPELINED:
            self.withdraw(job, task, row)
        elif status is _ALLOCATED:
            self.evicted += 1
            self._take(job, task, row, status, _RELEASING)
            if self._claims is not None and (task.claims is not None or self._implicit):
                self._claims.withdraw(task, row)
            self.log.append(LedgerEntry(job, task, row, status, _RELEASING, cause))

    def undo_to(self, mark: int) -> None:
        """Undo every step after ``mark``, last first."""
        while len(self.log) > mark:
            job, task, row, before, status, cause = self.log.pop()
            self.evicted -= cause is not None
            if self._claims is not None and (task.claims is not None or self._implicit):
                self._undo_claims(task, row, before, status)
            if before is _PENDING:
                self._take(job, task, row, status, before)
            else:
                self._put(job, task, row, status, before)

    @contextmanager
    def foreseen(self, leaving: Mapping[int, Ints]) -> Iterator[None]:
        """A context in which these amounts (int64[nodes] by column) are being released; steps in it must be undone.

        It shows what the nodes have room for later. No task changes.
        """
        nodes, was_in_motion = self._nodes, self._nodes.in_motion
        changed = np.zeros(len(nodes), dtype=np.bool_)
        for amounts in leaving.values():
            changed |= amounts != 0
        rows = np.flatnonzero(changed).tolist()
        for column, amounts in leaving.items():
            nodes.releasing[column] += amounts
        nodes.in_motion = True
        self.journal.extend(rows)
        try:
            yield
        finally:
            for column, amounts in leaving.items():
                nodes.releasing[column] -= amounts
            nodes.in_motion = was_in_motion
            self.journal.extend(rows)

    @contextmanager
    def on_paper(self) -> Iterator[None]:
        """A context whose steps are undone at its end. Nothing may be asked about nodes in it."""
        mark, seen = len(self.log), len(self.journal)
        try:
            yield
        finally:
            self.undo_to(mark)
            del self.journal[seen:]

    def _undo_claims(self, task: Task, row: int, before: Status, status: Status) -> None:
        assert self._claims is not None, "the caller has looked"
        if before is _PENDING:
            self._claims.give_back(task, row)
        elif status is _RELEASING and before is task.status:
            self._claims.restore(task, row)
        else:
            self._claims.reinstate(task, row)

    def _put(self, job: JobView, task: Task, row: int, before: Status, status: Status) -> None:
        """Count the request of a task on the row, on its job and on its queue."""
        self._add_amounts(task, row, before if before is _RELEASING else status, 1)
        self.touched.add(job.key)
        job.move(task, before, status, self._names[row])
        self._usage.shift(job.queue, job.namespace, task.shape.request, 1)
        for listener in self._listeners:
            listener.on_allocate(job, task, row)

    def _take(self, job: JobView, task: Task, row: int, before: Status, status: Status) -> None:
        """Stop counting the request of a task on the row, on its job and on its queue."""
        for listener in reversed(self._listeners):
            listener.on_release(job, task, row)
        self._usage.shift(job.queue, job.namespace, task.shape.request, -1)
        self.touched.add(job.key)
        job.move(task, before, status, "" if status is _PENDING else self._names[row])
        self._add_amounts(task, row, status if status is _RELEASING else before, -1)

    def _add_amounts(self, task: Task, row: int, status: Status, sign: int) -> None:
        idle, requested = self._idle, self._requested
        shape = task.shape
        if status is _ALLOCATED:
            for column, amount in shape.request:
                value = sign * amount
                idle[column, row] -= value
                requested[column, row] += value
        else:
            # Reserved (pipelined) amounts grow as a task comes, releasing ones as it leaves.
            other, step = (self._pipelined, sign) if status is _PIPELINED else (self._releasing, -sign)
            self._nodes.in_motion = True
            for column, amount in shape.request:
                other[column, row] += step * amount
                requested[column, row] += sign * amount
        self._scoring[0, row] += sign * shape.scoring_cpu
        self._scoring[1, row] += sign * shape.scoring_memory
        self.journal.append(row)

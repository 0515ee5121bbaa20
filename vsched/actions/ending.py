"""Work that ends at a time that is known, in the order in which it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import NO_CAUSE
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.reserving import Placements
from vsched.framework.session import Session
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task


class EndingWork:
    """The tasks of other jobs whose end is known, the first to end first, and the cluster once some have ended.

    A set of these tasks is a ``Mask``, bool[ends]. A step is a moment at which some end; at step 0 nothing has ended.
    """

    def __init__(
        self, session: Session, job: JobView, ends_by: Callable[[Task], float], columns: Iterable[int]
    ) -> None:
        """``columns`` are the resources that the job asks for."""
        self._session = session
        self._job = job
        now = session.snapshot.now
        shapes: dict[Shape, int] = {}
        ends: list[float] = []
        rows: list[int] = []
        kinds: list[int] = []
        tasks: list[Task] = []
        for task, row in tasks_on_nodes(session):
            at = ends_by(task)
            if at < inf and task.job != job.key:
                ends.append(at)
                rows.append(row)
                tasks.append(task)
                kinds.append(shapes.setdefault(task.shape, len(shapes)))
        times = np.maximum(np.array(ends, dtype=np.float64), now)
        order = np.argsort(times, kind="stable")
        times, kind = times[order], np.array(kinds, dtype=np.int64)[order]
        self._rows: Ints = np.array(rows, dtype=np.int64)[order]
        self._tasks = [tasks[number] for number in order]
        requests = [dict(shape.request) for shape in shapes]
        self._amounts: dict[int, Ints] = {}
        """int64[ends] by column: what each task holds."""
        for column in sorted(columns):
            asked = np.array([request.get(column, 0) for request in requests], dtype=np.int64)
            self._amounts[column] = asked[kind] if len(kind) else kind
        lasts = np.flatnonzero(np.append(times[1:] > times[:-1], True)).tolist() if len(times) else []
        self.steps = [(now, 0), *((float(times[last]), last + 1) for last in lasts)]
        """Moments, and how many of the tasks have ended by then."""

    @property
    def columns(self) -> Iterable[int]:
        """The resources that the job asks for."""
        return self._amounts

    @property
    def jobs(self) -> set[str]:
        """The keys of the jobs that the tasks belong to."""
        return {task.job for task in self._tasks}

    def none(self) -> Mask:
        """bool[ends]: no task."""
        return np.zeros(len(self._tasks), dtype=np.bool_)

    def which(self, is_one: Callable[[Task], bool]) -> Mask:
        """bool[ends]: the tasks for which a condition holds."""
        return np.array([is_one(task) for task in self._tasks], dtype=np.bool_)

    def ended(self, step: int, which: Mask) -> Iterator[Task]:
        """Those of some tasks (bool[ends]) that have ended by a step."""
        return (self._tasks[number] for number in np.flatnonzero(which[: self.steps[step][1]]).tolist())

    def ahead(self, step: int, places: Placements) -> list[str]:
        """The jobs that have begun on these nodes since this one was created, and have ended by then; by name."""
        later = self.ended(step, np.isin(self._rows, [row for _, row in places]))
        return sorted({task.job for task in later if (task.started or task.created) > self._job.created})

    def leaving(self, step: int, which: Mask) -> dict[int, Ints]:
        """int64[nodes] by column: what those of some tasks (bool[ends]) hold that have ended by then."""
        among = np.flatnonzero(which[: self.steps[step][1]])
        found: dict[int, Ints] = {}
        for column, amounts in self._amounts.items():
            found[column] = np.zeros(len(self._session.nodes), dtype=np.int64)
            np.add.at(found[column], self._rows[among], amounts[among])
        return found

    def end(self, first: int, last: int, which: Mask) -> bool:
        """Let some of the tasks (bool[ends]) end, from one number up to another; False if there is none among them."""
        session, any_ended = self._session, False
        for number in (np.flatnonzero(which[first:last]) + first).tolist():
            task = self._tasks[number]
            view = session.view(task.job)
            if view is not None:
                session.ledger.end(view, task, int(self._rows[number]), NO_CAUSE)
                any_ended = True
        return any_ended

    @contextmanager
    def once_ended(self, step: int, which: Mask) -> Iterator[Statement]:
        """A context in which the work of a step has ended: some of the tasks (bool[ends]) one by one, with what they
        claim and count for; of the others, only what they hold on nodes."""
        session = self._session
        with session.ledger.foreseen(self.leaving(step, ~which)), session.statement() as statement:
            self.end(0, self.steps[step][1], which)
            yield statement


def tasks_on_nodes(session: Session) -> Iterator[tuple[Task, int]]:
    """Every task that holds room of a node, or waits for some, with its row; tasks that are leaving are left out."""
    at = session.nodes.statics.row
    for jobs in session.snapshot.holders.values():
        for key, job in jobs.items():
            view = session.jobs.get(key) or session.victimised.get(key)
            moved = None if view is None or not view.moved else view.moved
            for task in job.tasks.values():
                if task.node and HOLDS[task.status].allocated and (moved is None or task.uid not in moved):
                    row = at.get(task.node)
                    if row is not None:
                        yield task, row
    for views in (session.jobs, session.victimised):
        for view in views.values():
            for status, node, task in view.moved.values():
                if HOLDS[status].allocated or HOLDS[status].reserves:
                    yield task, at[node]

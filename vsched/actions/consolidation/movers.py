"""Which running pods may be moved to other nodes, and what that costs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.ledger.units import unit_of
from vsched.framework.session import Session
from vsched.framework.surplus import Surplus, protected_by
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints, Mask
from vsched.model.plan import CONSOLIDATE
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility

DUE_SECONDS = 60.0
"""So often, at most, a session comes because pods have run for long enough."""
NEVER = np.iinfo(np.int64).max
Placed = tuple[Task, int]
"""A task and the row of its node."""


class MoveCost(NamedTuple):
    """What moves cost, in the order in which it counts; smaller is better, and costs of several moves add up."""

    pods: int = 0
    broken: int = 0
    """Jobs that cannot do without the pod: they stand still until its successor runs."""
    priority: int = 0
    """Of the job, for each pod."""
    work_lost: float = 0.0
    """By what plugins say of evictions (``VictimCost``)."""
    started: float = 0.0
    """The start, negative: pods that have run for less time go first."""

    def plus(self, other: MoveCost) -> MoveCost:
        """Both together."""
        return MoveCost(
            self.pods + other.pods,
            self.broken + other.broken,
            self.priority + other.priority,
            self.work_lost + other.work_lost,
            self.started + other.started,
        )


class Mover(NamedTuple):
    """A pod that may be moved; of a job that leaves as a whole, all of its pods."""

    job: JobView
    tasks: tuple[Placed, ...]
    cost: MoveCost

    @property
    def uid(self) -> str:
        """What tells it from others."""
        return self.tasks[0][0].uid


class Movers:
    """The pods of a session that may be moved. They are collected on first use."""

    def __init__(self, session: Session, min_running: float) -> None:
        """``min_running``: pods that have run for less than so many seconds are not moved."""
        self._session = session
        self._min_running = min_running
        self._protected = session.plugins.victim_rules.protected(None)
        self._summed: dict[int, tuple[Ints, Ints]] = {}
        self._made: dict[str, Mover | None] = {}
        self._has_place: dict[Hashable, Mask] = {}
        """By kind of pod and queue: the nodes that had room for one when that was first asked."""

    @cached_property
    def by_row(self) -> Mapping[int, Sequence[Task]]:
        """By row: the running pods that nothing keeps from being moved, as far as that is known of each alone."""
        found: dict[int, list[Task]] = {}
        for job in self._jobs():
            for task in job.tasks.values():
                if (row := self._row_of(task)) is not None:
                    found.setdefault(row, []).append(task)
        return found

    @cached_property
    def all(self) -> Sequence[Placed]:
        """All of these pods, with their rows."""
        return [(task, row) for row, tasks in self.by_row.items() for task in tasks]

    @cached_property
    def freeable(self) -> Mapping[int, Ints]:
        """int64[nodes] by column: the amounts that they hold together on each node."""
        nodes, found = len(self._session.nodes), dict[int, Ints]()
        by_shape: dict[Shape, list[int]] = {}
        for task, row in self.all:
            by_shape.setdefault(task.shape, []).append(row)
        for shape, rows in by_shape.items():
            counts = np.bincount(rows, minlength=nodes)
            for column, amount in shape.request:
                found[column] = found.get(column, 0) + counts * amount
        return found

    def fewest(self, column: int, lack: Ints) -> Ints:
        """int64[nodes]: how many of them have to leave a node before it has so much more; ``NEVER`` if all are too few.

        None where it lacks nothing.
        """
        rows, before = self._sums(column)
        short = np.bincount(rows[before < lack[rows]], minlength=len(lack))
        found: Ints = np.where(lack <= 0, 0, np.where(short < np.bincount(rows, minlength=len(lack)), short + 1, NEVER))
        return found

    def _sums(self, column: int) -> tuple[Ints, Ints]:
        """int64[pods]: rows, and the sum of a column of a pod and those before it on its node, the largest first."""
        found = self._summed.get(column)
        if found is None:
            amounts = {task.shape: 0 for task, _ in self.all}
            for shape in amounts:
                amounts[shape] = dict(shape.request).get(column, 0)
            rows = np.array([row for _, row in self.all], dtype=np.int64)
            held = np.array([amounts[task.shape] for task, _ in self.all], dtype=np.int64)
            order = np.lexsort((-held, rows))
            rows, total = rows[order], np.cumsum(held[order])
            begins = np.flatnonzero(np.diff(rows, prepend=-1))
            earlier = np.concatenate(([0], total[begins[1:] - 1]))
            found = rows, total - np.repeat(earlier, np.diff(np.append(begins, len(rows))))
            self._summed[column] = found
        return found

    def at(self, row: int, job: JobView, evictor: Task) -> list[Mover]:
        """What may be moved off a node to make room for a job, the cheapest first."""
        barred = job.spec.barred
        tasks = [one for one in self.by_row.get(row, ()) if one.job != job.key and one.job not in barred]
        return self._among(evictor, tasks)

    def any_at(self, row: int) -> list[Mover]:
        """What may be moved off a node for nobody, the cheapest first."""
        tasks = self.by_row[row]
        return self._among(tasks[0], tasks)

    def _among(self, evictor: Task, tasks: Sequence[Task]) -> list[Mover]:
        jobs, movers = self._session.snapshot.jobs, dict[str, Mover]()
        for task in self._session.plugins.may_move(evictor, tasks):
            key = jobs[task.job].key if jobs[task.job].spec.leaves_whole else task.uid
            if key not in movers and (mover := self._mover(task)) is not None:
                movers[key] = mover
        return sorted(movers.values(), key=lambda mover: (mover.cost, mover.uid))

    def may_leave(self, movers: Iterable[Mover]) -> bool:
        """Whether budgets, and what their jobs say, let these leave together."""
        tasks = [task for mover in movers for task, _ in mover.tasks]
        if len(self._session.plugins.budgets.allowed(tasks)) < len(tasks):
            return False
        by_job: dict[str, list[Task]] = {}
        for task in tasks:
            by_job.setdefault(task.job, []).append(task)
        for key, leaving in by_job.items():
            view = self._session.view(key)
            protected = None if view is None else protected_by(view)
            if protected is not None and any(map(protected, leaving)):
                return False
        return True

    # -- each alone ---------------------------------------------------------------------------------------------------

    def _jobs(self) -> Iterator[Job]:
        """The jobs that hold nodes, and whose pods would be placed again."""
        snapshot = self._session.snapshot
        for name, jobs in snapshot.holders.items():
            queue = snapshot.queues.get(name)
            for job in jobs.values() if queue is not None and queue.open else ():
                if job.spec.preemptibility is not Preemptibility.NONE and not job.unsupported:
                    yield job

    def _row_of(self, task: Task) -> int | None:
        """The row of a pod that may be moved; None for any other."""
        if task.status is not Status.RUNNING or not task.preemptable or task.unsupported:
            return None
        if not task.owned or task.returns:
            return None  # nobody would make a new one, or it would come back to this node
        row = self._session.nodes.statics.row.get(task.node)
        if row is None or not self._session.node_selection.is_ours(row) or not self._has_run_enough(task):
            return None
        return None if self._protected is not None and self._protected(task) else row

    def _has_run_enough(self, task: Task) -> bool:
        until = (task.started or task.created) + self._min_running
        rules = self._session.plugins.victim_rules
        if until <= self._session.snapshot.now:
            return True
        rules.due = min(rules.due, -(-until // DUE_SECONDS) * DUE_SECONDS)
        return False

    def _mover(self, task: Task) -> Mover | None:
        """The pod with what leaves with it; None where that may not be moved, or has no other node to go to."""
        view = self._session.view(task.job)
        if view is None or view.gained or task.uid in view.moved:
            return None
        if task.uid not in self._made:
            self._made[task.uid] = self._make(view, task)
        return self._made[task.uid]

    def _make(self, view: JobView, task: Task) -> Mover | None:
        rows = self._session.nodes.statics.row
        tasks = unit_of(view, rows) if view.spec.leaves_whole else [(task, rows[task.node])]
        if tasks is None or not all(one is task or self._row_of(one) is not None for one, _ in tasks):
            return None
        if not all(self._could_be_elsewhere(view, one, row) for one, row in tasks):
            return None
        return Mover(view, tuple(tasks), self._cost(view, [one for one, _ in tasks]))

    def _could_be_elsewhere(self, view: JobView, task: Task, row: int) -> bool:
        """Whether another node has room for a pod like it now, as the session began.

        With claims, this is asked as if it had left: what was made for it is made again for its successor.
        """
        if task.claims is None:
            return self._has_another(task, row)
        with self._session.statement() as statement:
            statement.evict(view, task, row, EvictionCause(CONSOLIDATE, ""))
            return self._has_another(task, row)

    def _has_another(self, task: Task, row: int) -> bool:
        selection = self._session.node_selection
        successor = successor_of(task)
        kind = selection.kind(successor), self._session.snapshot.jobs[task.job].spec.queue
        has = self._has_place.get(kind)
        if has is None:
            with selection.anywhere():
                has = self._has_place[kind] = selection.rooms(successor, now=True) > 0
        return int(has.sum()) > int(has[row])

    def _cost(self, view: JobView, tasks: Sequence[Task]) -> MoveCost:
        surplus = Surplus(view)
        broken = view.spec.leaves_whole or not all(map(surplus.lose, tasks))
        return MoveCost(
            len(tasks),
            int(broken),
            len(tasks) * view.priority,
            self._session.plugins.victim_rules.wasted(tasks),
            -sum(task.started or task.created for task in tasks),
        )


def successor_of(task: Task) -> Task:
    """The pod that takes the place of one that is moved: like it, and without a node."""
    return msgspec.structs.replace(task, status=Status.PENDING, node="", nominated="")

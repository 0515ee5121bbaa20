"""Room on nodes that is kept for the planned starts of jobs (EASY backfill).

A job that finds no room gets a planned start: the time at which enough of the running work has ended, and the rooms on
nodes that it will take then. Later tasks may use such a node if they end before that time, or if they fit beside the
job there. Amounts that are free by then follow every placement and eviction of the session, and their undoing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import Failing
from vsched.framework.points.nodes import Check
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

A_START = "a planned start"
KEPT = f"node(s) had room that is kept for {A_START}"
"""The reason for a node whose room is kept. Messages put the start of the job in the place of ``A_START``."""
KEPT_IN_QUEUE = f"node(s) had room, but the room of the queue is kept for {A_START}"
"""The reason for a node with room where the job's queue may hold nothing besides the planned job."""
EndsBy = Callable[[Task], float]
"""When a task will have ended, seconds since the epoch; infinite where nobody knows."""


class Planned:
    """The planned start of one job."""

    __slots__ = ("ahead", "at", "ending", "extra", "job", "need", "number", "positions", "rows")

    def __init__(
        self,
        job: JobView,
        at: float,
        rows: Ints,
        need: Mapping[int, Ints],
        ending: Mapping[int, Ints],
        number: int,
        ahead: Sequence[str],
        extra: Mapping[int, int],
    ) -> None:
        self.job = job
        self.at = at
        """Seconds since the epoch."""
        self.rows = rows
        """int64[..]: the rows of its nodes, ascending."""
        self.need = need
        """int64[rows] by column: what it will take there, and what other planned starts will."""
        self.ending = ending
        """int64[rows] by column: what work holds there, or waits for, that ends before its start."""
        self.number = number
        """The number of the job's turn. Jobs that had their last turn before it are not bound by this plan."""
        self.ahead = ahead
        """Keys of the jobs that have begun on its nodes since it waits, and end before."""
        self.extra = dict(extra)
        """By column: what its queue may hold besides it at its start, of work that has not ended by then."""
        self.positions = {row: at for at, row in enumerate(rows.tolist())}

    @property
    def is_over(self) -> bool:
        """Whether the job has found places meanwhile."""
        return self.job.is_pipelined


class KeptRoom:
    """The planned starts of a session, and what they leave to other tasks."""

    def __init__(self, nodes: NodeTable, ends_by: EndsBy, queue_of: Callable[[Task], str]) -> None:
        self.planned: list[Planned] = []
        self.in_vain = 0
        """For how many jobs a start was sought in vain."""
        self._nodes = nodes
        self._ends_by = ends_by
        self._queue_of = queue_of
        self._ends: dict[str, float] = {}
        self._turn = 0
        self._turns: dict[str, int] = {}
        """By job: the number of its last turn."""
        self._foreseeing = False

    def ends_by(self, task: Task) -> float:
        """When a task will have ended; worked out once."""
        found = self._ends.get(task.uid)
        if found is None:
            found = self._ends[task.uid] = self._ends_by(task)
        return found

    def begin_turn(self, job: JobView) -> None:
        """Note that a job has its turn."""
        self._turn += 1
        self._turns[job.key] = self._turn

    def plan(
        self,
        job: JobView,
        at: float,
        places: Sequence[tuple[Task, int]],
        leaving: Mapping[int, Ints],
        ahead: Sequence[str] = (),
        extra: Mapping[int, int] | None = None,
    ) -> None:
        """Keep room for a job: its tasks with the rows where they will start.

        ``leaving`` (int64[nodes] by column) is what other work holds now, or waits for, that has ended by then;
        ``extra`` is what its queue may hold besides it then, by column.
        """
        rows = np.unique(np.array([row for _, row in places], dtype=np.int64))
        need = _sums(rows, places)
        for other in self.planned:
            _, here, there = np.intersect1d(rows, other.rows, assume_unique=True, return_indices=True)
            for column in need.keys() & other.need.keys():
                need[column][here] += other.need[column][there]
        nothing = np.zeros(len(self._nodes), dtype=np.int64)
        ending = {column: leaving.get(column, nothing)[rows] for column in need}
        self.planned.append(Planned(job, at, rows, need, ending, self._turn, ahead, extra or {}))

    def of(self, key: str) -> Planned | None:
        """The planned start of a job that has no places yet; None where it has none."""
        return next((plan for plan in self.planned if plan.job.key == key and not plan.is_over), None)

    def ahead_of(self, job: JobView) -> str:
        """The key of the first job with a planned start on a node where a later job was placed; empty without any."""
        if not self.planned or not job.moved:
            return ""
        turn, at = self._turns.get(job.key, inf), self._nodes.statics.row
        placed = [at[node] for status, node, _ in job.moved.values() if status is Status.ALLOCATED]
        later = (one for one in self.planned if turn > one.number and one.job.key != job.key and not one.is_over)
        return next((one.job.key for one in later if any(row in one.positions for row in placed)), "")

    @contextmanager
    def foreseeing(self) -> Iterator[None]:
        """A context in which the amounts on nodes are those of a later time.

        What is kept for planned starts is taken then, for all other tasks.
        """
        self._foreseeing = True
        try:
            yield
        finally:
            self._foreseeing = False

    # -- what is left for a task ------------------------------------------------------------------------------------

    def binding(self, task: Task) -> Sequence[Planned]:
        """The planned starts that a task may not delay."""
        if not self.planned:
            return ()
        if self._foreseeing:
            return [plan for plan in self.planned if plan.job.key != task.job]
        turn = self._turns.get(task.job, inf)
        return [
            plan
            for plan in self.planned
            if plan.job.key != task.job and turn > plan.number and self.ends_by(task) > plan.at and not plan.is_over
        ]

    def class_of(self, task: Task) -> Hashable:
        """Tasks of one shape and of equal class find the same room; empty for a task that nothing binds."""
        bound = tuple([plan.job.key for plan in self.binding(task)])
        return (*bound, "later") if bound and self._foreseeing else bound

    def checks(self, task: Task) -> list[Check]:
        """For each planned start that binds a task: the nodes where the task fits beside it."""
        return [
            Check(self._reason(plan, task), self._room(plan, task) > 0, code=Code.RESERVED)
            for plan in self.binding(task)
        ]

    def limit(self, task: Task, rooms: Ints) -> list[Failing]:
        """Limit how many tasks like this one each node could hold; says which nodes could hold more if nothing were
        kept."""
        found: list[Failing] = []
        for plan in self.binding(task):
            most = self._room(plan, task)
            scarce = most < rooms
            np.minimum(rooms, most, out=rooms)
            found.append(Failing(self._reason(plan, task), Code.RESERVED, scarce))
        return found

    def _reason(self, plan: Planned, task: Task) -> str:
        return KEPT if self._queue_has_room(plan, task) else KEPT_IN_QUEUE

    def _queue_has_room(self, plan: Planned, task: Task) -> bool:
        """Whether the queue of a plan may hold a task besides the plan's job, where the task is of that queue."""
        if self._queue_of(task) != plan.job.queue:
            return True
        return all(plan.extra.get(column, amount) >= amount for column, amount in task.shape.request)

    def _room(self, plan: Planned, task: Task) -> Ints:
        """int64[nodes]: how many tasks like this one fit beside the job of a plan; on other nodes any number."""
        rooms: Ints = np.full(len(self._nodes), UNLIMITED, dtype=np.int64)
        if not self._foreseeing and not self._queue_has_room(plan, task):
            rooms[:] = 0
            return rooms
        most = rooms[plan.rows]
        for column, amount in task.shape.request:
            need = plan.need.get(column)
            if need is not None:
                free = self._nodes.future_idle(column)[plan.rows] - need
                if not self._foreseeing:
                    free += plan.ending[column]
                np.minimum(most, np.where(need > 0, free // amount, UNLIMITED), out=most)
        rooms[plan.rows] = np.maximum(most, 0)
        return rooms

    # -- placements and evictions -----------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The task was placed on the row, or its eviction was undone."""
        self._shift(job, task, row, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The task was evicted from the row, or its placement was undone."""
        self._shift(job, task, row, -1)

    def _shift(self, job: JobView, task: Task, row: int, sign: int) -> None:
        for plan in self.planned:
            position = plan.positions.get(row)
            if task.job == plan.job.key or (position is None and job.queue != plan.job.queue):
                continue
            if self.ends_by(task) > plan.at:
                if job.queue == plan.job.queue:
                    for column, amount in task.shape.request:
                        if column in plan.extra:
                            plan.extra[column] -= sign * amount
            elif position is not None:
                for column, amount in task.shape.request:
                    if column in plan.ending:
                        plan.ending[column][position] += sign * amount


def _sums(rows: Ints, places: Sequence[tuple[Task, int]]) -> dict[int, Ints]:
    """int64[rows] by column: what these tasks take together on each of their rows."""
    found: dict[int, Ints] = {}
    for task, row in places:
        position = rows.searchsorted(row)
        for column, amount in task.shape.request:
            found.setdefault(column, np.zeros(len(rows), dtype=np.int64))[position] += amount
    return found

"""Room on nodes that is reserved for the planned starts of jobs (EASY backfill).

A job that finds no room gets a planned start: the time at which enough of the running work has ended, and the rooms on
nodes that it will take then. Later tasks may use such a node if they end before that time, or if they fit beside the
job there. Amounts that are free by then follow every placement and eviction of the session, and their undoing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf

import numpy as np

from vsched.framework.codes import Code, NoStart
from vsched.framework.jobs import JobView
from vsched.framework.nodes.job_start import JobStart, Overlap
from vsched.framework.nodes.limited import Left, Limited, LimitsOf, asked
from vsched.framework.nodes.reserving import Placements, limit_beside, limit_to
from vsched.framework.nodes.run_slots import LimitsOnStart, RunSlots, StartsLeft
from vsched.framework.nodes.why import Failing
from vsched.framework.points.nodes import Check
from vsched.framework.times import told_until
from vsched.framework.words import nodes as words
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

EndsBy = Callable[[Task], float]
"""When a task will have ended, seconds since the epoch; infinite where nobody knows."""
A_RUN = Limited()
"""Stands for all limits on running jobs."""


class PlannedRoom:
    """The planned starts of a session, and what they leave to other tasks."""

    def __init__(
        self,
        nodes: NodeTable,
        ends_by: EndsBy,
        limits_of: LimitsOf,
        has_devices: Callable[[Task], bool],
        jobs: Mapping[str, JobView],
        on_start: LimitsOnStart,
    ) -> None:
        """``jobs`` are those of the session; ``on_start`` gives the limits on running jobs that count one."""
        self.planned: list[JobStart] = []
        self.failed_searches = 0
        """The number of jobs for which no start was found."""
        self.unplanned: dict[str, NoStart] = {}
        """By job without room: why no start is planned for it."""
        self._nodes = nodes
        self._ends_by = ends_by
        self.limits_of = limits_of
        self.has_devices = has_devices
        """Whether a task claims devices."""
        self._jobs = jobs
        self._on_start = on_start
        self._ends: dict[str, float] = {}
        self._moving: set[float] = set()
        """The ends of tasks that do not run yet: they move on with the time of the session."""
        self._turn = 0
        self._turns: dict[str, int] = {}
        """By job: the number of its last turn."""
        self._at_later_time = False

    def ends_by(self, task: Task) -> float:
        """When a task will have ended; worked out once."""
        found = self._ends.get(task.uid)
        if found is None:
            found = self._ends[task.uid] = self._ends_by(task)
            if not task.started:
                self._moving.add(found)
        return found

    def lasts_until(self, now: float) -> float:
        """Until when the planned starts, what they leave and what is said of them stay as they are at ``now``, as long
        as the ends of running work do."""
        until = inf
        for plan in self.planned:
            ends = (now + (plan.at - end) for end in self._moving if end <= plan.at)
            until = min(until, told_until(plan.at, now), *ends)
        return until

    def begin_turn(self, job: JobView) -> None:
        """Note that a job has its turn."""
        self._turn += 1
        self._turns[job.key] = self._turn

    def plan(
        self,
        job: JobView,
        at: float,
        places: Placements,
        leaving: Mapping[int, Ints],
        ahead: Sequence[str] = (),
        extra: Left | None = None,
        starts_left: StartsLeft | None = None,
    ) -> None:
        """Reserve room for a job: ``places`` are its tasks with the rows where they will start.

        ``leaving`` (int64[nodes] by column) is what other work holds now, or waits for, that has ended by then;
        ``extra`` is what its queue, those above and its namespace may hold besides it then, and ``starts_left`` how
        many jobs may run besides it by the limits that count it.
        """
        has_devices = any(self.has_devices(task) for task, _ in places)
        runs = RunSlots(at, starts_left, self._on_start, self.ends_by) if starts_left else None
        turn = self._turn
        planned = JobStart(job, at, places, leaving, turn, ahead, extra or {}, has_devices=has_devices, runs=runs)
        for other in self.planned:
            _, here, there = np.intersect1d(planned.rows, other.rows, assume_unique=True, return_indices=True)
            if len(here):
                planned.beside.append(Overlap(other, here, there))
            if at < other.at:
                for task, _ in places:
                    self._use_up(other, task, 1)
                if other.runs is not None:
                    other.runs.take(job)
            elif runs is not None and not other.is_over:
                runs.count(other.job)
        self.planned.append(planned)

    def of(self, key: str) -> JobStart | None:
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
    def at_later_time(self) -> Iterator[None]:
        """A context in which the amounts on nodes are those of a later time.

        Room of planned starts counts as taken then, for all other tasks.
        """
        self._at_later_time = True
        try:
            yield
        finally:
            self._at_later_time = False

    # -- what is left for a task ------------------------------------------------------------------------------------

    def binding(self, task: Task) -> Sequence[JobStart]:
        """The planned starts that a task may not delay."""
        if not self.planned:
            return ()
        if self._at_later_time:
            return [plan for plan in self.planned if plan.job.key != task.job and not plan.is_over]
        turn = self._turns.get(task.job, inf)
        return [
            plan
            for plan in self.planned
            if plan.job.key != task.job and turn > plan.number and self.ends_by(task) > plan.at and not plan.is_over
        ]

    def class_of(self, task: Task) -> Hashable:
        """Tasks of one shape and of equal class find the same room; empty for a task that nothing binds."""
        bound = tuple([(plan.job.key, self._short(plan, task)) for plan in self.binding(task)])
        return (*bound, "later") if bound and self._at_later_time else bound

    def checks(self, task: Task) -> list[Check]:
        """For each planned start that binds a task: the nodes where the task fits beside it."""
        return [
            Check(self._reason(plan, task), self._room(plan, task) > 0, code=Code.RESERVED)
            for plan in self.binding(task)
        ]

    def limit(self, task: Task, rooms: Ints) -> list[Failing]:
        """Limit how many tasks like this one each node could hold; says which nodes could hold more if nothing were
        reserved."""
        return [limit_to(rooms, self._room(plan, task), self._reason(plan, task)) for plan in self.binding(task)]

    def _reason(self, plan: JobStart, task: Task) -> str:
        short = self._short(plan, task)
        if short is None:
            return words.RESERVED
        if short == A_RUN:
            return words.RESERVED_RUN
        if short == self.limits_of(task)[0]:
            return words.RESERVED_IN_QUEUE
        return words.reserved_elsewhere(short.queue, short.namespace)

    def _short(self, plan: JobStart, task: Task) -> Limited | None:
        """Whose limit leaves nothing for a task besides the plan's job; None where the limits have room for both.

        ``A_RUN`` where it is a limit on running jobs.
        """
        if plan.runs is not None and plan.runs.short(self._jobs[task.job]):
            return A_RUN
        for limited in self.limits_of(task):
            extra = plan.extra.get(limited)
            if extra is not None and any(extra.get(key, amount) < amount for key, amount in asked(limited, task)):
                return limited
        return None

    def _room(self, plan: JobStart, task: Task) -> Ints:
        """int64[nodes]: how many tasks like this one fit beside the job of a plan; on other nodes any number."""
        rooms: Ints = np.full(len(self._nodes), UNLIMITED, dtype=np.int64)
        if not self._at_later_time and self._short(plan, task) is not None:
            rooms[:] = 0
            return rooms
        most = rooms[plan.rows]
        for column, amount in task.shape.request:
            need = plan.need(column)
            if need is not None:
                free = self._nodes.future_idle(column)[plan.rows]
                if not self._at_later_time and column in plan.ending:
                    free = free + plan.ending[column]
                limit_beside(most, free, need, amount)
        if plan.has_devices and not self._at_later_time and self.has_devices(task):
            most[:] = 0
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
            if task.job == plan.job.key:
                continue
            position = plan.positions.get(row)
            if plan.runs is not None:
                plan.runs.shift(job, task, sign)
            if not plan.extra and position is None:
                continue
            if self.ends_by(task) > plan.at:
                self._use_up(plan, task, sign)
            elif position is not None:
                for column, amount in task.shape.request:
                    if column in plan.ending:
                        plan.ending[column][position] += sign * amount

    def _use_up(self, plan: JobStart, task: Task, sign: int) -> None:
        """Count a task that will still be there, in what may be held besides the planned job."""
        for limited in self.limits_of(task):
            extra = plan.extra.get(limited)
            if extra is not None:
                for key, amount in asked(limited, task):
                    if key in extra:
                        extra[key] -= sign * amount

"""The search for the earliest start of a job that finds no room, in virtual time.

The moment is found by bisection over the ends of running work. A count of room, which is quick, says from when on the
job may fit; whether it does is found out by placing it on the nodes as they will be, with the rules that hold for any
placement. All of that is rolled back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from vsched.actions.assigning import place_until_ready
from vsched.actions.blocked import PendingTasks
from vsched.actions.ending import EndingWork
from vsched.actions.places import GangPlacement, place_gang
from vsched.actions.placing import goal_later
from vsched.actions.planned_limits import PlannedLimits
from vsched.actions.subgroups import place_whole
from vsched.framework.codes import Code, NoStart
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.job_start import JobStart
from vsched.framework.nodes.limited import Left
from vsched.framework.nodes.planned_room import PlannedRoom
from vsched.framework.nodes.reserving import Placements
from vsched.framework.nodes.run_slots import StartsLeft
from vsched.framework.nominations import lift_nomination
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

EMPTIEST_LAST = -1e6
"""Score of an idle node for a job that starts later: other work can use such a node until then."""


class Start(NamedTuple):
    """When and where a job can start."""

    at: float
    places: Placements
    leaving: dict[int, Ints]
    """int64[nodes] by column: what other work holds now that has ended by then."""
    ahead: Sequence[str]
    """Keys of jobs that have begun on its nodes since it waits, and have ended by then."""
    left: Left
    """What its queue, those above and its namespace may hold besides it then, of work that has not ended."""
    starts_left: StartsLeft
    """How many jobs may run besides it then, by the limits on running jobs that count it."""


class StartSearch:
    """The search for the earliest start of one job."""

    def __init__(
        self, session: Session, queue: Queue, job: JobView, tasks: Sequence[Task], planned: PlannedRoom
    ) -> None:
        self._session = session
        self._queue = queue
        self._job = job
        self._tasks = tasks
        self._missing = session.plugins.tasks_missing(job)
        columns = {column for task in tasks for column, _ in task.shape.request}
        self._work = EndingWork(session, job, planned.ends_by, columns)
        self._left: Left = {}
        """As of the last try: what may be held besides the job."""
        self._starts_left: StartsLeft = {}
        """The same of limits on running jobs."""
        self._runs = self._running_with()
        self._limits = PlannedLimits(session, queue, tasks[: self._missing])
        self._counted: Mask = self._work.none()
        """bool[ends]: the tasks whose end the limits of queues and namespaces are asked about; none where they let the
        job in at present."""
        concerns = session.claims.concerns
        self._has_claims = any(concerns(task) for task in tasks)
        self._claiming: Mask = self._work.which(concerns) if self._has_claims else self._work.none()
        """bool[ends]: the tasks whose claims may be what the job needs."""
        self._earlier = [plan for plan in planned.planned if not plan.is_over]
        shares = any(not plan.extra.keys().isdisjoint(planned.limits_of(tasks[0])) for plan in self._earlier)
        self._is_limited = shares or self._refusal() is not None
        """Whether queue or namespace do not let the job in at present, or earlier planned jobs will take of them."""

    def earliest(self) -> Start | NoStart:
        """The earliest start, or why there is none even when all work with a known end has ended."""
        last, least = len(self._work.steps) - 1, self._least()
        if least > last:
            return NoStart.LIMITS
        if not self._may_fit(last):
            return NoStart.DEVICES if self._has_claims and self._lacks_devices(last) else NoStart.ROOM
        first = _first(least, last, self._may_fit)
        if self._is_limited:
            let_in = self._let_in(least)
            if isinstance(let_in, NoStart):
                return let_in
            first = max(first, let_in)
        places = self._places(first)
        if places is None and first < last:
            if self._places(last) is None:
                return NoStart.ROOM
            first = _first(first + 1, last, lambda step: self._places(step) is not None)
            places = self._places(first)
        if places is None:
            return NoStart.ROOM
        leaving = self._work.leaving(first, np.ones_like(self._runs))
        ahead = self._work.ahead(first, places)
        return Start(self._work.steps[first][0], places, leaving, ahead, self._left, self._starts_left)

    def _least(self) -> int:
        """The first step that delays no earlier planned start at a limit, and leaves it the devices that it claims.

        One more than the number of steps where there is none.
        """
        before = max((plan.at for plan in self._earlier if self._waits_for(plan)), default=-inf)
        return next((step for step, (at, _) in enumerate(self._work.steps) if at >= before), len(self._work.steps))

    def _waits_for(self, plan: JobStart) -> bool:
        """Whether the job may start only after another one: limits leave too little besides, or both claim devices."""
        if plan.has_devices and any(self._session.claims.has_devices(task) for task in self._tasks):
            return True
        return any(
            extra.get(key, amount) < amount
            for limited, extra in plan.extra.items()
            for key, amount in self._limits.takes(limited)
        )

    def _running_with(self) -> Mask:
        """bool[ends]: the tasks of jobs that a limit on running jobs counts together with the job."""
        session, own = self._session, self._session.plugins.starts_left(self._job).keys()
        if not own:
            return self._work.none()
        counted: dict[str, bool] = {}
        for key in self._work.jobs:
            view = session.view(key)
            counted[key] = view is not None and not own.isdisjoint(session.plugins.starts_left(view))
        return self._work.which(lambda task: counted[task.job])

    def _refusal(self) -> Refusal | None:
        """What keeps the job from a start, of all limits; None where nothing does."""
        return self._limits.refusal() or self._session.plugins.start_limit(self._job)

    def _let_in(self, least: int) -> int | NoStart:
        """The first step at which the limits let the job in, or why there is none.

        Where tasks differ, those that start may be smaller than the first ones: then the last step may do, too.
        """
        refusal: Refusal | None = None
        close: Mask = self._work.which(self._limits.is_close) | self._runs
        for self._counted in (close, np.ones_like(close)):
            done, before = 0, -inf
            with self._session.statement() as statement:
                for step, (at, count) in enumerate(self._work.steps):
                    changed = self._work.end(done, count, self._counted)
                    begin = [plan for plan in self._earlier if before < plan.at <= at]
                    self._start(statement, begin, claiming=False)
                    changed |= bool(begin)
                    if step >= least and (changed or step == least):
                        refusal = self._refusal()
                        if refusal is None:
                            return step
                    done, before = count, at
            if refusal is not None and refusal.code is Code.RUNNING_JOBS:
                return NoStart.RUNNING_JOBS
            if refusal is None or not self._limits.is_wide(refusal):
                break
        return NoStart.LIMITS if len({task.shape for task in self._tasks}) == 1 else len(self._work.steps) - 1

    def _start(self, statement: Statement, plans: Sequence[JobStart], *, claiming: bool = True) -> bool:
        """Let jobs start that were planned before this one; False where one does not get what it claims.

        Without ``claiming``, tasks with claims do not start.
        """
        claims = self._session.claims
        for plan in plans:
            for task, row in plan.places:
                if claiming or not claims.concerns(task):
                    lift_nomination(self._session, statement, plan.job, task)
                    found = claims.of(task)
                    if found is not None and not found.passes(row, later=True):
                        return False
                    statement.pipeline(plan.job, task, row)
        return True

    def _is_let_in(self) -> bool:
        """Whether neither the queue's share nor limits on running jobs keep the job from a turn."""
        plugins = self._session.plugins
        if self._is_limited and plugins.overused(self._queue):
            return False
        return plugins.start_limit(self._job) is None

    def _may_fit(self, step: int) -> bool:
        """Whether the nodes have room for enough of the tasks, each kind counted without the others."""
        selection = self._session.node_selection
        with self._work.once_ended(step, self._claiming):
            kinds = [selection.kind(task) for task in self._tasks]
            firsts = dict(zip(reversed(kinds), reversed(self._tasks), strict=True))
            fits = 0
            for kind, count in Counter(kinds).items():
                fits += min(count, int(np.minimum(selection.rooms(firsts[kind]), count).sum()))
                if fits >= self._missing:
                    return True
        return False

    def _lacks_devices(self, step: int) -> bool:
        """Whether what the tasks claim is in use then, whatever else the nodes have room for."""
        with self._work.once_ended(step, self._claiming):
            counts = Counter(self._session.node_selection.kind(task) for task in self._tasks)
            for task in self._tasks:
                found = self._session.claims.of(task)
                wanted = min(counts[self._session.node_selection.kind(task)], self._missing)
                if found is not None and found.room(later=True) < wanted:
                    return True
        return False

    def _places(self, step: int) -> Placements | None:
        """Where the tasks would be placed then; None where too few would be. All of it is rolled back."""
        session, job = self._session, self._job
        of_tasks = session.refused.of_tasks(self._tasks)
        tried = session.refused.tried.intersection(of_tasks)
        of_job = session.refused.jobs.get(job.key)
        was_short = session.node_selection.is_short
        found: Placements | None = None
        at, _ = self._work.steps[step]
        each = self._counted | self._claiming | self._runs
        if self._takes_place_of_another(at):
            return None
        with self._work.once_ended(step, each) as statement:
            begin = [plan for plan in self._earlier if plan.at <= at]
            if self._start(statement, begin) and self._is_let_in():
                self._place(statement)
            if job.is_pipelined and session.plugins.job_pipelined(job):
                placed = (entry for entry in statement.steps if entry.before is Status.PENDING and entry.job is job)
                found = [(entry.task, entry.row) for entry in placed if job.moved.get(entry.task.uid)]
                self._left = self._limits.left(self._work.ended(step, ~each))
                self._starts_left = session.plugins.starts_left(job)
        session.node_selection.is_short = was_short
        session.refused.tried.difference_update(of_tasks)
        session.refused.tried.update(tried)
        session.refused.restore(of_tasks)
        if of_job is None:
            session.refused.jobs.pop(job.key, None)
        else:
            session.refused.jobs[job.key] = of_job
        return found

    def _takes_place_of_another(self, at: float) -> bool:
        """Whether limits on running jobs would keep a job from its planned start, if this one began before it."""
        later = (plan.runs for plan in self._earlier if plan.at > at)
        return any(runs is not None and runs.short(self._job) for runs in later)

    def _place(self, statement: Statement) -> None:
        """Place the tasks until the job has its minimum, as in a turn."""
        session, queue, job = self._session, self._queue, self._job
        pending, goal = PendingTasks(self._tasks), goal_later(session, job)
        topology = job.spec.topology
        if job.sub_groups is not None:
            place_whole(session, queue, job, job.sub_groups, pending, statement, goal)
        elif topology is not None:
            pods_by_domain = session.places.pods_by_domain
            gang = GangPlacement(job, topology, lambda: pods_by_domain(job, topology), goal)
            place_gang(session, queue, pending, statement, gang)
        else:
            with session.node_selection.within(np.arange(len(session.nodes)), self._fullest_first()):
                place_until_ready(session, queue, job, pending, statement, goal)

    def _fullest_first(self) -> Floats:
        """float64[nodes]: scores that prefer nodes with little idle room now."""
        nodes = self._session.nodes
        idle: Floats = np.zeros(len(nodes))
        for column in self._work.columns:
            idle += np.maximum(nodes.idle[column], 0) / np.maximum(nodes.allocatable[column], 1)
        return EMPTIEST_LAST * idle


def _first(low: int, high: int, enough: Callable[[int], bool]) -> int:
    """The first step from ``low`` on that is enough; ``high`` is."""
    return low + bisect_left(range(low, high), True, key=enough)

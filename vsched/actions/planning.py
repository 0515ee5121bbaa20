"""Plans the start of a job that finds no room: the earliest moment at which it fits as running work ends.

The moment is found by bisection over the ends of running work. A count of room, which is quick, says from when on the
job may fit; whether it does is found out by placing it on the nodes as they will be, with the rules that hold for any
placement. All of that is rolled back. What stays is the room that is kept for the job (``framework.nodes.kept``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from vsched.actions.held import Worksheet, tell_again, told_to
from vsched.actions.places import Gang, place_gang
from vsched.actions.placing import Goal, place_until_ready, worth_going_on
from vsched.actions.subgroups import place_whole
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.kept import KeptRoom
from vsched.framework.session import Session
from vsched.model.amounts.resources import Vector, add
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above

VAIN_MAX = 16
"""For so many jobs of one cycle a start is sought in vain; for further ones it is not sought."""
NO_CAUSE = EvictionCause("", "")
"""Of tasks that are taken to have ended."""
EMPTIEST_LAST = -1e6
"""Score of an idle node for a job that starts later: other work can use such a node until then."""

Places = Sequence[tuple[Task, int]]
"""Tasks with rows."""


def plan_start(session: Session, queue: Queue, job: JobView, sheet: Callable[[], Worksheet]) -> None:
    """Plan the start of a job whose turn came to nothing, if the policy allows it and the time can be said.

    ``sheet`` gives the tasks that it has to place.
    """
    kept, planner = session.kept, session.planner
    if kept is None or planner is None or job.is_pipelined or not session.plugins.tasks_missing(job):
        return
    if len(kept.planned) >= planner.planned_starts() or kept.in_vain >= VAIN_MAX:
        return
    if kept.of(job.key) is not None or not planner.may_plan(job) or session.plugins.start_limit(job) is not None:
        return
    tasks = tuple(sheet())
    if len(tasks) < session.plugins.tasks_missing(job):
        return
    with kept.foreseeing():
        found = Foresight(session, queue, job, tasks, kept).earliest()
    if found is None:
        kept.in_vain += 1
        return
    kept.plan(job, found.at, found.places, found.leaving, found.ahead, found.extra)


class Start(NamedTuple):
    """When and where a job can start."""

    at: float
    places: Places
    leaving: dict[int, Ints]
    """int64[nodes] by column: what other work holds now that has ended by then."""
    ahead: Sequence[str]
    """Keys of jobs that have begun on its nodes since it waits, and have ended by then."""
    extra: dict[int, int]
    """By column: what its queue may hold besides it then, of work that has not ended."""


class Foresight:
    """The search for the earliest start of one job."""

    def __init__(self, session: Session, queue: Queue, job: JobView, tasks: Sequence[Task], kept: KeptRoom) -> None:
        self._session = session
        self._queue = queue
        self._job = job
        self._tasks = tasks
        self._missing = session.plugins.tasks_missing(job)
        now = session.snapshot.now
        shapes: dict[Shape, int] = {}
        ends: list[float] = []
        rows: list[int] = []
        kinds: list[int] = []
        working: list[Task] = []
        for task, row in holding(session):
            at = kept.ends_by(task)
            if at < inf and task.job != job.key:
                ends.append(at)
                rows.append(row)
                working.append(task)
                kinds.append(shapes.setdefault(task.shape, len(shapes)))
        times = np.maximum(np.array(ends, dtype=np.float64), now)
        order = np.argsort(times, kind="stable")
        times, kind = times[order], np.array(kinds, dtype=np.int64)[order]
        self._rows: Ints = np.array(rows, dtype=np.int64)[order]
        requests = [dict(shape.request) for shape in shapes]
        self._amounts: dict[int, Ints] = {}
        """int64[ends] by column: what ends, the first first."""
        for column in sorted({column for task in tasks for column, _ in task.shape.request}):
            asked = np.array([request.get(column, 0) for request in requests], dtype=np.int64)
            self._amounts[column] = asked[kind] if len(kind) else kind
        self._working = [working[number] for number in order]
        self._extra: dict[int, int] = {}
        """By column, as of the last try: what the queue may hold besides the job."""
        self._counted = self._in_queues() if self._is_refused() else np.zeros(len(times), dtype=np.bool_)
        """bool[ends]: the tasks whose end the limits of queues are asked about; none where they do not refuse the job
        at present."""
        lasts = np.flatnonzero(np.append(times[1:] > times[:-1], True)).tolist() if len(times) else []
        self._steps = [(now, 0), *((float(times[last]), last + 1) for last in lasts)]
        """Moments, and how many of the ends are over by then."""

    def earliest(self) -> Start | None:
        """The earliest start; None where the job does not fit even when all work has ended whose end is known."""
        last = len(self._steps) - 1
        if not self._may_fit(last):
            return None
        first = self._first(0, last, self._may_fit)
        if self._counted.any():
            first = max(first, self._let_in())
        elif self._is_refused():
            return None
        places = self._places(first)
        if places is None and first < last:
            if self._places(last) is None:
                return None
            first = self._first(first + 1, last, lambda step: self._places(step) is not None)
            places = self._places(first)
        if places is None:
            return None
        every = np.ones(len(self._rows), dtype=np.bool_)
        leaving, ahead = self._leaving(first, every), self._ahead(first, places)
        return Start(self._steps[first][0], places, leaving, ahead, self._extra)

    def _is_refused(self) -> bool:
        """Whether the limits of the queue refuse what the job lacks."""
        total: Vector = {}
        for task in self._tasks[: self._missing]:
            add(total, task.shape.request)
        return self._session.plugins.allocatable(self._queue, tuple(sorted(total.items()))) is not None

    def _in_queues(self) -> Mask:
        """bool[ends]: the tasks of the job's queue, and of queues that share a queue above with it."""
        snapshot = self._session.snapshot
        queues = snapshot.queues

        def path(queue: Queue) -> set[str]:
            return {queue.name, *(one.name for one in above(queue, queues.get))}

        own = path(self._queue)
        near = {name for name, queue in queues.items() if not own.isdisjoint(path(queue))}
        found = [
            (HOLDS[task.status].allocated or task.claims is None) and snapshot.jobs[task.job].spec.queue in near
            for task in self._working
        ]
        return np.array(found, dtype=np.bool_)

    def _let_in(self) -> int:
        """The first step at which the limits of the queue let the job in; the last one if none does."""
        done, last = 0, len(self._steps) - 1
        with self._session.statement():
            for step, (_, count) in enumerate(self._steps):
                if self._end(done, count) and not self._is_refused():
                    return step
                done = count
        return last

    def _end(self, first: int, last: int) -> bool:
        """Let tasks that count for limits end, from one number up to another; False if there is none among them."""
        session, any_ended = self._session, False
        for number in (np.flatnonzero(self._counted[first:last]) + first).tolist():
            task = self._working[number]
            view = session.view(task.job)
            if view is not None:
                session.ledger.end(view, task, int(self._rows[number]), NO_CAUSE)
                any_ended = True
        return any_ended

    def _left_in_queue(self, step: int) -> dict[int, int]:
        """By column: what the queue may hold besides the job, which has its places, and work that has not ended."""
        session, found = self._session, dict[int, int]()
        own = [session.snapshot.jobs[task.job].spec.queue == self._queue.name for task in self._working]
        ended = np.array(own[: self._steps[step][1]], dtype=np.bool_) & ~self._counted[: self._steps[step][1]]
        for column, amounts in self._amounts.items():
            low, high = 0, int(session.snapshot.total[column]) + 1
            while low < high - 1:
                middle = (low + high) // 2
                fits = session.plugins.allocatable(self._queue, ((column, middle),)) is None
                low, high = (middle, high) if fits else (low, middle)
            found[column] = low + int(amounts[: len(ended)][ended].sum())
        return found

    def _ahead(self, step: int, places: Places) -> list[str]:
        """The jobs that have begun on these nodes since this one was created, and have ended by then; by name."""
        on_nodes = np.isin(self._rows[: self._steps[step][1]], [row for _, row in places])
        later = (self._working[number] for number in np.flatnonzero(on_nodes).tolist())
        return sorted({task.job for task in later if (task.started or task.created) > self._job.created})

    @staticmethod
    def _first(low: int, high: int, enough: Callable[[int], bool]) -> int:
        """The first step from ``low`` on that is enough; ``high`` is."""
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle + 1, high)
        return low

    def _leaving(self, step: int, which: Mask) -> dict[int, Ints]:
        """int64[nodes] by column: what some of the work (bool[ends]) holds that has ended by then."""
        among = np.flatnonzero(which[: self._steps[step][1]])
        found: dict[int, Ints] = {}
        for column, amounts in self._amounts.items():
            found[column] = np.zeros(len(self._session.nodes), dtype=np.int64)
            np.add.at(found[column], self._rows[among], amounts[among])
        return found

    def _may_fit(self, step: int) -> bool:
        """Whether the nodes have room for enough of the tasks, each kind counted without the others."""
        selection = self._session.node_selection
        with self._session.ledger.foreseen(self._leaving(step, np.ones(len(self._rows), dtype=np.bool_))):
            kinds = [selection.kind(task) for task in self._tasks]
            firsts = dict(zip(reversed(kinds), reversed(self._tasks), strict=True))
            fits = 0
            for kind, count in Counter(kinds).items():
                fits += min(count, int(np.minimum(selection.rooms(firsts[kind]), count).sum()))
                if fits >= self._missing:
                    return True
        return False

    def _places(self, step: int) -> Places | None:
        """Where the tasks find their places then; None where too few of them do. Nothing has changed after it."""
        session, job = self._session, self._job
        told = told_to(session, self._tasks)
        tried = session.tried.intersection(told)
        of_job = session.job_refusals.get(job.key)
        nothing_short = session.node_selection.is_short
        found: Places | None = None
        with session.ledger.foreseen(self._leaving(step, ~self._counted)), session.statement() as statement:
            self._end(0, self._steps[step][1])
            self._place(statement)
            if job.is_pipelined and session.plugins.job_pipelined(job):
                placed = (entry for entry in statement.steps if entry.before is Status.PENDING)
                found = [(entry.task, entry.row) for entry in placed if job.moved.get(entry.task.uid)]
                self._extra = self._left_in_queue(step)
        session.node_selection.is_short = nothing_short
        session.tried.difference_update(told)
        session.tried.update(tried)
        tell_again(session, told)
        if of_job is None:
            session.job_refusals.pop(job.key, None)
        else:
            session.job_refusals[job.key] = of_job
        return found

    def _place(self, statement: Statement) -> None:
        """Place the tasks until the job has its minimum, as in a turn."""
        session, queue, job = self._session, self._queue, self._job
        sheet = Worksheet(self._tasks)
        goal = Goal(
            lambda: job.is_pipelined,
            lambda: max(0, session.plugins.tasks_missing(job) - job.waiting),
            lambda failed_roles, left: worth_going_on(job, failed_roles),
        )
        topology = job.spec.topology
        if job.sub_groups is not None:
            place_whole(session, queue, job, job.sub_groups, sheet, statement, goal)
        elif topology is not None:
            footing = session.places.footing
            gang = Gang(job, topology, lambda: footing(job, topology), goal, lambda: job.is_pipelined)
            place_gang(session, queue, sheet, statement, gang)
        else:
            with session.node_selection.within(np.arange(len(session.nodes)), self._fullest_first()):
                place_until_ready(session, queue, job, sheet, statement, goal)

    def _fullest_first(self) -> Floats:
        """float64[nodes]: scores that prefer nodes with little idle room now."""
        nodes = self._session.nodes
        idle: Floats = np.zeros(len(nodes))
        for column in self._amounts:
            idle += np.maximum(nodes.idle[column], 0) / np.maximum(nodes.allocatable[column], 1)
        return EMPTIEST_LAST * idle


def holding(session: Session) -> Iterator[tuple[Task, int]]:
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

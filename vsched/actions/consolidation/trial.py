"""The trial of moves: whether a job finds room once pods have left, with a place now for each of their successors.

It takes real steps on a statement, and undoes them: the pods are evicted, their successors take room that is idle now,
and then the job's tasks take room that is idle or that is left by then.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from vsched.actions.close_choice import choose_close
from vsched.actions.consolidation.movers import MoveCost, Mover, Movers, Placed, successor_of
from vsched.actions.one_turn import place_tasks
from vsched.actions.placing import PlacingGoal, goal_of, waits_for
from vsched.actions.shuffle import may_have_again
from vsched.actions.task_kinds import TaskKinds
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.selection import Choice
from vsched.framework.session import Session
from vsched.model.nodes.table import Ints
from vsched.model.plan import CONSOLIDATE
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

PLACES_RANKED = 128
"""So many nodes with room for a successor are ranked by what is left there for the job, the best by score."""
PLACES_TRIED = 8
"""On so many of them it is tried."""

FURTHER_MAX = 64
"""So many pods of a job beyond its minimum are placed to see what they leave to successors."""


class Move(NamedTuple):
    """One pod, the node that it leaves, and the node that has room for its successor now."""

    job: JobView
    task: Task
    row: int
    to: int


Moving = tuple[JobView, Task, Task, int]
"""A job, the successor of a pod, the pod, and its row."""


class Moves(NamedTuple):
    """Moves by which a job finds room."""

    moves: tuple[Move, ...] = ()
    placed: tuple[Placed, ...] = ()
    """The job's tasks with the rows that they get then."""
    movers: tuple[Mover, ...] = ()
    is_likely: bool = True
    """Whether the successors would all get a place if the policy placed them one after the other."""

    @property
    def cost(self) -> MoveCost:
        """What the moves cost."""
        return total_cost(self.movers)


def total_cost(movers: Sequence[Mover]) -> MoveCost:
    """What it costs to move all of these."""
    cost = MoveCost()
    for mover in movers:
        cost = cost.plus(mover.cost)
    return cost


class MoveTrial:
    """Tries moves for one job, as long as there are steps."""

    def __init__(
        self,
        session: Session,
        job: JobView,
        kinds: TaskKinds,
        movers: Movers,
        steps: int,
        accepts: Callable[[Statement], bool] = lambda statement: True,
    ) -> None:
        """``accepts`` is asked once all have a place, with the statement that has all steps."""
        self._most, self._asked = steps, 0
        self._begun = len(session.ledger.journal)
        self._session, self._job, self._kinds, self._movers = session, job, kinds, movers
        self._queue, self._accepts = session.queue(job), accepts
        self._missing = max(1, session.plugins.tasks_missing(job) - job.waiting)
        self._goal = _once_pipelined(session, job)
        self._counts = Counter(kinds.of.values())

    @property
    def steps(self) -> int:
        """How many evictions and placements may still be tried. A place that is looked for counts as one as well."""
        done = len(self._session.ledger.journal) - self._begun
        return self._most - self._asked - done // 2  # each is undone

    def find(self, movers: Sequence[Mover]) -> Moves | None:
        """The places of all if these pods leave; None where some have none. Nothing has changed afterwards."""
        session = self._session
        self._asked += 1
        if self.steps <= 0 or not self._movers.may_leave(movers):
            return None
        refusals, tried = session.refused.of_tasks(self._kinds.all), session.refused.tried
        had = {task.uid for task in self._kinds.all if task.uid in tried}
        with session.statement() as statement:
            found = _Attempt(self, statement, movers).run()
        session.refused.restore(refusals)
        tried.difference_update(task.uid for task in self._kinds.all)
        tried.update(had)
        return found

    # -- what an attempt asks -----------------------------------------------------------------------------------------

    def leave(self, statement: Statement, movers: Sequence[Mover]) -> None:
        """Evict the pods."""
        cause = EvictionCause(CONSOLIDATE, self._job.key)
        for mover in movers:
            task, row = mover.tasks[0]
            statement.evict(mover.job, task, row, cause)

    def places(self, job: JobView, task: Task, row: int) -> list[int]:
        """The nodes to try for a successor: those first whose room the job needs least, then the best by score."""
        session, selection = self._session, self._session.node_selection
        self._asked += 1
        queue = session.snapshot.queues.get(job.queue)
        if queue is None or not (task.best_effort or may_have_again(session, queue, task)):
            return []
        if session.plugins.limits_starts and session.plugins.start_limit(job) is not None:
            return []
        with selection.anywhere():
            if job.asks_closeness:
                choice = choose_close(session, job, (task,), lambda: selection.choose(task, besides=row))
                return [choice.row] if isinstance(choice, Choice) and not choice.waits else []
            rows = [one for one in islice(selection.in_order(task), PLACES_RANKED) if one != row]
        if len(rows) > 1:
            loss = self._loss(np.array(rows), task)
            rows = [rows[at] for at in np.argsort(loss, kind="stable").tolist()]
        return rows[:PLACES_TRIED]

    def _loss(self, rows: Ints, task: Task) -> Ints:
        """int64[rows]: how many tasks of the job a node has no room for any more once a successor is there."""
        takes, nodes = dict(task.shape.request), self._session.nodes
        loss: Ints = np.zeros(len(rows), dtype=np.int64)
        for first in self._kinds.firsts:
            before = self._session.node_selection.rooms(first)[rows]
            after = before.copy()
            for column, amount in first.shape.request:
                left = nodes.future_idle(column)[rows] - takes.get(column, 0)
                np.minimum(after, np.maximum(left, 0) // amount, out=after)
            loss += before - after
        return loss

    def place_job(self, statement: Statement) -> tuple[Placed, ...] | None:
        """Place enough of the job's tasks, on paper; None where there is no room for them."""
        session, job, before = self._session, self._job, statement.savepoint()
        searched, session.node_selection.searched = session.node_selection.searched, 0
        place_tasks(session, self._queue, job, deque(self._kinds.all), statement, self._goal)
        self._asked += session.node_selection.searched
        session.node_selection.searched = searched
        found = [(step.task, step.row) for step in session.ledger.log[before:] if step.before is Status.PENDING]
        statement.rollback(before)
        for at, (task, row) in enumerate(found, start=1):
            statement.pipeline(job, task, row)
            if self._is_whole([one for one, _ in found[:at]]):
                return tuple(found[:at]) if self._accepts(statement) else None
        return None

    def likely(self, statement: Statement, placed: Sequence[Placed], moving: Sequence[Moving]) -> list[int] | None:
        """Where the policy would place the successors, one after the other, beside the job; None if not all of them.

        Pods of the job beyond its minimum take what room there is before.
        """
        session, selection, places = self._session, self._session.node_selection, [0] * len(moving)
        if any(session.claims.concerns(successor) for _, successor, _, _ in moving):
            return None  # what they get depends on the order
        for task, row in placed:
            statement.pipeline(self._job, task, row)
        self._place_further(statement, {task.uid for task, _ in placed})
        with selection.anywhere():
            for at in sorted(range(len(moving)), key=lambda at: session.plugins.job_key(moving[at][0])):
                job, successor, _, row = moving[at]
                choice = choose_close(session, job, (successor,), partial(selection.choose, successor, besides=row))
                if not isinstance(choice, Choice) or choice.waits:
                    return None
                statement.allocate(job, successor, choice.row)
                places[at] = choice.row
        return places

    def _place_further(self, statement: Statement, placed: Container[str]) -> None:
        """Place pods of the job beyond its minimum on room that is idle now, as its next turns would."""
        failed = set[int]()
        for task in islice((one for one in self._kinds.usable if one.uid not in placed), FURTHER_MAX):
            kind = self._kinds.of[task.uid]
            if kind in failed or self._session.plugins.grantable(self._queue, task) is not None:
                continue
            choice = self._session.node_selection.choose(task)
            if choice is None or choice.waits:
                failed.add(kind)
            else:
                statement.allocate(self._job, task, choice.row)

    def may_fit(self) -> bool:
        """Whether the nodes have room for enough of the job's tasks as things are, each kind counted alone."""
        rooms = self._session.node_selection.rooms
        fits = (min(self._counts[kind], int(rooms(first).sum())) for kind, first in enumerate(self._kinds.firsts))
        return sum(fits) >= self._missing

    def _is_whole(self, tasks: Sequence[Task]) -> bool:
        session, job = self._session, self._job
        if not session.plugins.job_pipelined(job) or not session.places.meets_topology(job):
            return False
        return job.sub_groups is None or job.sub_groups.will_be_whole(tasks)


class _Attempt:
    """One try with certain pods: their successors are tried in all combinations of places, until the job fits."""

    def __init__(self, trial: MoveTrial, statement: Statement, movers: Sequence[Mover]) -> None:
        self._trial, self._statement, self._movers = trial, statement, movers
        self._moving: list[Moving] = [
            (mover.job, successor_of(task), task, row) for mover in movers for task, row in mover.tasks
        ]
        self._to: list[int] = []
        self._placed: tuple[Placed, ...] = ()

    def run(self) -> Moves | None:
        self._trial.leave(self._statement, self._movers)
        left = self._statement.savepoint()
        if not self._trial.may_fit() or not self._place(0):
            return None
        self._statement.rollback(left)
        places = self._trial.likely(self._statement, self._placed, self._moving)
        moves = [
            Move(job, task, row, to) for (job, _, task, row), to in zip(self._moving, places or self._to, strict=True)
        ]
        return Moves(tuple(moves), self._placed, tuple(self._movers), is_likely=places is not None)

    def _place(self, at: int) -> bool:
        """Place this successor and those after it, and then the job."""
        if at == len(self._moving):
            placed = self._trial.place_job(self._statement)
            self._placed = placed or ()
            return placed is not None
        job, successor, _, row = self._moving[at]
        for to in self._options(at, job, successor, row):
            before = self._statement.savepoint()
            self._statement.allocate(job, successor, to)
            self._to.append(to)
            if self._trial.may_fit() and self._place(at + 1):
                return True
            self._to.pop()
            self._statement.rollback(before)
        return False

    def _options(self, at: int, job: JobView, successor: Task, row: int) -> Iterator[int]:
        for to in self._trial.places(job, successor, row):
            if self._trial.steps <= 0:
                return
            yield to


def _once_pipelined(session: Session, job: JobView) -> PlacingGoal:
    """The goal that the job can start once pods have left: more of its tasks get no place."""
    goal = goal_of(session, job)
    return goal._replace(
        met=goal.will_be_met,
        missing=goal.missing_later,
        parts_missing=lambda waiting: job.roles_missing(waiting=True),
        subject="pipelined",
    )


def carry_out(session: Session, job: JobView, found: Moves) -> None:
    """Decide the moves, and keep the places of all for the rest of the session."""
    move_off(session, found.moves, job.key)
    with session.statement() as coming:
        for task, row in found.placed:
            coming.pipeline(job, task, row)
            session.refused.tasks[task.uid] = waits_for(session, Choice(row, waits=True))
        coming.commit()
    job.gained = CONSOLIDATE


def move_off(session: Session, moves: Sequence[Move], beneficiary: str) -> None:
    """Decide to evict pods, and keep room for their successors for the rest of the session.

    Successors are no tasks of their jobs yet: other views of these have them, which no report reads.
    """
    names, views = session.nodes.statics.names, dict[str, JobView]()
    with session.statement() as leaving:
        for job, task, row, to in moves:
            session.ledger.evict(job, task, row, EvictionCause(CONSOLIDATE, beneficiary, names[to]))
        leaving.commit()
    with session.statement() as staying:
        for move in moves:
            view = views.setdefault(move.job.key, JobView(move.job.job))
            staying.allocate(view, successor_of(move.task), move.to)
        session.decisions.moving += staying.steps
        staying.keep()

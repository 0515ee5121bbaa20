"""The search for victims, one for preempt and reclaim: room for a job that others are to leave.

Everything is tried on the books first. A statement is committed only once every task of the job's minimum has a place
with the victims gone, rules about nodes and queues included; no victim is among them that the placements could do
without, and none whose job could have the place back in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.actions.allocate import choose, waits_for
from vsched.actions.pools import Pool, Pools, amount_of
from vsched.actions.sparing import spare
from vsched.actions.victim_search import VictimSearch
from vsched.framework.combine.protection import only_objection
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Cause
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.selection import Choice
from vsched.framework.nodes.why import Explanation
from vsched.framework.points.victims import Purpose
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

LOOK_AGAIN_AFTER = 16
"""After so many rows in vain it is worth asking for each job whether it has anything to give any more."""

Pick = Callable[["Attempt", Task, Sequence[int]], "Taken | None"]
"""How a node is picked among those worth a try: the rows come in the order in which they are to be tried."""


class Taken(NamedTuple):
    """A place that was freed for a task."""

    task: Task
    row: int
    victims: tuple[Task, ...]


class Attempt:
    """One job's try to get room for its tasks."""

    def __init__(self, session: Session, search: VictimSearch, pools: Pools, statement: Statement, pick: Pick) -> None:
        self.session = session
        self.search = search
        self.statement = statement
        self._pools = pools
        self._pick = pick
        self._start = statement.savepoint()
        self._used: dict[Hashable, Pool] = {}
        """Pools by what of tasks can matter to plugins."""
        self._barred: set[str] = set()
        """Victims that could come back for their places, by uid."""
        self._tentative: list[tuple[Pool, Shape, int]] = []
        """Lasting refusals that rest on what this attempt has done to the books."""
        self._taken: list[Taken] = []
        self._said: dict[str, Explanation | Refusal | None] = {}
        """What was said of tasks before they were given a place, by uid."""

    def place(self, task: Task) -> bool:
        """Give a task a place: one with room if there is any, else one that others leave."""
        if not self.search.may_take(task):
            return False
        choice = self._choice_without_victims(task)
        if choice is not None:
            if task.shape.best_effort:
                return False  # backfill is to place it, at once
            self.statement.pipeline(self.search.job, task, choice.row)
            self._say(task, choice)
            return True
        pool = self._pool(task)
        if not pool or (pool.complete and not self._queue_could_take(pool, task)):
            return False
        rows = self._rows(pool, task)
        taken = self._pick(self, task, rows) if len(rows) else None
        if taken is None:
            return False
        self._taken.append(taken)
        self._say(task, Choice(taken.row, waits=True))
        return True

    @property
    def is_sound(self) -> bool:
        """Whether no victim could still come back for a place once everything is where it is to be."""
        return not any(self.search.comes_back(victim, taken.task) for taken in self._taken for victim in taken.victims)

    @property
    def is_worth_it(self) -> bool:
        """Whether others have to leave for it, or nobody else is to make the job wait for what is on its way back."""
        follows = _allocate_follows(self.session, self.search.action)
        return bool(self.statement.evictions) or (self.search.waits_alone and not follows)

    def give_up(self) -> None:
        """Take everything back, and forget what rested on it."""
        self.statement.rollback(self._start)
        self._forget()

    def book(self) -> None:
        """Leave what needs nobody to go to ``allocate``, and count on no place of it for others in the meantime."""
        self._pools.booked += self.statement.steps
        self.statement.keep()
        self._forget()

    def _forget(self) -> None:
        for pool, shape, row in self._tentative:
            pool.forgive(shape, row)
        for uid, said in self._said.items():
            if said is None:
                self.session.task_refusals.pop(uid, None)
            else:
                self.session.task_refusals[uid] = said

    def still_open(self, task: Task, rows: Sequence[int]) -> list[int]:
        """The rows where something may be had after all that this attempt has done so far."""
        mask = self._pool(task).open_to(self.search, task)
        return [row for row in rows if mask[row]]

    def try_row(self, task: Task, row: int) -> Taken | None:
        """Have as few victims as possible leave the row, and put the task there; None where that is not to be had."""
        pool = self._pool(task)
        while True:
            before = self.statement.savepoint()
            victims = self._free(pool, task, row)
            if victims is None:
                self.statement.rollback(before)
                return None
            self.statement.pipeline(self.search.job, task, row)
            returning = {victim.uid for victim in victims if self.search.comes_back(victim, task)}
            if not returning:
                return Taken(task, row, tuple(victims))
            self.statement.rollback(before)
            self._barred |= returning

    # -- steps ------------------------------------------------------------------------------------------------------

    def _pool(self, task: Task) -> Pool:
        """The pool of a task's class as it was before the attempt: nothing that was done since adds to it."""
        alike = likeness(task)
        pool = self._used.get(alike)
        if pool is None:
            pool = self._used[alike] = self._pools.of(self.search, task)
        return pool

    def _choice_without_victims(self, task: Task) -> Choice | None:
        return choose(self.session, task) if self._may_have(task) else None

    def _say(self, task: Task, choice: Choice) -> None:
        self._said.setdefault(task.uid, self.session.task_refusals.get(task.uid))
        self.session.task_refusals[task.uid] = waits_for(self.session, choice)

    def _queue_could_take(self, pool: Pool, task: Task) -> bool:
        """Whether the task's queue may have room for it: asked with as much gone as a node can free, by resource."""
        queue, allocatable = self.search.queue, self.session.plugins.allocatable
        for column, amount in task.shape.request:
            part = ((column, amount),)
            if allocatable(queue, part) is None:
                continue
            if column not in pool.freeable:
                return False
            row = int(pool.freeable[column].argmax())
            if self._has_room_without(part, [(victim, row) for victim in pool.candidates(row)]):
                continue
            if self.search.purpose is Purpose.PREEMPT or not self._has_room_without(part, pool.richest(column)):
                return False
        return True

    def _has_room_without(self, request: Amounts, gone: Sequence[tuple[Task, int]]) -> bool:
        before = self.statement.savepoint()
        for victim, row in gone:
            self._evict(victim, row)
        refusal = self.session.plugins.allocatable(self.search.queue, request)
        self.statement.rollback(before)
        return refusal is None

    def _may_have(self, task: Task) -> bool:
        """Whether queue and namespace may take the task as things stand."""
        return self.session.plugins.grantable(self.search.queue, task.namespace, task.shape) is None

    def _rows(self, pool: Pool, task: Task) -> Sequence[int]:
        """The nodes worth a try, in the order in which they are to be tried."""
        mask: Mask = pool.worthwhile(task, self.session.node_selection.candidates(task, pool.freeable))
        if self.session.plugins.namespace_limit(task.namespace, task.shape) is not None:
            mask &= pool.held_by(task.namespace)  # who may hold no more can only replace what it holds
        rows = np.flatnonzero(mask)
        if self.search.by_score and len(rows) > 1:
            ranked = self.session.node_selection.ranking(task, mask)
            rows = rows[np.argsort(-ranked[rows], kind="stable")]
        found: list[int] = rows.tolist()
        return found

    def _free(self, pool: Pool, task: Task, row: int) -> list[Task] | None:
        """Evict from a row what makes room for the task; None where that is not enough.

        Too little to be had lasts until the row changes. Rules and queues may have it otherwise after any step, and
        what is barred is barred from this attempt alone.
        """
        everyone = pool.candidates(row)
        candidates = [victim for victim in everyone if victim.uid not in self._barred]
        agreed = self.search.agreed(task, candidates) if candidates else []
        before = self.statement.savepoint()
        enough = bool(agreed) and self._would_do(task, row, agreed)
        victims = self._evict_until_it_fits(task, row, agreed) if enough else None
        if victims is not None:
            return self._reprieve(task, row, victims, before)
        self.statement.rollback(before)
        if not enough:
            self._note_protection(pool, task, row, candidates)
        if len(candidates) == len(everyone):
            pool.refuse(task, row, lasting=not enough)
            if not enough and before != self._start:
                self._tentative.append((pool, task.shape, row))
        return None

    def _note_protection(self, pool: Pool, task: Task, row: int, candidates: Sequence[Task]) -> None:
        """Keep what is to be said where one plugin alone protects victims that would be enough."""
        if task.shape in pool.protections or not pool.looks or not self.session.snapshot.budgets:
            return
        if candidates and self._would_do(task, row, candidates):
            pool.looks -= 1
            told = only_objection(
                self.session.plugins,
                task,
                candidates,
                lambda agreed: self._would_do(task, row, agreed),
                self.search.purpose,
            )
            if told is not None:
                pool.protections[task.shape] = told

    def _would_do(self, task: Task, row: int, victims: Sequence[Task]) -> bool:
        """Whether the row has room for the task with these gone, amounts alone."""
        for column, amount in task.shape.request:
            free = self.session.nodes.future_idle_at(column, row)
            if free + sum(amount_of(victim, column) for victim in victims) < amount:
                return False
        return True

    def _fits(self, task: Task, row: int) -> bool:
        return self._would_do(task, row, ()) and self._may_have(task) and self.session.node_selection.fits_at(task, row)

    def _evict_until_it_fits(self, task: Task, row: int, agreed: Sequence[Task]) -> list[Task] | None:
        victims: list[Task] = []
        for victim in agreed:
            self._evict(victim, row)
            victims.append(victim)
            if self._fits(task, row):
                return victims
        return None

    def _reprieve(self, task: Task, row: int, victims: list[Task], before: int) -> list[Task]:
        """Let stay whoever the placement can do without, the most valuable first; the last one it cannot."""
        if len(victims) == 1:
            return victims
        for spared in reversed(victims[:-1]):
            fewer = [victim for victim in victims if victim is not spared]
            if not self._would_do_again(task, row, fewer, before):
                continue
            victims = fewer
        self._replay(row, victims, before)
        return victims

    def _would_do_again(self, task: Task, row: int, victims: list[Task], before: int) -> bool:
        self._replay(row, victims, before)
        return self._fits(task, row)

    def _replay(self, row: int, victims: list[Task], before: int) -> None:
        self.statement.rollback(before)
        for victim in victims:
            self._evict(victim, row)

    def _evict(self, victim: Task, row: int) -> None:
        job = self.session.view(victim.job)
        assert job is not None, "candidates are tasks of jobs of the snapshot"
        self.statement.evict(job, victim, row, Cause(self.search.action, self.search.job.key))


def first_that_does(attempt: Attempt, task: Task, rows: Sequence[int]) -> Taken | None:
    """The first row in their order that can be freed."""
    for tried, row in enumerate(rows):
        if tried == LOOK_AGAIN_AFTER:
            rows = attempt.still_open(task, rows[tried:])
            return next((taken for row in rows if (taken := attempt.try_row(task, row))), None)
        taken = attempt.try_row(task, row)
        if taken is not None:
            return taken
    return None


def take_for(session: Session, search: VictimSearch, pools: Pools, tasks: Sequence[Task], pick: Pick) -> bool:
    """Get room for as many tasks as a job has a claim to, and at least for its minimum; True where that succeeds."""
    job = search.job
    asked = pools.of(search, tasks[0]), signature(session, search, tasks)
    if asked[1] in asked[0].hopeless and asked[0].hopeless[asked[1]] is session.ledger.latest:
        note_protection(session, job, asked[0], tasks)
        return False
    with session.statement() as statement:
        attempt = Attempt(session, search, pools, statement, pick)
        failed: set[Hashable] = set()
        for left, task in _countdown(tasks):
            if not search.has_claim:
                break
            if likeness(task) in failed:
                continue  # nothing has happened since that could make the difference
            if attempt.place(task):
                failed.clear()
            elif session.plugins.tasks_missing(job) > job.waiting + left:
                break
            else:
                failed.add(likeness(task))
        if statement.placed and session.plugins.job_pipelined(job):
            spare(session, search, statement)
            if not statement.evictions and not attempt.is_worth_it:
                attempt.book()
                return True
            if attempt.is_sound:
                statement.commit()
                return True
        attempt.give_up()
    asked[0].hopeless[asked[1]] = session.ledger.latest
    note_protection(session, job, asked[0], tasks)
    return False


def note_protection(session: Session, job: JobView, pool: Pool, tasks: Sequence[Task]) -> None:
    """Say of a job that gets nothing what protects the only victims, where one thing does."""
    told = next((pool.protections[task.shape] for task in tasks if task.shape in pool.protections), None)
    if told is not None:
        session.protected[job.key] = told


def signature(session: Session, search: VictimSearch, tasks: Sequence[Task]) -> tuple[object, ...]:
    """What a job asks for: what was in vain for one is in vain for another of the same class that asks for the same."""
    return tuple(likeness(task) for task in tasks), session.plugins.tasks_missing(search.job) - search.job.waiting


def likeness(task: Task) -> Hashable:
    """What of a task can matter to what it gets, its job aside."""
    return task.shape, task.labels, task.priority, task.priority_class, task.preempts, task.preemptable


def _countdown(tasks: Sequence[Task]) -> Iterator[tuple[int, Task]]:
    """Each task with the number of those after it."""
    for position, task in enumerate(tasks, start=1):
        yield len(tasks) - position, task


def _allocate_follows(session: Session, action: str) -> bool:
    """Whether a placement that nobody has to leave for is still to be made in this cycle, and at once."""
    actions = session.policy.actions
    return "allocate" in actions[actions.index(action) :]

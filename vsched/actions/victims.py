"""The search for victims, shared by preempt and reclaim: evicts tasks to make room for a job.

Every try is a statement. It is committed only if

- every task of the job's minimum has a node once the victims have left, by all rules about nodes and queues;
- the placements need every victim;
- no victim could evict the task that takes its place in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence

import numpy as np

from vsched.actions.attempt_steps import AttemptSteps, FreedRoom, Mark
from vsched.actions.candidates import CandidatePool, is_out
from vsched.actions.placing import choose, waits_for
from vsched.actions.pools import Pools
from vsched.actions.pricing import size_of, would_do
from vsched.actions.queue_room import queue_could_take
from vsched.actions.sparing import redo
from vsched.actions.victim_search import VictimSearch
from vsched.framework.combine.protection import only_objection
from vsched.framework.ledger.ledger import EvictionCause, LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.selection import Choice
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.nodes.table import Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

Pick = Callable[["Attempt", Task, Sequence[int]], "FreedRoom | None"]
"""Picks a node for a task and frees it; the rows come in the order in which they should be tried."""


class Attempt:
    """One try to make room for the tasks of a job."""

    def __init__(self, session: Session, search: VictimSearch, pools: Pools, statement: Statement, pick: Pick) -> None:
        self.session = session
        self.search = search
        self.statement = statement
        self.pools = pools
        self._pick = pick
        self._start = statement.savepoint()
        self._used: dict[Hashable, CandidatePool] = {}
        """Pools by ``request_kind``."""
        self._barred: set[str] = set()
        """Uids of victims that could evict the task that takes their place in turn."""
        self._tentative: list[tuple[CandidatePool, Shape, int]] = []
        """Lasting refusals of rows that depend on steps of this attempt."""
        self._taken: list[FreedRoom] = []
        self._sound: tuple[LedgerEntry | None, bool] | None = None
        """Whether it was sound after the step that was the latest then."""
        self._earlier_refusals: dict[str, NodeReasons | Refusal | None] = {}
        """The refusals that tasks had before this attempt placed them, by uid."""
        self.replaced: AttemptSteps | None = None
        """What was done before other victims were found, which are fewer."""
        self._among: Container[str] | None = None
        """Uids of the only tasks that may be victims at present; None for all candidates."""

    def place(self, task: Task) -> bool:
        """Place a task: on a node with room if there is one, else on a node that victims leave."""
        if not self.search.may_take(task):
            return False
        choice = self._choice_without_victims(task)
        if choice is not None:
            if task.best_effort:
                return False  # backfill places it at once
            self.statement.pipeline(self.search.job, task, choice.row)
            self._record_wait(task, choice)
            return True
        pool = self.pool(task)
        if not pool or (pool.complete and not queue_could_take(self, pool, task)):
            return False
        rows = self.rows(pool, task)
        taken = self._pick(self, task, rows) if len(rows) else None
        if taken is None:
            return False
        self._taken.append(taken)
        self._record_wait(task, Choice(taken.row, waits=True))
        return True

    def place_at(self, task: Task, row: int, among: Container[str]) -> bool:
        """Place a task on a row, where need be in place of victims ``among`` these; False where that fails."""
        if self._may_have(task) and self.session.node_selection.fits_at(task, row):
            self.statement.pipeline(self.search.job, task, row)
        else:
            self._among = among
            taken = self.try_row(task, row)
            self._among = None
            if taken is None:
                return False
            self._taken.append(taken)
        self._record_wait(task, Choice(row, waits=True))
        return True

    def pool(self, task: Task) -> CandidatePool:
        """The pool of a task's class, from before the attempt; evictions since then add no candidates."""
        kind = request_kind(self.session, task)
        pool = self._used.get(kind)
        if pool is None:
            pool = self._used[kind] = self.pools.of(self.search, task)
        return pool

    def evict_for_queue(self, task: Task, row: int, victims: Iterable[tuple[Task, int]]) -> None:
        """Evict victims on any nodes, as far as plugins agree, until the queue may hold a task that goes to a row."""
        before = self.statement.savepoint()
        for victim, at in victims:
            if self._may_have(task):
                break
            if not is_out(self.session, victim) and self.search.agreed(task, (victim,)):
                self.evict(victim, at)
        gone = tuple(step.task for step in self.session.ledger.log[before:])
        self._taken.append(FreedRoom(task, row, gone))

    @property
    def is_sound(self) -> bool:
        """Whether no victim could evict the task that takes its place, now that all tasks are placed."""
        latest = self.session.ledger.latest
        if self._sound is None or self._sound[0] is not latest:
            pairs = ((victim, taken.task) for taken in self._taken for victim in taken.victims)
            self._sound = latest, not any(self.search.comes_back(*pair) for pair in pairs)
        return self._sound[1]

    @property
    def is_worth_it(self) -> bool:
        """Whether the try has victims, or may pipeline a job without victims because ``allocate`` does not follow."""
        return bool(self.statement.evictions) or (self.search.waits_alone and not self.pools.allocate_follows)

    def give_up(self) -> None:
        """Roll the try back, with all refusals that depend on it."""
        self.statement.rollback(self._start)
        self._forget()

    def mark(self) -> Mark:
        """A point to go back to."""
        return Mark(self.statement.savepoint(), len(self._taken), len(self._tentative))

    def back_to(self, mark: Mark) -> None:
        """Roll back all since the mark, with the refusals that depend on it."""
        self.statement.rollback(mark.step)
        del self._taken[mark.taken :]
        for pool, shape, row in self._tentative[mark.tentative :]:
            pool.forgive(shape, row)
        del self._tentative[mark.tentative :]

    def true_without(self, gone: Sequence[tuple[Task, int]], condition: Callable[[], bool]) -> bool:
        """Whether a condition holds once these victims are evicted; the evictions are undone."""
        before = self.statement.savepoint()
        for victim, row in gone:
            self.evict(victim, row)
        is_true = condition()
        self.statement.rollback(before)
        return is_true

    def done(self, mark: Mark) -> AttemptSteps:
        """What was done since a mark, to do it again."""
        steps = self.session.ledger.log[mark.step :]
        preferences = self.session.claims.preferences(step.task for step in steps if step.cause is None)
        return AttemptSteps(steps, self._taken[mark.taken :], preferences)

    def start_over(self, mark: Mark, tasks: Iterable[Task]) -> None:
        """Go back to a mark; give these tasks the refusals that they had before the attempt."""
        self.back_to(mark)
        self._barred.clear()
        self._used.clear()
        earlier = self._earlier_refusals
        self.session.refused.restore({task.uid: earlier[task.uid] for task in tasks if task.uid in earlier})

    def do_again(self, done: AttemptSteps) -> None:
        """Take the same steps again, from where they were taken first."""
        for preference in done.claims:
            self.session.claims.prefer(*preference)
        redo(self.statement, done.steps)
        self._taken += done.taken
        for step in done.steps:
            if step.cause is None:
                self._record_wait(step.task, Choice(step.row, waits=True))

    def bring_back(self) -> bool:
        """Do again what was replaced, in place of all that was done since; False where nothing was."""
        done, self.replaced = self.replaced, None
        if done is None:
            return False
        self.start_over(Mark(self._start, 0, 0), [step.task for step in self.statement.steps])
        self.do_again(done)
        return True

    def reserve(self) -> None:
        """Reserve the placements, which need no victims, until the action ends."""
        self.pools.reserve(self.search.job, self.statement.steps)
        self.statement.keep()
        self._forget()

    def _forget(self) -> None:
        for pool, shape, row in self._tentative:
            pool.forgive(shape, row)
        self.session.refused.restore(self._earlier_refusals)

    def still_open(self, task: Task, rows: Sequence[int]) -> list[int]:
        """The rows that may still have victims after the evictions of this attempt."""
        mask = self.pool(task).open_to(self.search, task)
        return [row for row in rows if mask[row]]

    def try_row(self, task: Task, row: int) -> FreedRoom | None:
        """Evict as few victims as possible from the row and place the task there; None where that fails."""
        pool = self.pool(task)
        while True:
            before = self.statement.savepoint()
            victims = self._free(pool, task, row)
            if victims is None:
                self.statement.rollback(before)
                return None
            left = tuple(step.task for step in self.session.ledger.log[before:])  # with what victims take along
            self.statement.pipeline(self.search.job, task, row)
            returning = {victim.uid for victim in left if self.search.comes_back(victim, task)}
            if not returning:
                return FreedRoom(task, row, left)
            self.statement.rollback(before)
            here = {victim.uid for victim in victims}
            self._barred |= returning & here or here  # one on another node returns only if one of these takes it along

    # -- steps ------------------------------------------------------------------------------------------------------

    def _choice_without_victims(self, task: Task) -> Choice | None:
        return choose(self.session, task) if self._may_have(task) else None

    def _record_wait(self, task: Task, choice: Choice) -> None:
        self._earlier_refusals.setdefault(task.uid, self.session.refused.tasks.get(task.uid))
        self.session.refused.tasks[task.uid] = waits_for(self.session, choice)

    def _may_have(self, task: Task) -> bool:
        """Whether queue and namespace may hold the task at present."""
        return self.session.plugins.grantable(self.search.queue, task) is None

    def rows(self, pool: CandidatePool, task: Task) -> Sequence[int]:
        """The nodes worth a try, in the order in which they should be tried."""
        mask: Mask = pool.worthwhile(task, self.session.node_selection.candidates(task, pool.freeable))
        claims = self.session.claims.of(task)
        if claims is not None:
            mask &= claims.served(later=True) | pool.claiming_rows  # other evictions cannot make the claims fit
        if self.session.plugins.namespace_limit(task.namespace, task.shape) is not None:
            mask &= pool.of_namespace(task.namespace)  # a namespace at its limit can only replace its own tasks
        rows = np.flatnonzero(mask)
        if self.search.by_score and len(rows) > 1:
            ranked = self.session.node_selection.ranking(task, mask)
            rows = rows[np.argsort(-ranked[rows], kind="stable")]
        found: list[int] = rows.tolist()
        if len(found) > 1 and self.session.plugins.victim_rules.weighs:
            found = pool.cheapest_first(task.shape, found)
        return self.session.node_selection.own_first(found)

    def _free(self, pool: CandidatePool, task: Task, row: int) -> list[Task] | None:
        """Evict enough candidates from a row to make room for the task; None where that fails.

        Where all candidates together hold too little, the refusal lasts until the row changes. A refusal by rules or
        queues may change with any step. Barred victims are barred in this attempt only, so no refusal is recorded then.
        """
        everyone = pool.candidates(row)
        among, barred = self._among, self._barred
        candidates = [one for one in everyone if one.uid not in barred and (among is None or one.uid in among)]
        agreed = self.search.agreed(task, candidates) if candidates else []
        if self._among is not None and len(agreed) < len(candidates):
            # All are to leave; plugins may agree to the last one only if it is the largest.
            ordered = sorted(candidates, key=lambda victim: size_of(self.session, victim))
            agreed = max(agreed, self.search.agreed(task, ordered), key=len)
        before = self.statement.savepoint()
        enough = bool(agreed) and would_do(self.session, task, row, agreed)
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

    def _note_protection(self, pool: CandidatePool, task: Task, row: int, candidates: Sequence[Task]) -> None:
        """Record the refusal where one plugin (or the budgets) alone protects victims that would make enough room."""
        looks = pool.looks and self.session.snapshot.budgets and self._among is None
        if not looks or task.shape in pool.protections:
            return
        if candidates and would_do(self.session, task, row, candidates):
            pool.looks -= 1
            objection = only_objection(
                self.session.plugins,
                task,
                candidates,
                lambda agreed: would_do(self.session, task, row, agreed),
                self.search.purpose,
            )
            if objection is not None:
                pool.protections[task.shape] = objection

    def _fits(self, task: Task, row: int) -> bool:
        return (
            would_do(self.session, task, row, ())
            and self._may_have(task)
            and self.session.node_selection.fits_at(task, row)
        )

    def _evict_until_it_fits(self, task: Task, row: int, agreed: Sequence[Task]) -> list[Task] | None:
        victims: list[Task] = []
        for victim in agreed:
            self.evict(victim, row)
            victims.append(victim)
            if self._fits(task, row):
                return victims
        return None

    def _reprieve(self, task: Task, row: int, victims: list[Task], before: int) -> list[Task]:
        """Drop victims that the placement does not need, most valuable first; the last one chosen is always needed."""
        if len(victims) == 1:
            return victims
        for spared in reversed(victims[:-1]):
            fewer = [victim for victim in victims if victim is not spared]
            if self._would_do_again(task, row, fewer, before):
                victims = fewer
        self._replay(row, victims, before)
        return victims

    def _would_do_again(self, task: Task, row: int, victims: list[Task], before: int) -> bool:
        self._replay(row, victims, before)
        return self._fits(task, row)

    def _replay(self, row: int, victims: list[Task], before: int) -> None:
        self.statement.rollback(before)
        for victim in victims:
            self.evict(victim, row)

    def evict(self, victim: Task, row: int) -> None:
        """Evict a victim, and what leaves with it; nothing if it left with another one."""
        job = self.session.view(victim.job)
        assert job is not None, "candidates are tasks of jobs of the snapshot"
        for task, at in self.search.leaving_with(victim, row):
            self.statement.evict(job, task, at, EvictionCause(self.search.action, self.search.job.key))


def request_kind(session: Session, task: Task) -> Hashable:
    """Equal for tasks that get room all or none, as far as it does not depend on their jobs."""
    kind = session.node_selection.kind(task)
    return kind, task.labels, task.priority, task.priority_class, task.preempts, task.preemptable

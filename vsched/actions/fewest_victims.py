"""Makes room for a gang in any way that there is, and so that the fewest pods leave.

Room is made task by task first. Where that fails, or fewer might do, other sets of victims are tried, which amounts
suggest (``freeing_plans``): the gang is placed in any way (``gang_assignment``), then once more by all rules. A set is
better if fewer leave, nobody of a higher priority does, and no more work is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

import numpy as np

from vsched.actions.assigning import SEARCHES_MAX
from vsched.actions.attempt_steps import AttemptSteps, Mark
from vsched.actions.freeing_plans import NOBODY, Classes, FreeingPlans, Missing, Victim, fewest_of_one_kind
from vsched.actions.gang_assignment import GangAssignment
from vsched.actions.gang_counts import CELLS_OF_A_STEP, SearchBudget
from vsched.actions.joint_groups import JointWish, joint_wish
from vsched.actions.placing import goal_of
from vsched.actions.pricing import size_of
from vsched.actions.queue_room import queue_could_take
from vsched.actions.room import has_room, place_each
from vsched.actions.task_kinds import KindsInDomain, kinds_of
from vsched.actions.victim_search import VictimArgs
from vsched.actions.victim_votes import GangVotes, by_votes, of_each_kind
from vsched.actions.victims import Attempt
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session
from vsched.model.nodes.table import Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

NODES_FEW = 8
"""On more nodes, fewer sets are tried for a gang that has no room: mostly votes are what is in its way."""
PLACEMENTS_MAX = 4
"""For one set of victims, the gang is placed in so many ways: plugins may agree to a victim for some tasks alone."""


def in_any_way(session: Session, attempt: Attempt, tasks: Sequence[Task], before: Mark, *, made: bool) -> bool:
    """Whether there is room for a gang: what was ``made`` task by task since a mark, or better room in its place."""
    search, pools = attempt.search, attempt.pools
    if not made and not any(map(attempt.pool, {(task.shape, task.priority): task for task in tasks}.values())):
        return False
    today = attempt.done(before)
    made = made and attempt.is_sound
    most = session.args(search.action, VictimArgs).gang_search_steps
    steps = max(0, min(most, SEARCHES_MAX * most - pools.searched if made else most - pools.searched_in_vain))
    tasks = [task for task in tasks if not task.best_effort]
    if not steps or not tasks or (made and len(today.victims) <= fewest_of_one_kind(session, attempt, tasks, today)):
        return made
    if session.plugins.is_blind_in_rehearsals:
        return made
    attempt.start_over(before, tasks)
    if not made and not any(
        queue_could_take(attempt, attempt.pool(task), task, anywhere=True) for task in of_each_kind(session, tasks)
    ):
        return False
    wish = _wish(session, attempt, [task for task in tasks if search.may_take(task)])
    budget = SearchBudget(steps, most * CELLS_OF_A_STEP)
    best = _Finding(session, attempt, wish, budget, before).run(today if made else None)
    if best is None:
        pools.searched_in_vain += steps - budget.steps
        return False
    pools.searched += steps - budget.steps
    attempt.replaced = today if made and best is not today else None
    attempt.do_again(best)
    if not made and search.has_claim:
        place_each(session, attempt, [task for task in tasks if task.uid not in search.job.moved])
        return has_room(session, attempt)
    return True


def _wish(session: Session, attempt: Attempt, tasks: Sequence[Task]) -> JointWish:
    job, goal = attempt.search.job, goal_of(session, attempt.search.job)
    if job.sub_groups is None:
        return JointWish(by_votes(session, kinds_of(session, tasks, lambda task: task.role)), goal, lambda: ())
    return joint_wish(session, job, job.sub_groups, tasks, attempt.statement, goal)


class _Finding:
    """The search for the fewest victims."""

    def __init__(self, session: Session, attempt: Attempt, wish: JointWish, budget: SearchBudget, before: Mark) -> None:
        self._session, self._attempt, self._wish, self._budget, self._start = session, attempt, wish, budget, before
        self._search = attempt.search
        self._plans: FreeingPlans
        self._votes: GangVotes
        self._best: AttemptSteps | None = None
        self._fewest: float = inf
        """How many victims the best set has."""
        self._highest: tuple[float, float] = (inf, inf)
        """The highest priority in it, of a pod and of a job."""
        self._wasted = inf
        self._placed = 0
        """How many tasks got room task by task: others get as many."""
        self._enough = 0
        """The search ends where it found nothing until so many steps are left."""
        self._tried: set[frozenset[str]] = set()
        """Sets of victims, by uid."""

    def run(self, today: AttemptSteps | None) -> AttemptSteps | None:
        """What makes room with the fewest victims, ``today`` where nothing is better; nothing is done at the end."""
        if today is not None:
            self._keep(today)
            self._placed = today.placed
        goal, kinds = self._wish.goal, self._wish.kinds
        of_parts = goal.parts_missing(True)
        missing = Missing(max(goal.missing_later(), sum(of_parts.values()), self._placed, 1), of_parts)
        if missing.total > len(kinds.usable):
            return self._best
        rows = dict.fromkeys(step.row for step in today.steps) if today is not None else ()
        self._votes = GangVotes(self._session, self._search, kinds.usable)
        self._plans = FreeingPlans(self._attempt, kinds, missing, self._budget, self._is_cheap, rows)
        if today is None:
            nodes = len(self._plans.nodes)
            self._budget.steps -= nodes  # to ask who may leave one takes about as long as to place a task
            self._enough = self._budget.steps - self._budget.steps * NODES_FEW // max(nodes, NODES_FEW)
            if self._plans.find(NOBODY) is None:
                return None
            everybody = [(node.row, self._votes.agreed(node.victims, node.row)) for node in self._plans.nodes]
            self._try([(victim, row) for row, victims in everybody for victim in victims])
        self._explore()
        return self._best

    def _is_cheap(self, victim: Task) -> bool:
        own, of_job = self._priorities(victim)
        return own <= self._highest[0] and of_job <= self._highest[1]

    def _priorities(self, victim: Task) -> tuple[int, int]:
        return victim.priority, self._session.snapshot.jobs[victim.job].priority

    # -- sets of victims ---------------------------------------------------------------------------------------------

    def _explore(self) -> None:
        """Look for better sets: with each victim that a plan names, and then without it and its like."""
        out, without = NOBODY, list[tuple[Mark, Classes, bool]]()
        while True:
            one, out, by_amounts = self._tried_next(out)
            if one is not None:
                mark = self._attempt.mark()
                without.append((mark, out | {self._plans.class_of(*one)}, by_amounts))
                self._attempt.evict(*one)
                if self._attempt.mark().step > mark.step:
                    continue
            while without:
                mark, out, by_amounts = without.pop()
                self._attempt.back_to(mark)
                if by_amounts or self._could_be_placed(out):
                    break
            else:
                return

    def _tried_next(self, out: Classes) -> tuple[Victim | None, Classes, bool]:
        """Try those who have left by now with the plan for others that are not ``out``.

        Returns one of them for whom it is worth while to go on, with whom plugins do not agree to besides, and whether
        amounts name it.
        """
        while self._budget.steps > (self._enough if self._best is None else 0):
            plan, gone = self._plans.find(out), self._gone()
            if plan is None or len(gone) + plan.pods >= self._fewest:
                break
            refused = {self._plans.class_of(*one) for one in plan.victims if not self._may_leave(*one, gone)}
            if refused:
                out |= refused
                continue
            if plan.is_whole:
                self._try([*gone, *plan.victims])
            if len(gone) + max(1, plan.pods) >= self._fewest:
                break
            return (plan.victims[0], out, True) if plan.victims else (self._next(out), out, False)
        return None, out, True

    def _could_be_placed(self, out: Classes) -> bool:
        """Whether the gang has places once all have left that are not ``out``: where amounts do not say so."""
        mark = self._attempt.mark()
        for node in self._plans.nodes:
            for victim in self._plans.open(node, out):
                self._attempt.evict(victim, node.row)
        found = self._placed_in_any_way({})
        self._attempt.back_to(mark)
        return bool(found)

    def _next(self, out: Classes) -> Victim | None:
        """A candidate that may be in the way for more than its amounts; else the first one."""
        for likely in (True, False):
            for node in self._plans.nodes:
                victims = [one for one in self._plans.open(node, out) if _has_more_than_amounts(one) is likely]
                if self._budget.steps <= 0:
                    return None
                self._budget.steps -= bool(victims)
                for victim in victims:
                    if self._may_leave(victim, node.row, self._gone()):
                        return victim, node.row
        return None

    def _gone(self) -> list[Victim]:
        steps = self._session.ledger.log[self._start.step :]
        return [(step.task, step.row) for step in steps if step.cause is not None]

    def _may_leave(self, victim: Task, row: int, gone: Sequence[Victim]) -> bool:
        """Whether the plugins agree to a victim after those that are gone.

        With ``reclaim``, they may agree to these in another order: the last one may take its queue below its part.
        """
        is_asked = not gone or self._search.purpose is Purpose.PREEMPT
        return not is_asked or bool(self._votes.agreed((victim,), row))

    # -- one set -----------------------------------------------------------------------------------------------------

    def _try(self, victims: Sequence[Victim]) -> None:
        """Keep a set of victims as the best one if it is better; nothing is changed."""
        among = frozenset(victim.uid for victim, _ in victims)
        if among in self._tried:
            return
        self._tried.add(among)
        gone, closed = self._attempt.done(self._start), dict[int, Mask]()
        for _ in range(PLACEMENTS_MAX):
            failed = self._made_otherwise(victims, among, closed)
            if failed is None:
                break
            task, row = failed
            mask = closed.setdefault(self._wish.kinds.of[task.uid], np.ones(len(self._session.nodes), dtype=np.bool_))
            mask[row] = False
        self._attempt.do_again(gone)

    def _made_otherwise(
        self, victims: Sequence[Victim], among: frozenset[str], closed: Mapping[int, Mask]
    ) -> Victim | None:
        """Place the gang without these victims, kinds of tasks only where it is not ``closed`` to them.

        Returns the first task, with its row, that may not be placed by all rules; None where the gang is placed, or is
        not in any way. Nothing is changed.
        """
        self._start_over()
        for victim, row in victims:
            self._attempt.evict(victim, row)
        target = self._placed_in_any_way(closed)
        self._start_over()
        failed: Victim | None = None
        orders = list(self._orders(target, victims))
        for candidates in self._candidates(victims, among) if orders else ():
            for order in orders:
                refused = self._refused(order, candidates, victims)
                is_made = refused is None and has_room(self._session, self._attempt) and self._attempt.is_sound
                is_kept = is_made and self._keep(self._attempt.done(self._start))
                self._start_over()
                if is_kept:
                    return None
                failed = failed or refused
        return failed

    def _candidates(self, victims: Sequence[Victim], among: frozenset[str]) -> Iterator[frozenset[str]]:
        """These, and all that are as large on the same nodes: of equal ones, those leave that are first in turn.

        Else these alone, and of several queues those besides that could leave as well: queues take turns.
        """
        shapes: dict[int, set[Shape]] = {}
        for victim, row in victims:
            shapes.setdefault(row, set()).add(victim.shape)
        nodes = [node for node in self._plans.nodes if node.row in shapes]
        alike = [(one, node.row) for node in nodes for one in node.everyone if one.shape in shapes[node.row]]
        every = frozenset(one.uid for one, _ in alike)
        yield every
        if len({self._session.snapshot.jobs[one.job].spec.queue for one, _ in alike}) > 1:
            for victim, row in victims:
                self._attempt.evict(victim, row)
            besides = [one for one, row in alike if one.uid not in among and self._votes.agreed((one,), row)]
            self._start_over()
            among |= {one.uid for one in besides}
        if among != every:
            yield among

    def _start_over(self) -> None:
        self._attempt.start_over(self._start, self._wish.kinds.all)

    def _placed_in_any_way(self, closed: Mapping[int, Mask]) -> dict[str, int]:
        """The rows of the gang's tasks, by uid; none where it does not fit."""
        session, search, statement, wish = self._session, self._search, self._attempt.statement, self._wish
        job, goal, before = search.job, wish.goal, statement.savepoint()
        self._budget.cut = False
        had = job.ready + job.waiting

        def lacking() -> int:
            return max(0, self._placed - (job.ready + job.waiting - had))

        whole = goal._replace(
            will_be_met=lambda: not lacking() and goal.will_be_met(),
            missing_later=lambda: max(lacking(), goal.missing_later()),
        )
        found = GangAssignment(session, search.queue, job, wish.kinds, statement, whole, self._budget, later=True)
        domains = [*wish.domains(), *(KindsInDomain(frozenset({kind}), [mask]) for kind, mask in closed.items())]
        steps = session.ledger.log[before:] if found.run(domains) else ()
        return {step.task.uid: step.row for step in steps if step.before is Status.PENDING}

    def _orders(self, target: dict[str, int], victims: Sequence[Victim]) -> Iterator[list[Victim]]:
        """The orders in which to place, as queues may be full, or may give the last victim only if it is the largest.

        First as the tasks are; then those for which others leave go first; then the largest victims leave last.
        """
        largest: dict[int, float] = {}
        for victim, row in victims:
            largest[row] = max(largest.get(row, 0.0), size_of(self._session, victim))
        order = [(task, target[task.uid]) for task in self._wish.kinds.usable if task.uid in target]
        freed = sorted(order, key=lambda one: one[1] not in largest)
        rising = sorted(freed, key=lambda one: (largest.get(one[1], inf), size_of(self._session, one[0])))
        orders = [order, freed, rising] if order else []
        yield from (one for at, one in enumerate(orders) if one not in orders[:at])

    def _refused(self, order: Sequence[Victim], candidates: frozenset[str], victims: Sequence[Victim]) -> Victim | None:
        """Place tasks by all rules, where victims are among these candidates; the first one that may not be placed."""
        goal = self._wish.goal
        self._budget.steps -= len(order) // 2
        for task, row in order:
            if not self._search.has_claim and goal.will_be_met():
                break
            if not self._search.may_take(task) or not self._is_placed(task, row, candidates, victims):
                return task, row
        return None

    def _is_placed(self, task: Task, row: int, candidates: frozenset[str], victims: Sequence[Victim]) -> bool:
        """Place a task, where its queue holds all that it may also in place of victims on other nodes."""
        attempt, queue = self._attempt, self._search.queue
        if attempt.place_at(task, row, candidates):
            return True
        if self._session.plugins.grantable(queue, task) is None:
            return False
        attempt.evict_for_queue(task, row, victims)
        return attempt.place_at(task, row, candidates)

    def _keep(self, done: AttemptSteps) -> bool:
        """Keep what was done as the best, if it is."""
        victims = done.victims
        if len(victims) >= self._fewest or done.placed < self._placed:
            return False
        priorities = [self._priorities(victim) for victim in victims]
        own, of_jobs = (max((one[at] for one in priorities), default=-inf) for at in (0, 1))
        wasted = self._session.plugins.victim_rules.wasted(victims)
        if own > self._highest[0] or of_jobs > self._highest[1] or wasted > self._wasted:
            return False
        self._best, self._fewest, self._highest, self._wasted = done, len(victims), (own, of_jobs), wasted
        return True


def _has_more_than_amounts(victim: Task) -> bool:
    """Whether a task has claims, ports, or rules about other pods."""
    return victim.claims is not None or bool(victim.shape.ports) or victim.shape.affinity is not None

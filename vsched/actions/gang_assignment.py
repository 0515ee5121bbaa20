"""The search for places of a gang's tasks: in any way that there is.

Tasks are tried on all nodes, those with the best scores first, and are taken back where the others cannot fit any more.
Whether they can is counted (``gang_counts``): exactly, so that nothing is taken back, for tasks that claim nothing and
have no rules about other pods; for others, what amounts say. Where such tasks are too many kinds to be counted, they go
where a guess says that all have room. The search has a budget of steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from vsched.actions.gang_counts import GangCounts, SearchBudget, Way
from vsched.actions.placing import PlacingGoal
from vsched.actions.task_kinds import KindsInDomain, TaskKinds
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.nominations import lift_nomination
from vsched.framework.session import Session
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

ROWS_COUNTED = 8
"""So many nodes are tried for a task before it goes where it goes in an assignment that is known already."""


class GangAssignment:
    """The search for places of a gang's tasks."""

    def __init__(
        self,
        session: Session,
        queue: Queue,
        job: JobView,
        kinds: TaskKinds,
        statement: Statement,
        goal: PlacingGoal,
        budget: SearchBudget,
        *,
        later: bool,
    ) -> None:
        """``later``: room that pods have yet to leave counts as well."""
        self.session, self.queue, self.job, self._statement = session, queue, job, statement
        self.kinds, self.goal, self.later, self.budget = kinds, goal, later, budget
        self._tasks, self._firsts, self._kind_of = list(kinds.usable), kinds.firsts, kinds.of
        self._is_exact = kinds.are_plain
        """Whether counting says all."""
        self._counts = GangCounts(session, kinds, goal, budget, later=later)
        self._left = self._counts.left
        self._by_kind: dict[int, list[Task]] = {}
        """The tasks in the order in which they are tried."""
        self._there = Counter[tuple[int, int, int]]()
        """What is placed in any order: how many tasks, by row, kind and way of their claims."""
        self._seen: set[frozenset[tuple[tuple[int, int, int], int]]] = set()
        """What was placed before, in some order."""

    def run(self, domains: Sequence[KindsInDomain] = ()) -> bool:
        """Place enough tasks; where that cannot be done, nothing has changed."""
        before = self._statement.savepoint()
        for task in self._tasks:
            lift_nomination(self.session, self._statement, self.job, task)
        if self._in_domains(domains):
            return True
        self._statement.rollback(before)
        return False

    def _in_domains(self, choices: Sequence[KindsInDomain]) -> bool:
        """Place enough tasks, with each choice of domains that amounts allow for."""
        if not self._counts.may_be_met():
            return False
        if not choices:
            return self._search()
        (kinds, domains), *others = choices
        before = self._counts.reach
        for domain in domains:
            if self.budget.cut or not self.budget.take():
                break
            self._counts.reach = {**before, **{kind: domain & before.get(kind, domain) for kind in kinds}}
            if self._in_domains(others):
                return True
        self._counts.reach = before
        return False

    def _search(self) -> bool:
        if not self._is_exact:
            self._scarcest_first()
        self._by_kind.clear()
        self._seen.clear()  # what came to nothing may do in other domains
        for task in self._tasks:
            self._by_kind.setdefault(self._kind_of[task.uid], []).append(task)
        begin = self._in_any_order if any(map(_needs_others, self._firsts)) else self._ways
        stack = [begin(0)]
        # What counting has found may be placed once when no steps are left.
        last = min(self.budget.steps, 0) - len(self._tasks)
        while stack:
            if self.budget.steps < last:
                self.budget.cut = True
                return False
            if next(stack[-1], None) is None:
                stack.pop()
            elif self._counts.met:
                return True
            elif len(stack) < len(self._tasks):
                stack.append(begin(len(stack)))
        return False

    def _scarcest_first(self) -> None:
        """Try tasks first that fit on few nodes; last, those that fit on none: they may need others beside them."""
        options = [sum(1 for _ in self._open_rows(task, kind)) for kind, task in enumerate(self._firsts)]
        rank = [count or len(self.session.nodes) + 1 for count in options]
        self._tasks.sort(key=lambda task: (rank[self._kind_of[task.uid]], self._kind_of[task.uid]))

    def _ways(self, at: int) -> Iterator[bool]:
        """Place a task in each way, at last leave it and its like out; each is undone when the next is asked for."""
        task, way = self._tasks[at], self._counts.way
        kind = self._kind_of[task.uid]
        if self._left[kind]:
            if self.session.plugins.grantable(self.queue, task) is None:
                self._left[kind] -= 1
                before = self._statement.savepoint()
                for row in self._rows(task, kind, way):
                    for _ in self._claim_ways(task, row):
                        self._place(task, row)
                        if self._goes_on(row, kind, way):
                            yield True
                        self._statement.rollback(before)
                self._left[kind] += 1
            if self.budget.cut:
                return
            left, self._left[kind] = self._left[kind], 0
            self._counts.way = way if way is None or not any(one == kind for _, one in way) else None
            if self._counts.met or self._counts.way is not None or self._counts.may_be_met():
                yield True
            self._left[kind] = left
        else:
            yield True
        self._counts.way = way

    def _in_any_order(self, at: int) -> Iterator[bool]:
        """The same with one more task of any kind: rules about other pods say which one can come first."""
        for kind, tasks in self._by_kind.items():
            task = tasks[-self._left[kind]]
            if not self._left[kind] or self.session.plugins.grantable(self.queue, task) is not None:
                continue
            self._left[kind] -= 1
            before = self._statement.savepoint()
            for row in self._rows(task, kind, None):
                self.budget.steps += 1  # given back: what was tried in another order takes none
                for number, _ in enumerate(self._claim_ways(task, row)):
                    self._there[row, kind, number] += 1
                    state = frozenset((+self._there).items())
                    if state not in self._seen:
                        self._seen.add(state)
                        self.budget.steps -= 1
                        self._place(task, row)
                        if self._counts.met or self._counts.may_be_met():
                            yield True
                        self._statement.rollback(before)
                    self._there[row, kind, number] -= 1
            self._left[kind] += 1
            if self.budget.cut:
                return

    def _rows(self, task: Task, kind: int, way: Way | None) -> Iterator[int]:
        """The nodes to try, as long as there are steps: the best first, and no two that differ in nothing."""
        tried: set[bytes] = set()
        most = ROWS_COUNTED if self._counts.is_counted else 0
        for number, row in enumerate(self._open_rows(task, kind)):
            if self._is_exact and way is not None and (number >= most or self.budget.steps <= 0):
                for one, of in way:
                    if of == kind:
                        self.budget.steps -= 1
                        yield one
                return
            if self.budget.steps <= 0:
                self.budget.cut = True
                return
            if self._is_exact:
                stamp = self._stamp(row)
                if stamp in tried:
                    continue
                tried.add(stamp)
            self.budget.steps -= 1
            yield row

    def _open_rows(self, task: Task, kind: int) -> Iterator[int]:
        """The nodes with room for a task, the best first."""
        rows, reach = self.session.node_selection.in_order(task, later=self.later), self._counts.reach.get(kind)
        return rows if reach is None else (row for row in rows if reach[row])

    def _claim_ways(self, task: Task, row: int) -> Iterator[object]:
        """What the task's claims may get on a node; each is what they get when the task is placed next."""
        claims = self.session.claims
        if self._is_exact or not claims.concerns(task):
            yield None
            return
        ways = claims.ways(task, row, later=self.later, beside=self._firsts, most=self.budget.steps + 2)
        for number, way in enumerate(ways.found):
            if number and not self.budget.take():
                break
            claims.prefer(task, row, way)
            yield way
        claims.prefer(task, row, None)
        self.budget.cut = self.budget.cut or not ways.complete

    def _stamp(self, row: int) -> bytes:
        """What tells a node from others, for these tasks."""
        room = self._counts.room()
        return bytes(np.concatenate((room.free[row], room.most[row])))

    def _place(self, task: Task, row: int) -> None:
        selection = self.session.node_selection
        if not self.later or selection.fits_at(task, row, later=False):
            self._statement.allocate(self.job, task, row)
        else:
            self._statement.pipeline(self.job, task, row)

    def _goes_on(self, row: int, kind: int, way: Way | None) -> bool:
        """Whether the other tasks may fit now that one of a kind is on a row; ``way`` is one for all of them."""
        if way is not None and way[row, kind]:
            self._counts.way = way - Counter({(row, kind): 1})
            return True
        return self._counts.met or self._counts.may_be_met()


def _needs_others(task: Task) -> bool:
    """Whether a task may fit only once others are placed: near them, or as many elsewhere."""
    shape = task.shape
    near = shape.affinity is not None and shape.affinity.required
    return bool(near) or any(one.hard for one in shape.spread)

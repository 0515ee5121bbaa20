"""Places tasks of one job until enough have a node: one after the other, else in any way that there is.

Tasks that are placed one after the other may take room that only others can use. So where a gang found no room like
that, its tasks are tried on all nodes, those with the best scores first, and are taken back where the others cannot fit
any more. Whether they can is counted (``kernels.assignment``): exactly, so that nothing is taken back, for tasks that
claim nothing and have no rules about other pods; for others, what amounts say. The search has a budget of steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.actions.blocked import PendingTasks
from vsched.actions.placing import PlacingArgs, PlacingGoal, goal_of, place_in_order
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.nominations import lift_nomination
from vsched.framework.session import Session
from vsched.kernels.assignment import NEVER, RoomOnNodes, TaskTable, assign, too_many
from vsched.model.nodes.table import Ints
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

CELLS_OF_A_STEP = 1 << 14
"""So many vectors of counts take about as long to look at as a task takes to be placed."""
SEARCHES_MAX = 10
"""In one session, as many steps as so many gangs may take are taken in all: sessions stay short whatever waits."""
ROWS_COUNTED = 8
"""So many nodes are tried for a task before it goes where it goes in an assignment that is known already."""

Way = Counter[tuple[int, int]]
"""How many tasks go where, by row and kind."""


class AllocateArgs(PlacingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of allocate."""

    gang_search_steps: int = msgspec.field(default=300, name="gangSearchSteps")
    """How many placements are tried, in each session, for a gang that found no room task by task; 0 for none."""


def place_until_ready(
    session: Session,
    queue: Queue,
    job: JobView,
    pending: PendingTasks,
    statement: Statement,
    goal: PlacingGoal | None = None,
) -> None:
    """Place tasks until the job is ready, or until failed tasks make that impossible.

    A ``goal`` stands in place of the whole job's.
    """
    goal = goal_of(session, job) if goal is None else goal
    tasks = tuple(pending) if goal.missing() > 1 or goal.parts_missing(False) else ()
    before = statement.savepoint()
    place_in_order(session, queue, job, pending, statement, goal)
    if len(tasks) > 1 and not goal.met():
        kinds = kinds_of(session, tasks, lambda task: task.role)
        place_in_any_way(session, queue, job, kinds, pending, statement, before, goal)


def place_in_any_way(
    session: Session,
    queue: Queue,
    job: JobView,
    kinds: TaskKinds,
    pending: PendingTasks,
    statement: Statement,
    before: int,
    goal: PlacingGoal,
) -> None:
    """Place tasks in any way that meets the goal, in place of the steps since a savepoint.

    Where there is none, these steps are taken again.
    """
    most = session.args("allocate", AllocateArgs).gang_search_steps
    if not most or (len(kinds.firsts) < 2 and kinds.are_plain):
        return  # whatever the way, each node takes as many
    selection = session.node_selection
    in_order, waits, cut = session.ledger.log[before:], goal.will_be_met(), False
    statement.rollback(before)
    for later in (False, True) if session.nodes.in_motion and not waits else (False,):
        steps = max(0, min(most, SEARCHES_MAX * most - selection.searched))
        search = GangAssignment(session, queue, job, kinds, statement, goal, steps, later=later)
        found = search.run()
        selection.searched += steps - search.steps
        if found:
            placed = {entry.task.uid for entry in session.ledger.log[before:]}
            pending.clear()
            pending.extend(task for task in kinds.all if task.uid not in placed)
            return
        cut = cut or search.cut
    _place_again(session, statement, in_order)
    if cut:
        whys = ((task.uid, session.refused.tasks.get(task.uid)) for task in kinds.all)
        session.refused.tasks.update({uid: why._replace(cut=True) for uid, why in whys if isinstance(why, NodeReasons)})


def _place_again(session: Session, statement: Statement, steps: Sequence[LedgerEntry]) -> None:
    """Take these steps again, which were undone."""
    for job, task, row, before, status, _ in steps:
        if before is Status.PIPELINED:
            lift_nomination(session, statement, job, task)
        elif status is Status.ALLOCATED:
            statement.allocate(job, task, row)
        else:
            statement.pipeline(job, task, row)


class TaskKinds(NamedTuple):
    """The tasks of a gang by kind: tasks of one kind find room on the same nodes."""

    all: Sequence[Task]
    usable: Sequence[Task]
    """Those that may be placed at all."""
    of: Mapping[str, int]
    """The kind of each, by uid."""
    firsts: Sequence[Task]
    """A task of each kind."""
    parts: Sequence[str]
    """By kind: the part of the gang that its tasks belong to, which may have a minimum of its own."""
    are_plain: bool
    """Whether amounts and attributes of nodes alone decide where they may go, and not other pods, or claims."""


def kinds_of(session: Session, tasks: Sequence[Task], part_of: Callable[[Task], str]) -> TaskKinds:
    """The kinds of these tasks, but for those whose claims cannot be used."""
    selection = session.node_selection
    usable = [task for task in tasks if task.claims is None or session.claims.obstacle(task) is None]
    numbers: dict[Hashable, int] = {}
    of: dict[str, int] = {}
    firsts: list[Task] = []
    for task in usable:
        kind = selection.kind(task), part_of(task), selection.label_class(task)
        of[task.uid] = numbers.setdefault(kind, len(numbers))
        if len(numbers) > len(firsts):
            firsts.append(task)
    plain = all(map(selection.is_free_of_others, firsts))
    return TaskKinds(tasks, usable, of, firsts, [part_of(task) for task in firsts], plain)


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
        steps: int,
        *,
        later: bool,
    ) -> None:
        """``later``: room that pods have yet to leave counts as well."""
        self._session, self._queue, self._job, self._statement = session, queue, job, statement
        self._goal, self._later = goal, later
        self._met = goal.will_be_met if later else goal.met
        self.steps = steps
        """How many are left."""
        self.cut = False
        """Whether the search ended because it had no steps left."""
        self._tasks, self._firsts, self._kind_of = list(kinds.usable), kinds.firsts, kinds.of
        self._parts = kinds.parts
        self._is_exact = kinds.are_plain
        """Whether counting says all."""
        self._left = Counter(kinds.of.values())
        """By kind: the tasks that may still be placed."""
        self._columns = sorted({column for task in self._firsts for column, _ in task.shape.request})
        requests = [[dict(task.shape.request).get(column, 0) for column in self._columns] for task in self._firsts]
        self._requests = np.array(requests, dtype=np.int64).reshape(len(self._firsts), len(self._columns))
        self._cells_max = CELLS_OF_A_STEP * session.args("allocate", AllocateArgs).gang_search_steps
        """What one count may cost. It does not depend on what was done before: counts are remembered."""
        self._counts = not too_many(tuple(self._left.values()))
        """Whether what is left can be counted."""
        self._way: Way | None = None
        """A way to place what is left, by amounts; None where none is known."""
        self._tables: dict[tuple[tuple[int, ...], tuple[int, ...]], TaskTable] = {}
        self._known: tuple[int, RoomOnNodes] | None = None
        """What nodes have, with the position in the journal that it is for."""

    def run(self) -> bool:
        """Place enough tasks; where that cannot be done, nothing has changed."""
        before = self._statement.savepoint()
        for task in self._tasks:
            lift_nomination(self._session, self._statement, self._job, task)
        if self._may_be_met() and self._search():
            return True
        self._statement.rollback(before)
        return False

    def _search(self) -> bool:
        if not self._is_exact:
            self._scarcest_first()
        stack = [self._ways(0)]
        while stack:
            if next(stack[-1], None) is None:
                stack.pop()
            elif self._met():
                return True
            elif len(stack) < len(self._tasks):
                stack.append(self._ways(len(stack)))
        return False

    def _scarcest_first(self) -> None:
        """Try tasks first that fit on few nodes; last, those that fit on none: they may need others beside them."""
        options = [
            sum(1 for _ in self._session.node_selection.in_order(one, later=self._later)) for one in self._firsts
        ]
        rank = [count or len(self._session.nodes) + 1 for count in options]
        self._tasks.sort(key=lambda task: (rank[self._kind_of[task.uid]], self._kind_of[task.uid]))

    def _ways(self, at: int) -> Iterator[bool]:
        """Place a task in each way, at last leave it and its like out; each is undone when the next is asked for."""
        task, way = self._tasks[at], self._way
        kind = self._kind_of[task.uid]
        if self._left[kind]:
            if self._session.plugins.grantable(self._queue, task) is None:
                self._left[kind] -= 1
                before = self._statement.savepoint()
                for row in self._rows(task, kind, way):
                    for _ in self._claim_ways(task, row):
                        self._place(task, row)
                        if self._goes_on(row, kind, way):
                            yield True
                        self._statement.rollback(before)
                self._left[kind] += 1
            if self.cut:
                return
            left, self._left[kind] = self._left[kind], 0
            self._way = way if way is None or not any(one == kind for _, one in way) else None
            if self._met() or self._way is not None or self._may_be_met():
                yield True
            self._left[kind] = left
        else:
            yield True
        self._way = way

    def _rows(self, task: Task, kind: int, way: Way | None) -> Iterator[int]:
        """The nodes to try, as long as there are steps: the best first, and no two that differ in nothing."""
        tried: set[bytes] = set()
        rows = self._session.node_selection.in_order(task, later=self._later)
        for number, row in enumerate(rows):
            if self._is_exact and way is not None and (number >= ROWS_COUNTED or self.steps <= 0):
                yield from (one for one, of in way if of == kind)
                return
            if self.steps <= 0:
                self.cut = True
                return
            if self._is_exact:
                stamp = self._stamp(row)
                if stamp in tried:
                    continue
                tried.add(stamp)
            self.steps -= 1
            yield row

    def _claim_ways(self, task: Task, row: int) -> Iterator[object]:
        """What the task's claims may get on a node; each is what they get when the task is placed next."""
        claims = self._session.claims
        if self._is_exact or not claims.concerns(task):
            yield None
            return
        ways = claims.ways(task, row, later=self._later, beside=self._firsts, most=self.steps + 2)
        for number, way in enumerate(ways.found):
            if number and self.steps <= 0:
                self.cut = True
                break
            self.steps -= number > 0
            claims.prefer(task, row, way)
            yield way
        claims.prefer(task, row, None)
        self.cut = self.cut or not ways.complete

    def _stamp(self, row: int) -> bytes:
        """What tells a node from others, for these tasks."""
        room = self._room()
        return bytes(np.concatenate((room.free[row], room.most[row])))

    def _place(self, task: Task, row: int) -> None:
        selection = self._session.node_selection
        if not self._later or selection.fits_at(task, row, later=False):
            self._statement.allocate(self._job, task, row)
        else:
            self._statement.pipeline(self._job, task, row)

    def _goes_on(self, row: int, kind: int, way: Way | None) -> bool:
        """Whether the other tasks may fit now that one of a kind is on a row; ``way`` is one for all of them."""
        if way is not None and way[row, kind]:
            self._way = way - Counter({(row, kind): 1})
            return True
        return self._met() or self._may_be_met()

    def _may_be_met(self) -> bool:
        """Whether amounts allow for what is still missing. Finds a way, where it can be counted."""
        self._way = None
        goal = self._goal
        missing = goal.missing_later() if self._later else goal.missing()
        of_parts = goal.parts_missing(self._later)
        kinds = [kind for kind, left in self._left.items() if left]
        if sum(self._left.values()) < missing:
            return False
        room = self._room()
        for kind in kinds:
            part = self._parts[kind]
            others = sum(self._left[one] for one in kinds if one != kind)
            of_part = sum(self._left[one] for one in kinds if one != kind and self._parts[one] == part)
            least = max(missing - others, of_parts.get(part, 0) - of_part)
            if least > 0 and int(np.minimum(room.most[:, kind], least).sum()) < least:
                return False
        if not self._counts or self.steps <= 0 or not kinds:
            return True
        counts = tuple(self._left[kind] for kind in kinds)
        rows = np.flatnonzero(room.most[:, kinds].any(axis=1))
        table = self._table(tuple(kinds), counts)
        room = RoomOnNodes(room.free[rows], room.most[rows][:, kinds])
        needed, cells = self._needed(table, kinds, missing, of_parts), self._cells_max
        # A gang that waits asks the same in each session, mostly of nodes that have the same room for it.
        asked = blake2b(digest_size=16)
        for amounts in (self._requests[kinds], np.array(counts), needed, room.free, room.most):
            asked.update(amounts.tobytes())
        found = self._session.memo.of("assignments", asked.digest(), (), lambda: assign(table, room, needed, cells))
        self.steps -= 1 + found.cells // CELLS_OF_A_STEP
        if found.places is None:
            self._counts = found.complete
            return not found.complete
        self._way = Counter({(int(rows[at]), kinds[one]): count for at, one, count in found.places})
        return True

    def _table(self, kinds: tuple[int, ...], counts: tuple[int, ...]) -> TaskTable:
        found = self._tables.get((kinds, counts))
        if found is None:
            found = self._tables[kinds, counts] = TaskTable(self._requests[list(kinds)], counts)
        return found

    def _needed(self, table: TaskTable, kinds: Sequence[int], missing: int, of_parts: Mapping[str, int]) -> Ints:
        """int64[vectors]: how many more fillers are enough beside so many more of each other kind."""
        parts = [self._parts[kinds[kind]] for kind in table.others]
        needed: Ints = missing - table.levels.sum(axis=0)
        for part, least in of_parts.items():
            others = least - table.levels[[at for at, one in enumerate(parts) if one == part]].sum(axis=0)
            has_filler = part == self._parts[kinds[table.filler]]
            needed = np.maximum(needed, others) if has_filler else np.where(others > 0, NEVER, needed)
        return needed

    def _room(self) -> RoomOnNodes:
        """What nodes have for the tasks as things are."""
        latest = len(self._session.ledger.journal)
        if self._known is None or self._known[0] != latest:
            nodes, selection = self._session.nodes, self._session.node_selection
            free = [nodes.future_idle(one) if self._later else nodes.unreserved(one) for one in self._columns]
            most = [np.minimum(selection.rooms(task, now=not self._later), len(self._tasks)) for task in self._firsts]
            self._known = latest, RoomOnNodes(np.maximum(np.stack(free, axis=1), 0), np.stack(most, axis=1))
        return self._known[1]

"""Room for a gang in any way that there is, so that the fewest pods leave.

Pod by pod, one may take the room that only another can use, or have others leave where a single victim would do for
both. So for several pods, other sets of victims are tried, which are enough by amounts (``kernels.fewest``), with any
places for the pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.arbitrator.taking.placing import PlacementTrial
from vsched.arbitrator.taking.search import EvictionSearch
from vsched.kernels.fewest import FewestPods, LargestFirst, Offer, pick
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.task import Task

STEPS_MAX = 300
"""How many placements are tried in one round."""
CELLS_OF_A_STEP = 1 << 14
"""So many vectors of counts take about as long to look at as a pod takes to be placed."""
NODES_OF_A_STEP = 4
"""To see who may leave so many nodes takes about as long, too."""
KINDS_CELLS_MAX = 1 << 12
"""Of more vectors of counts, gangs are placed pod by pod alone."""
ROWS_MAX = 32
"""How many nodes are examined closely, besides one for each pod."""
MOST_OF_A_NODE = 4
"""No more pods leave one node, where many may leave many nodes."""

Class = tuple[int, Hashable]
"""Victims of which one leaves as well as another; first the row of their node."""
Classes = frozenset[Class]


class PlacedPod(NamedTuple):
    """A pod with its place, and the victims that leave for it, by position."""

    task: Task
    row: int
    victims: Sequence[int]


class GangRoom:
    """The search for the fewest victims of one gang. Nothing has changed at its end."""

    def __init__(
        self, trial: PlacementTrial, search: EvictionSearch, tasks: Sequence[Task], fewest: float, steps: int
    ) -> None:
        """``fewest``: how many leave for the gang if room is made pod by pod; infinite where that fails."""
        self._trial, self._search, self._tasks, self._fewest = trial, search, tasks, fewest
        self._victims, self._turns = search.victims, search.turns()
        self.steps = steps
        """How many placements may still be tried."""
        self._best: list[PlacedPod] | None = None
        self._mark, self._start = search.mark(), trial.mark()
        numbers: dict[Hashable, int] = {}
        self._kind_of = [numbers.setdefault(trial.likeness(task), len(numbers)) for task in tasks]
        self._firsts = [tasks[self._kind_of.index(kind)] for kind in range(len(numbers))]
        self._columns = sorted({column for task in tasks for column, _ in task.shape.request})
        self._totals: list[int] = trial.nodes.allocatable.sum(axis=1).tolist()
        self._tried: set[frozenset[int]] = set()
        self._useful: Mask = search.useful_for(self._columns)
        """bool[pods]: who may leave."""
        self._rows: dict[int, Mask] = {}
        """By row that matters: bool[kinds], the pods that may go there."""

    def find(self) -> list[PlacedPod] | None:
        """Places for all pods with fewer victims; None where there are none, or none are found."""
        counts = Counter(self._kind_of)
        by_kind = [counts[kind] for kind in range(len(self._firsts))]
        if not self._useful.any() or self._least() >= self._fewest:
            return None
        if np.prod([count + 1.0 for count in by_kind]) > KINDS_CELLS_MAX:
            return None
        self._rows = self._rows_to_try()
        requests = [[dict(task.shape.request).get(column, 0) for column in self._columns] for task in self._firsts]
        table: Ints = np.array(requests, dtype=np.int64).reshape(len(requests), len(self._columns))
        bound = MOST_OF_A_NODE if len(self._rows) > ROWS_MAX else len(self._useful)
        self._question = FewestPods(table, by_kind, len(self._tasks), most=max(1, bound))
        self._explore(frozenset())
        return self._best

    def _least(self) -> int:
        """How many leave at least, by amounts, where all pods are alike."""
        if len(self._firsts) > 1:
            return 0
        task, most = self._firsts[0], 1
        for column, amount in task.shape.request:
            most = max(most, -(-int(self._victims.amounts(column)[self._useful].max()) // amount))
        room = int(np.minimum(self._trial.node_selection.rooms(task), len(self._tasks)).sum())
        return -(-max(0, len(self._tasks) - room) // most)

    def _rows_to_try(self) -> dict[int, Mask]:
        """The nodes that the fewest pods have to leave for one of the gang's, and those that have room already."""
        nodes, selection, victims = self._trial.nodes, self._trial.node_selection, self._victims
        everything = {column: np.full(len(nodes), UNLIMITED) for column in self._columns}
        may = np.stack([selection.candidates(task, everything) for task in self._firsts], axis=1)
        some: Mask = np.zeros(len(nodes), dtype=np.bool_)
        some[victims.row[self._useful]] = True
        chosen: list[int] = []
        for kind, task in enumerate(self._firsts):
            needed: Ints = np.zeros(len(nodes), dtype=np.int64)
            for column, amount in task.shape.request:
                lacking = np.maximum(amount - nodes.future_idle(column), 0)
                amounts = victims.amounts(column)[self._useful]
                np.maximum(needed, LargestFirst(victims.row[self._useful], amounts).needed(lacking), out=needed)
            rows, rooms = np.flatnonzero(some & may[:, kind]), selection.rooms(task)
            chosen += rows[np.argsort(needed[rows], kind="stable")][: ROWS_MAX + len(self._tasks)].tolist()
            chosen += [row for row in np.argsort(-rooms, kind="stable")[: len(self._tasks)].tolist() if rooms[row]]
        return {row: may[row] for row in dict.fromkeys(chosen)}

    # -- sets of victims ---------------------------------------------------------------------------------------------

    def _explore(self, out: Classes) -> None:
        """Look for better sets among those that have left by now, and victims that are not ``out``."""
        search = self._search
        while self.steps > 0:
            gone, offers = search.positions_since(self._mark), [*self._offers(out)]
            plan = self._question.find([offer for _, _, offer in offers], CELLS_OF_A_STEP * STEPS_MAX)
            self.steps -= 1 + len(offers) // NODES_OF_A_STEP + plan.cells // CELLS_OF_A_STEP
            if plan.departures is None or len(gone) + plan.pods >= self._fewest:
                return
            chosen, is_whole = list[int](), True
            for one in sorted(plan.departures, key=lambda one: one.node):
                _, open_there, offer = offers[one.node]
                picked = pick(one, offer)
                is_whole &= picked is not None
                chosen += [open_there[at] for at in (range(one.pods) if picked is None else picked)]
            refused = {self._class(position) for position in chosen if not search.may_go(position, self._tasks[0])}
            if not refused:
                break
            out |= refused
        else:
            return
        if is_whole and self._may_leave([*gone, *chosen]):
            self._try([*gone, *chosen])
        if len(gone) + max(1, plan.pods) >= self._fewest:
            return
        if not chosen:
            chosen = [at for _, open_there, _ in offers for at in open_there if search.may_go(at, self._tasks[0])]
        if chosen:
            if self._may_leave([*gone, chosen[0]]):
                mark = search.mark()
                search.evict(chosen[0], self._tasks[0])
                self._explore(out)
                search.undo_to(mark)
            self._explore(out | {self._class(chosen[0])})

    def _offers(self, out: Classes) -> Iterator[tuple[int, list[int], Offer]]:
        """By row: who may still leave, in order, and what the node offers."""
        nodes, victims = self._trial.nodes, self._victims
        for row, may in self._rows.items():
            here = np.flatnonzero(self._useful & victims.left & (victims.row == row))
            open_there = [at for at in victims.alone_first(here, self._turns) if self._class(at) not in out]
            free = np.array([nodes.future_idle_at(column, row) for column in self._columns])
            pods = [victims.amounts(column)[open_there] for column in self._columns]
            yield row, open_there, Offer(free, np.stack(pods, axis=1), may)

    def _class(self, position: int) -> Class:
        task = self._victims.tasks[position]
        return int(self._victims.row[position]), (task.job, task.shape, task.labels, task.priority, task.unready)

    # -- one set -----------------------------------------------------------------------------------------------------

    def _try(self, positions: Sequence[int]) -> None:
        """Keep what these victims make room for, if it is better."""
        key = frozenset(positions)
        if key in self._tried:
            return
        self._tried.add(key)
        gone = self._search.positions_since(self._mark)
        self._start_over()
        self._evict(positions)
        rows = self._placed_in_any_way()
        self._start_over()
        for placed in (self._one_by_one, self._all_at_once):
            found = None if rows is None else placed(rows, positions)
            self._start_over()
            if found is not None:
                leave = sum(len(self._victims.unit(at)) for one in found for at in one.victims)
                if leave < self._fewest:
                    self._best, self._fewest = found, leave
                break
        self._evict(gone)

    def _may_leave(self, positions: Sequence[int]) -> bool:
        """Whether all of these may leave, the largest last; nothing is changed."""
        gone = self._search.positions_since(self._mark)
        self._start_over()
        found = self._left(positions) is not None
        self._start_over()
        self._evict(gone)
        return found

    def _left(self, positions: Sequence[int]) -> list[int] | None:
        """Let these leave, the largest last; returns who was asked to, in order, None where one of them may not go.

        The last one may take more than its namespace keeps beyond what it deserves.
        """
        asked: list[int] = []
        for position in sorted(positions, key=self._size):
            if not self._victims.left[position]:
                continue  # it leaves with another one
            is_useful = self._search.useful_for(self._columns)[position]
            if not is_useful or not self._search.may_go(position, self._tasks[0]):
                return None
            self._search.evict(position, self._tasks[0])
            asked.append(position)
        return asked

    def _evict(self, positions: Iterable[int]) -> None:
        for position in positions:
            if self._victims.left[position]:
                self._search.evict(position, self._tasks[0])

    def _start_over(self) -> None:
        self._search.undo_to(self._mark)
        self._trial.undo_to(self._start)

    def _placed_in_any_way(self) -> list[int] | None:
        """The rows of all pods; None where there is no way, or none is found."""
        trial = self._trial
        options = [sum(1 for _ in trial.node_selection.in_order(task, later=True)) for task in self._firsts]
        order = sorted(range(len(self._tasks)), key=lambda at: (options[self._kind_of[at]], self._kind_of[at], at))
        rows: dict[int, int] = {}
        stack = [self._ways(order, 0, rows)]
        while stack:
            if not next(stack[-1], False):
                stack.pop()
            elif len(rows) == len(order):
                return [rows[at] for at in range(len(order))]
            else:
                stack.append(self._ways(order, len(stack), rows))
        return None

    def _ways(self, order: Sequence[int], number: int, rows: dict[int, int]) -> Iterator[bool]:
        """Each place for one pod, kept until the next one is asked for. Equal pods go from lower to higher rows."""
        at = order[number]
        is_like = number > 0 and self._kind_of[order[number - 1]] == self._kind_of[at]
        first = rows[order[number - 1]] if is_like else 0
        mark = self._trial.mark()
        for row in self._trial.node_selection.in_order(self._tasks[at], later=True):
            if row < first:
                continue
            if self.steps <= 0:
                break
            self.steps -= 1
            self._trial.reserve(self._tasks[at], row)
            rows[at] = row
            yield True
            self._trial.undo_to(mark)
            del rows[at]

    def _one_by_one(self, rows: Sequence[int], among: Sequence[int]) -> list[PlacedPod] | None:
        """Place the pods there, each with victims among these alone; None where one of them may not go."""
        found: list[PlacedPod] = []
        for task, row in zip(self._tasks, rows, strict=True):
            leaving: Sequence[int] = ()
            if not self._trial.node_selection.fits_at(task, row):
                here = [position for position in among if self._victims.row[position] == row]
                freed = self._search.free(task, row, here)
                if freed is None:
                    return None
                leaving = freed
            self._trial.reserve(task, row)
            found.append(PlacedPod(task, row, leaving))
        return found

    def _all_at_once(self, rows: Sequence[int], positions: Sequence[int]) -> list[PlacedPod] | None:
        """Place the pods there after all victims have left that are on these rows; None where one may not go."""
        leaving = self._left([at for at in positions if self._victims.row[at] in rows])
        found: list[PlacedPod] = []
        for task, row in zip(self._tasks, rows, strict=True):
            if leaving is None or not self._trial.node_selection.fits_at(task, row):
                return None
            self._trial.reserve(task, row)
            is_first = row not in rows[: len(found)]
            found.append(PlacedPod(task, row, [at for at in leaving if is_first and self._victims.row[at] == row]))
        return found

    def _size(self, position: int) -> float:
        """What a victim asks for, as the sum of its parts of the cluster."""
        request = self._victims.tasks[position].shape.request
        return sum(amount / max(1, self._totals[column]) for column, amount in request)

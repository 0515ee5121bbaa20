"""Whether amounts allow for what a gang still lacks, by exact counting where that is quick (``kernels.assignment``).

For tasks that claim nothing and have no rules about other pods, the count says all, and names a way to place them.
Where there is too much to count, a way for such tasks is guessed (``kernels.packing``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from vsched.actions.placing import PlacingGoal
from vsched.actions.task_kinds import TaskKinds
from vsched.framework.session import Session
from vsched.kernels.assignment import NEVER, Assignment, RoomOnNodes, TaskTable, assign, digest_of, too_many
from vsched.kernels.packing import better_placed, pack
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import PodLabels

CELLS_OF_A_STEP = 1 << 14
"""So many vectors of counts take about as long to look at as a task takes to be placed."""

Way = Counter[tuple[int, int]]
"""How many tasks go where, by row and kind."""


@dataclass(slots=True)
class SearchBudget:
    """What a search may cost, and whether it came to its end."""

    steps: int
    """How many are left."""
    cells: int
    """What one count may cost. It does not depend on what was done before: counts are remembered."""
    cut: bool = False
    """Whether not all ways were tried."""

    def take(self) -> bool:
        """Take one step; False, and the search is cut, where there is none left."""
        if self.steps <= 0:
            self.cut = True
            return False
        self.steps -= 1
        return True


class GangCounts:
    """Compares what is left of a gang with what nodes have."""

    def __init__(
        self, session: Session, kinds: TaskKinds, goal: PlacingGoal, budget: SearchBudget, *, later: bool
    ) -> None:
        """``later``: room that pods have yet to leave counts as well."""
        self._session, self._goal, self._budget, self._later = session, goal, budget, later
        self._firsts, self._parts = kinds.firsts, kinds.parts
        self.left = Counter(kinds.of.values())
        """By kind: the tasks that may still be placed."""
        self._tasks = self.left.total()
        self._columns = sorted({column for task in self._firsts for column, _ in task.shape.request})
        requests = [[dict(task.shape.request).get(column, 0) for column in self._columns] for task in self._firsts]
        self._requests = np.array(requests, dtype=np.int64).reshape(len(self._firsts), len(self._columns))
        self._is_exact = kinds.are_plain
        """Whether amounts say all."""
        self.is_counted = True
        """Whether what is left can be counted, on the nodes where it may be."""
        self.way: Way | None = None
        """A way to place what is left, by amounts; None where none is known."""
        self._tables: dict[tuple[tuple[int, ...], tuple[int, ...]], TaskTable] = {}
        self._known: tuple[int, RoomOnNodes] | None = None
        """What nodes have, with the position in the journal that it is for."""
        self._together: list[int] = []
        """By kind: how many of its tasks there is room for at most."""
        self._labels: list[set[PodLabels]] = [set() for _ in self._firsts]
        for task in kinds.usable:
            self._labels[kinds.of[task.uid]].add(task.labels)
        self._reach: Mapping[int, Mask] = {}

    @property
    def reach(self) -> Mapping[int, Mask]:
        """By kind that has to be in one domain: bool[nodes], where it may be."""
        return self._reach

    @reach.setter
    def reach(self, reach: Mapping[int, Mask]) -> None:
        self._reach, self._known, self.is_counted = reach, None, True

    @property
    def met(self) -> bool:
        """Whether nothing is missing."""
        return self._goal.will_be_met() if self._later else self._goal.met()

    def may_be_met(self) -> bool:
        """Whether amounts allow for what is still missing. Finds a way, where it can be counted."""
        self.way = None
        goal = self._goal
        missing = goal.missing_later() if self._later else goal.missing()
        of_parts = goal.parts_missing(self._later)
        if self.left.total() < missing:
            return False
        room = self.room()
        rooms = {
            kind: min(left, self._together[kind], int(room.most[:, kind].sum())) for kind, left in self.left.items()
        }
        fits = {kind: count for kind, count in rooms.items() if count}
        of_part = Counter[str]()
        for kind, count in fits.items():
            of_part[self._parts[kind]] += count
        if of_part.total() < missing or any(of_part[part] < least for part, least in of_parts.items()):
            return False
        if self._budget.steps <= 0 or not fits:
            return True
        kinds, counts = list(fits), tuple(fits.values())
        rows = np.flatnonzero(room.most[:, kinds].any(axis=1))
        room = RoomOnNodes(room.free[rows], room.most[rows][:, kinds])
        self.is_counted = self.is_counted and not too_many(counts)
        found = self._counted(kinds, counts, room, missing, of_parts) if self.is_counted else None
        if found is None or not found.complete:
            self.is_counted = False
            if not self._is_exact:
                return True
            found = self._packed(kinds, counts, room, missing, of_parts)
            self._budget.cut = self._budget.cut or found.places is None
        places = found.places
        if places is None:
            return False
        if not self.is_counted:
            places = tuple(better_placed(places, self._requests[kinds], room, self._ranks(kinds, rows)))
        self.way = Counter()
        for at, one, count in places:
            self.way[int(rows[at]), kinds[one]] += count
        return True

    def _counted(
        self, kinds: Sequence[int], counts: Sequence[int], room: RoomOnNodes, missing: int, of_parts: Mapping[str, int]
    ) -> Assignment:
        """A way to place enough tasks, by exact counting."""
        table = self._table(tuple(kinds), tuple(counts))
        needed, cells = self._needed(table, kinds, missing, of_parts), self._budget.cells
        return self._remembered(kinds, counts, room, needed, lambda: assign(table, room, needed, cells))

    def _packed(
        self, kinds: Sequence[int], counts: Sequence[int], room: RoomOnNodes, missing: int, of_parts: Mapping[str, int]
    ) -> Assignment:
        """The same by good guesses."""
        parts = [(least, [self._parts[kind] == part for kind in kinds]) for part, least in of_parts.items()]
        wanted = [(missing, [True] * len(kinds)), *parts]

        def is_enough(placed: Sequence[int]) -> bool:
            return all(sum(compress(placed, mine)) >= least for least, mine in wanted)

        asked, cells = np.array([[least, *mine] for least, mine in wanted]), self._budget.cells
        requests = self._requests[kinds]
        return self._remembered(kinds, counts, room, asked, lambda: pack(requests, counts, room, is_enough, cells))

    def _ranks(self, kinds: Sequence[int], rows: Ints) -> Ints:
        """int64[rows, kinds]: which nodes suit tasks best as things are; smaller is better."""
        found = np.full((len(self._session.nodes), len(kinds)), len(self._session.nodes))
        for column, kind in enumerate(kinds):
            order = [*self._session.node_selection.in_order(self._firsts[kind], later=self._later)]
            found[order, column] = np.arange(len(order))
        return found[rows]

    def _remembered(
        self,
        kinds: Sequence[int],
        counts: Sequence[int],
        room: RoomOnNodes,
        wanted: Ints,
        make: Callable[[], Assignment],
    ) -> Assignment:
        """The answer, made once for each question."""
        asked = digest_of(self._requests[kinds], np.array(counts), wanted, room.free, room.most)
        found = self._session.memo.of("assignments", (asked, wanted.ndim), (), make)
        self._budget.steps -= 1 + found.cells // CELLS_OF_A_STEP
        return found

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

    def room(self) -> RoomOnNodes:
        """What nodes have for the tasks as things are."""
        latest = len(self._session.ledger.journal)
        if self._known is None or self._known[0] != latest:
            nodes, selection = self._session.nodes, self._session.node_selection
            free = [nodes.future_idle(one) if self._later else nodes.unreserved(one) for one in self._columns]
            most: list[Ints] = []
            self._together = []
            for kind, task in enumerate(self._firsts):
                found = selection.rooms(task, now=not self._later, with_others=True)
                reach = self._reach.get(kind)
                most.append(np.minimum(found if reach is None else np.where(reach, found, 0), self._tasks))
                filters = () if self._is_exact else self._session.plugins.node_plugins.filters
                rooms = (one.most_together(task.shape, self._labels[kind], found) for one in filters)
                self._together.append(min([self._tasks, *rooms]))
            self._known = latest, RoomOnNodes(np.maximum(np.stack(free, axis=1), 0), np.stack(most, axis=1))
        return self._known[1]

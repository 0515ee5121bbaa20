"""The search for victims: the fewest pods on one node whose eviction makes room for another pod.

Every eviction is tried in the trial of the round first. A pod is a candidate only while its namespace keeps more than
it deserves of a resource that is lacking on the node. PodDisruptionBudgets and reservations hold at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vsched.arbitrator.taking.kept import KeptAmounts
from vsched.arbitrator.taking.placing import PlacementTrial
from vsched.arbitrator.taking.victims import Victims
from vsched.arbitrator.wants import PodDemands
from vsched.model.amounts.counted import Counted, summed
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.arbitration.records import NamespaceAccount
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.task import Task

ROWS_MAX = 32
"""How many nodes are examined closely for one pod that needs several victims."""
TRIES_MAX = 256
"""How many single victims are tried for one pod that does not fit because of rules about other pods."""


class FreedPlace(NamedTuple):
    """A place for a pod, and the victims that make room there."""

    row: int
    victims: tuple[int, ...]
    """Positions among the victims, in the order in which they go."""


class EvictionSearch:
    """Looks for victims in the trial of one round, and evicts in the trial those it finds."""

    def __init__(
        self,
        trial: PlacementTrial,
        overused_accounts: Iterable[NamespaceAccount],
        kept: KeptAmounts,
        asking: PodDemands,
        axis: ResourceAxis,
        jobs: Mapping[str, Job],
    ) -> None:
        self._trial = trial
        self._overused = overused_accounts
        self._kept = kept
        self._asking = asking
        self._names = axis.names
        self._jobs = jobs
        self._evicted: list[tuple[int, int, Task]] = []
        """Each evicted position, with the mark of the trial before it and the pod it was evicted for."""
        self._over: dict[int, Mask] = {}
        """bool[owners] by column: whether the namespace keeps more than it deserves of the resource."""

    @cached_property
    def victims(self) -> Victims:
        """The evictable pods of the overused namespaces; computed only when a pod has to be evicted."""
        return Victims(self._overused, self._trial.rows, self._jobs, self._trial.protected)

    @cached_property
    def _excess(self) -> list[dict[str, int]]:
        """What each owner of victims keeps beyond what it deserves, at this point of the round."""
        return [self._kept.excess(owner) for owner in self.victims.owners]

    def find(self, task: Task, preferred: int | None, of: Collection[str] = ()) -> FreedPlace | None:
        """The victims that make room for a pod, evicted in the trial; None, with nothing changed, if there are none.

        One victim is better than several; of equally many, those that come first in their order are taken. But if
        ``preferred`` is given (pods have left this row for the pod already), that row is tried first. Victims ``of``
        these namespaces come before all others.
        """
        useful, lacking = self._useful(task)
        everything = {column: np.full(len(self._trial.nodes), UNLIMITED) for column in lacking}
        useful &= self._trial.node_selection.candidates(task, everything)[self.victims.row]
        if not useful.any():
            return None
        victims, turns = self.victims, self.turns()
        found: FreedPlace | None = None
        for among in [useful & victims.owned_by(of), useful] if of else [useful]:
            if preferred is not None:
                here = among & (victims.row == preferred)
                found = self._one(task, here, lacking, turns) or self._several(task, here, lacking, turns)
            found = found or self._one(task, among, lacking, turns) or self._several(task, among, lacking, turns)
            if found is not None:
                break
        return found

    def relieve(self, task: Task, lacking: Callable[[], Mapping[str, Counted]], of: Collection[str]) -> bool:
        """Evict pods ``of`` some namespaces, on any node, until the buckets of a pod have room for it.

        ``lacking`` returns by how much each bucket would exceed its limit with the pod at this point. No more pods are
        evicted than it takes, the first in their order. False if it is not possible; then nothing has changed.
        """
        start, chosen, victims = self.mark(), list[int](), self.victims
        turns, left = self.turns(), victims.left & victims.owned_by(of)
        while short := lacking():
            names = {name for amounts in short.values() for name in amounts}
            position = self._relieving(task, np.flatnonzero(left), turns, short, names)
            if position is None:
                self.undo_to(start)
                return False
            left[list(self.victims.unit(position))] = False
            self.evict(position, task)
            chosen.append(position)
        for spared in chosen[-2::-1]:
            fewer = [position for position in chosen if position != spared]
            self._replay(task, fewer, start)
            if lacking():
                self._replay(task, chosen, start)
            else:
                chosen = fewer
        return True

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._evicted)

    def evicted_since(self, mark: int) -> list[tuple[Task, Task]]:
        """The pods evicted since the mark, in order, each with the pod it was evicted for."""
        return [(self.victims.tasks[position], beneficiary) for position, _, beneficiary in self._evicted[mark:]]

    def positions_since(self, mark: int) -> list[int]:
        """The positions of the pods evicted since the mark."""
        return [position for position, _, _ in self._evicted[mark:]]

    def undo_to(self, mark: int) -> None:
        """Undo the evictions since the mark, and every placement since then."""
        while len(self._evicted) > mark:
            position, before, _ = self._evicted.pop()
            self._trial.undo_to(before)
            self._book(position, 1)

    # -- what is lacking --------------------------------------------------------------------------------------------

    def _useful(self, task: Task) -> tuple[Mask, dict[int, Ints]]:
        """Which pods are useful victims, as bool[pods], and what is lacking, as int64[nodes] by column.

        A victim is useful if it uses a resource that is lacking on its node and of which its namespace keeps more than
        it deserves. If its node lacks nothing, rules about other pods keep the pod out; then every requested resource
        counts.
        """
        nodes, victims = self._trial.nodes, self.victims
        lacking = {column: amount - nodes.future_idle(column) for column, amount in task.shape.request}
        short = np.logical_or.reduce([amounts > 0 for amounts in lacking.values()])
        useful: Mask = np.zeros(len(victims.tasks), dtype=np.bool_)
        for column, amounts in lacking.items():
            matters = (amounts > 0) | ~short
            useful |= matters[victims.row] & self._over_in(column)[victims.owner] & (victims.amounts(column) > 0)
        return useful & victims.left, lacking

    def useful_for(self, columns: Iterable[int]) -> Mask:
        """bool[pods]: pods that use some of these resources, of which their namespace keeps more than it deserves."""
        victims = self.victims
        useful: Mask = np.zeros(len(victims.tasks), dtype=np.bool_)
        for column in columns:
            useful |= self._over_in(column)[victims.owner] & (victims.amounts(column) > 0)
        return useful & victims.left

    def _over_in(self, column: int) -> Mask:
        """bool[owners]: whether the namespace keeps more than it deserves of a resource."""
        found = self._over.get(column)
        if found is None:
            name = self._names[column]
            found = np.fromiter((name in excess for excess in self._excess), np.bool_, len(self._excess))
            self._over[column] = found
        return found

    def _still_useful(self, position: int, task: Task, row: int) -> bool:
        """Whether a victim is still useful after the evictions so far (see ``_useful``)."""
        nodes, victims = self._trial.nodes, self.victims
        columns = [column for column, amount in task.shape.request if nodes.future_idle_at(column, row) < amount]
        excess = self._excess[int(victims.owner[position])]
        matters = columns or [column for column, _ in task.shape.request]
        asked = victims.tasks[position].shape.request
        return any(column in matters and self._names[column] in excess for column, _ in asked)

    def turns(self) -> Ints:
        """int64[pods]: the order of eviction at this point of the round; smaller goes first."""
        owners = self.victims.owners
        degrees = [self._kept.degree_of(owner, excess) for owner, excess in zip(owners, self._excess, strict=True)]
        return self.victims.turns(degrees)

    def _relieving(
        self, task: Task, positions: Ints, turns: Ints, short: Mapping[str, Counted], names: set[str]
    ) -> int | None:
        """The first victim whose eviction alone is enough; else the first whose eviction helps.

        Pods that leave together come after those that leave alone.
        """
        helping: int | None = None
        for position in self.victims.alone_first(positions, turns):
            victim, owner = self.victims.tasks[position], int(self.victims.owner[position])
            amounts, above = self._asking.amounts(victim.shape), self._kept.buckets_of(victim.namespace)
            if not any(amounts.get(name) and name in self._excess[owner] for name in names):
                continue
            enough = all(
                bucket in above and amounts.get(name, 0) >= value
                for bucket, lacking in short.items()
                for name, value in lacking.items()
            )
            if (enough or helping is None) and self.may_go(position, task):
                if enough:
                    return position
                helping = position
        return helping

    # -- one, or several --------------------------------------------------------------------------------------------

    def _one(self, task: Task, useful: Mask, lacking: dict[int, Ints], turns: Ints) -> FreedPlace | None:
        """The first victim that leaves alone and whose eviction makes room."""
        victims = self.victims
        enough = useful.copy()
        for column, amounts in lacking.items():
            enough &= victims.amounts(column) >= amounts[victims.row]
        tries = 0
        for position in victims.in_turn(np.flatnonzero(enough), turns):
            if len(victims.unit(position)) > 1 or not self.may_go(position, task):
                continue
            row, mark = int(victims.row[position]), self.mark()
            self.evict(position, task)
            if self._trial.node_selection.fits_at(task, row):
                return FreedPlace(row, (position,))
            self.undo_to(mark)
            tries += 1
            if tries == TRIES_MAX:
                break
        return None

    def _several(self, task: Task, useful: Mask, lacking: dict[int, Ints], turns: Ints) -> FreedPlace | None:
        """The fewest victims on one node, among the nodes that need the fewest judged by amounts."""
        best: FreedPlace | None = None
        least: tuple[int, list[int]] = (len(turns) + 1, [])
        for estimate, row in self._rows(task, useful, lacking):
            if estimate > least[0]:
                break
            mark = self.mark()
            on_row = np.flatnonzero(useful & (self.victims.row == row))
            chosen = self.free(task, row, self.victims.alone_first(on_row, turns))
            self.undo_to(mark)
            if chosen is not None:
                leaving = [one for position in chosen for one in self.victims.unit(position)]
                cost = len(leaving), sorted(turns[leaving].tolist(), reverse=True)
                if cost < least:
                    best, least = FreedPlace(row, tuple(chosen)), cost
        for position in best.victims if best is not None else ():
            self.evict(position, task)
        return best

    def _rows(self, task: Task, useful: Mask, lacking: dict[int, Ints]) -> list[tuple[int, int]]:
        """Nodes to examine, as (lower bound of the victims needed, row), the smallest bound first."""
        victims, nodes = self.victims, len(self._trial.nodes)
        freeable = {column: victims.freeable(column, useful, nodes) for column in lacking}
        enough = self._trial.node_selection.candidates(task, freeable)
        fewest = np.ones(nodes, dtype=np.int64)
        for column, amounts in lacking.items():
            largest = np.maximum(victims.largest(column, useful, nodes), 1)
            np.maximum(fewest, -(-amounts // largest), out=fewest)
        some = np.zeros(nodes, dtype=np.bool_)
        some[victims.row[useful]] = True
        rows = np.flatnonzero(enough & some)
        rows = rows[np.argsort(fewest[rows], kind="stable")][:ROWS_MAX]
        return [(int(fewest[row]), int(row)) for row in rows]

    def free(self, task: Task, row: int, order: Iterable[int]) -> list[int] | None:
        """Evict in order until the pod fits on a row, then spare the victims that are not needed.

        None if the pod does not fit even after all evictions.
        """
        start, chosen = self.mark(), list[int]()
        for position in order:
            if not self.victims.left[position]:
                continue  # it leaves with another one
            if not self._still_useful(position, task, row) or not self.may_go(position, task):
                continue
            self.evict(position, task)
            chosen.append(position)
            if self._trial.node_selection.fits_at(task, row):
                return self._reprieve(task, row, chosen, start)
        return None

    def _reprieve(self, task: Task, row: int, chosen: list[int], start: int) -> list[int]:
        """Spare victims that are not needed, the last of the order first; the one that made the pod fit must go."""
        nodes = self._trial.nodes
        for spared in reversed(chosen[:-1]):
            used = dict(self.victims.tasks[spared].shape.request)
            if any(
                nodes.future_idle_at(column, row) - used.get(column, 0) < amount
                for column, amount in task.shape.request
            ):
                continue
            fewer = [position for position in chosen if position != spared]
            self._replay(task, fewer, start)
            if self._trial.node_selection.fits_at(task, row):
                chosen = fewer
            else:
                self._replay(task, chosen, start)
        return chosen

    def _replay(self, task: Task, chosen: Sequence[int], start: int) -> None:
        self.undo_to(start)
        for position in chosen:
            self.evict(position, task)

    # -- one pod ----------------------------------------------------------------------------------------------------

    def may_go(self, position: int, task: Task) -> bool:
        """Whether reservations and budgets allow that a victim leaves for a pod, with all that leave with it."""
        leaving = [self.victims.tasks[one] for one in self.victims.unit(position)]
        amounts = summed(self._asking.amounts(victim.shape) for victim in leaving)
        return self._kept.may_lose(leaving[0].namespace, amounts, task.namespace) and self._trial.may_go(leaving)

    def evict(self, position: int, task: Task) -> None:
        """Evict a victim, and the pods that leave together with it."""
        for one in self.victims.unit(position):
            self._evicted.append((one, self._trial.mark(), task))
            self._trial.evict(self.victims.tasks[one], int(self.victims.row[one]), task.key)
            self._book(one, -1)

    def _book(self, position: int, sign: int) -> None:
        victim, owner = self.victims.tasks[position], int(self.victims.owner[position])
        self.victims.left[position] = sign > 0
        self._kept.shift(victim.namespace, self._asking.amounts(victim.shape), sign)
        excess = self._excess[owner] = self._kept.excess(victim.namespace)
        for column, over in self._over.items():
            over[owner] = self._names[column] in excess

"""Plans of who leaves for a gang, by amounts: the fewest pods, and the first that do (``kernels.fewest``).

A plan may name too few pods, since rules and votes do not count in it, but never too many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain, islice
from math import ceil
from typing import NamedTuple

import numpy as np

from vsched.actions.attempt_steps import AttemptSteps
from vsched.actions.candidates import CandidatePool, is_out
from vsched.actions.freeing import rooms_once_freed
from vsched.actions.gang_counts import CELLS_OF_A_STEP, SearchBudget
from vsched.actions.task_kinds import TaskKinds
from vsched.actions.victim_votes import asker_kind, of_each_kind
from vsched.actions.victims import Attempt
from vsched.framework.places.task_sets import TaskKind
from vsched.framework.session import Session
from vsched.kernels.fewest import NEVER, FewestPods, Offer, pick
from vsched.model.amounts.resources import Vector, add
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.task import Task

CELLS_MAX = 1 << 12
"""Where there are more vectors of counts, all tasks are taken for the smallest of them."""
ROWS_MAX = 64
"""Of more nodes, those are looked at that the fewest pods have to leave for one task: half as many for each kind."""

VOTES_MAX, VOTES_OF_A_STEP = 2048, 64
"""To find them, plugins vote on so many candidates at most; on how many in the time of a step."""
VICTIMS_MAX = 64
"""Where there are more candidates, a bound is set to how many leave one node: four times as many in all as come."""

Victim = tuple[Task, int]
"""A candidate, and the row of its node."""
Class = tuple[int, Hashable]
"""A class of candidates, of which one leaves as well as another; first the row of their node."""
Classes = frozenset[Class]
NOBODY: Classes = frozenset()


class Missing(NamedTuple):
    """How many tasks need room."""

    total: int
    of_parts: Mapping[str, int]


class FreeingPlan(NamedTuple):
    """Who leaves."""

    pods: int
    """How many."""
    victims: Sequence[Victim]
    is_whole: bool
    """Whether they make enough room by amounts; for several resources, more may have to leave than was worked out."""


class _Node(NamedTuple):
    """A node, and who may leave it."""

    row: int
    victims: Sequence[Task]
    """In the order of eviction."""
    everyone: Sequence[Task]
    """All candidates, those who may not leave at all included."""
    may: Mask
    """bool[kinds]: the tasks that may go there."""


class FreeingPlans:
    """Makes plans for one gang. It is made before anybody leaves; then victims may be evicted in an attempt."""

    def __init__(
        self,
        attempt: Attempt,
        kinds: TaskKinds,
        missing: Missing,
        budget: SearchBudget,
        is_cheap: Callable[[Task], bool],
        first: Iterable[int],
    ) -> None:
        """``is_cheap`` says who may leave at all; nodes ``first`` come before others."""
        self._session: Session = attempt.session
        self._attempt, self._kinds, self._missing, self._budget = attempt, kinds, missing, budget
        askers = {(kinds.of[task.uid], asker_kind(self._session, task)): task for task in kinds.usable}
        self._askers = list(askers.values())
        """A task of each kind that may have other candidates than the others."""
        self._pools = list(map(attempt.pool, self._askers))
        self._pools_of: list[list[CandidatePool]] = [[] for _ in kinds.firsts]
        """The same by kind."""
        for (kind, _), pool in zip(askers, self._pools, strict=True):
            self._pools_of[kind].append(pool)
        self._columns = sorted({column for task in kinds.firsts for column, _ in task.shape.request})
        self._start = attempt.mark()
        self._nodes: list[_Node] = []
        self._offers: list[Offer] = []
        """What each node offers before anybody leaves."""
        counts = Counter(kinds.of.values())
        self._counts = [min(counts[kind], missing.total) for kind in range(len(counts))]
        self._are_merged = bool(np.prod([count + 1.0 for count in self._counts]) > CELLS_MAX)
        if self._have_room():
            self._nodes = self._nodes_to_try(is_cheap, first)
            self._offers = [self._offer(node, NOBODY) for node in self._nodes]
        self._question = self._asked()

    @property
    def nodes(self) -> Sequence[_Node]:
        """The nodes that matter; none where there is no room whoever leaves."""
        return self._nodes

    def find(self, out: Classes) -> FreeingPlan | None:
        """The plan with the fewest victims besides those that have left, none of classes that are ``out``.

        None where there is none, or it cannot be worked out with what is left of the budget.
        """
        changed = {step.row for step in self._session.ledger.log[self._start.step :]} | {row for row, _ in out}
        offers = [
            self._offer(node, out) if node.row in changed else offer
            for node, offer in zip(self._nodes, self._offers, strict=True)
        ]
        found = self._question.find(offers, self._budget.cells)
        self._budget.steps -= 1 + found.cells // CELLS_OF_A_STEP
        if found.departures is None:
            return None
        victims: list[Victim] = []
        is_whole = True
        for one in sorted(found.departures, key=lambda one: one.node):
            node = self._nodes[one.node]
            picked, may_leave = pick(one, offers[one.node]), self.open(node, out)
            is_whole &= picked is not None
            victims += [(may_leave[at], node.row) for at in (range(one.pods) if picked is None else picked)]
        return FreeingPlan(found.pods, victims, is_whole)

    def open(self, node: _Node, out: Classes) -> list[Task]:
        """Who may still leave a node."""
        left = [victim for victim in node.victims if not is_out(self._session, victim)]
        return [victim for victim in left if self.class_of(victim, node.row) not in out] if out else left

    def class_of(self, victim: Task, row: int) -> Class:
        """The class of a candidate. Labels count where rules about pods, budgets or sub-groups read them."""
        snapshot = self._session.snapshot
        are_read = bool(snapshot.budgets) or bool(snapshot.jobs[victim.job].spec.sub_groups)
        labels: Hashable = victim.labels if are_read else self._session.node_selection.label_class(victim)
        about = victim.job, victim.shape, labels, victim.role, victim.priority, victim.status, victim.unready
        return row, about if victim.claims is None else victim.uid

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _have_room(self) -> bool:
        """Whether nodes have room for each kind by itself, once all candidates have left."""
        rooms = [
            sum(int(rooms_once_freed(self._session, pool, TaskKind(None, task, count)).freed.sum()) for pool in pools)
            for task, count, pools in zip(self._kinds.firsts, self._counts, self._pools_of, strict=True)
        ]
        fits = [min(room, count) for room, count in zip(rooms, self._counts, strict=True)]
        of_parts = Counter[str]()
        for part, count in zip(self._kinds.parts, fits, strict=True):
            of_parts[part] += count
        return sum(fits) >= self._missing.total and all(
            of_parts[part] >= least for part, least in self._missing.of_parts.items()
        )

    def _nodes_to_try(self, is_cheap: Callable[[Task], bool], first: Iterable[int]) -> list[_Node]:
        """The nodes that matter, in the order of the search for victims, then those that have room already."""
        selection, firsts = self._session.node_selection, self._kinds.firsts
        may: Mask = np.stack(
            [
                np.logical_or.reduce([selection.candidates(task, pool.freeable) for pool in pools])
                for task, pools in zip(firsts, self._pools_of, strict=True)
            ],
            axis=1,
        )
        is_open: Mask = np.logical_or.reduce(may, axis=1)
        full = self._full_columns()
        if full:
            only = selection.restricted_to
            here = np.logical_or.reduce([pool.present for pool in self._pools])
            is_open |= here if only is None else here & only
        by_asker = list(zip(self._askers, self._pools, strict=True))
        if int(is_open.sum()) > ROWS_MAX:
            first = list(first)
            in_order = [self._promising(task, pool, is_made=bool(first)) for task, pool in by_asker]
            in_order += [self._largest(pool, column) for pool in self._pools for column in full]
            rooms = [np.where(is_open, selection.rooms(task), 0) for task in firsts]
            others = [
                row
                for room in rooms
                for row in np.argsort(-room, kind="stable")[: self._missing.total].tolist()
                if room[row]
            ]
        else:
            in_order = [list(self._attempt.rows(pool, task)) for task, pool in by_asker]
            others = np.flatnonzero(is_open).tolist()
        rows = dict.fromkeys(row for row in chain(first, *in_order, others) if is_open[row])
        everyone = {row: self._candidates_on(row) for row in rows}
        return [_Node(row, list(filter(is_cheap, found)), found, may[row]) for row, found in everyone.items()]

    def _full_columns(self) -> list[int]:
        """What the queue may not hold all of for the gang: victims anywhere make room in it."""
        total: Vector = {}
        for task in self._kinds.usable[: self._missing.total]:
            add(total, task.shape.request)
        allocatable, queue = self._session.plugins.allocatable, self._attempt.search.queue
        return [
            column for column, amount in sorted(total.items()) if allocatable(queue, ((column, amount),)) is not None
        ]

    def _promising(self, task: Task, pool: CandidatePool, *, is_made: bool) -> list[int]:
        """The rows that the fewest pods have to leave for one task like this.

        Where nothing is made yet, those come first whose candidates, or some, plugins agree to.
        """
        rows = np.asarray(self._attempt.rows(pool, task), dtype=np.int64)
        needed: Ints = np.zeros(len(self._session.nodes), dtype=np.int64)
        for column, amount in task.shape.request:
            lacking = np.maximum(amount - self._session.nodes.future_idle(column), 0)
            if lacking.any():
                np.maximum(needed, pool.largest_first(column).needed(lacking), out=needed)
        found: list[int] = rows[np.argsort(needed[rows], kind="stable")].tolist()
        if not is_made and len(found) > self._most_rows:
            asked = list(islice(((one, row) for row in found for one in pool.candidates(row)), VOTES_MAX))
            self._budget.steps -= len(asked) // VOTES_OF_A_STEP
            agreed = {one.uid for one in self._attempt.search.agreed(task, [one for one, _ in asked])}
            may_leave = {row for one, row in asked if one.uid in agreed}
            found.sort(key=lambda row: row not in may_leave)
        return found[: self._most_rows]

    def _largest(self, pool: CandidatePool, column: int) -> list[int]:
        """The rows of the largest candidates."""
        largest: Ints = np.zeros(len(self._session.nodes), dtype=np.int64)
        for shape, rows in pool.rows_of_shape.items():
            np.maximum.at(largest, rows, dict(shape.request).get(column, 0))
        found: list[int] = np.argsort(-largest, kind="stable")[: self._most_rows].tolist()
        return [row for row in found if largest[row]]

    @property
    def _most_rows(self) -> int:
        """Of how many rows the best are looked at for each kind of task."""
        return ROWS_MAX // 2 + self._missing.total

    def _candidates_on(self, row: int) -> list[Task]:
        return list({victim.uid: victim for pool in self._pools for victim in pool.candidates(row)}.values())

    # -- amounts -----------------------------------------------------------------------------------------------------

    def _asked(self) -> FewestPods:
        requests = [[amounts.get(one, 0) for one in self._columns] for amounts in self._amounts(self._kinds.firsts)]
        table: Ints = np.array(requests, dtype=np.int64).reshape(len(requests), len(self._columns))
        total, most = self._missing.total, NEVER - 1
        if sum(len(node.victims) for node in self._nodes) > VICTIMS_MAX:
            most = max(2, ceil(4 * total / len(self._nodes)))
        if self._are_merged:
            return FewestPods(table.min(axis=0, keepdims=True), (total,), total, most=most)
        parts = [
            ([kind for kind, part in enumerate(self._kinds.parts) if part == name], least)
            for name, least in self._missing.of_parts.items()
        ]
        return FewestPods(table, self._counts, total, parts, most)

    def _offer(self, node: _Node, out: Classes) -> Offer:
        victims = self.open(node, out)
        free = [self._session.nodes.future_idle_at(column, node.row) for column in self._columns]
        pods = [[amounts.get(one, 0) for one in self._columns] for amounts in self._amounts(victims)]
        may: Mask = np.array([node.may.any()]) if self._are_merged else node.may
        return Offer(np.array(free), np.array(pods, dtype=np.int64).reshape(len(pods), len(free)), may)

    def _amounts(self, tasks: Sequence[Task]) -> list[dict[int, int]]:
        return [dict(task.shape.request) for task in tasks]


def fewest_of_one_kind(session: Session, attempt: Attempt, tasks: Sequence[Task], today: AttemptSteps) -> int:
    """How many leave at least, where all tasks are alike: there was no room without victims when the first one left."""
    first = next((at for at, step in enumerate(today.steps) if step.cause is not None), None)
    if first is None or len(of_each_kind(session, tasks)) > 1:
        return 0
    request = tasks[0].shape.request
    if not session.node_selection.is_free_of_others(tasks[0]) or attempt.search.job.sub_groups is not None:
        return 1
    largest = attempt.pool(tasks[0]).largest
    most = max(1, *(ceil(largest.get(column, 0) / amount) for column, amount in request))
    return ceil((today.placed - first) / most)

"""What nodes offer to tasks: how many they could hold, and why no node fits.

All of it can be restricted to some nodes for a time (``within``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from vsched.framework.claims.claims import Claims
from vsched.framework.claims.task_claims import TaskClaims
from vsched.framework.nodes.feasibility import FeasibilityCache
from vsched.framework.nodes.reserving import ReservesRoom
from vsched.framework.nodes.restriction import Restriction
from vsched.framework.nodes.shapes import ShapeFindings, ShapeNodes, ShapeRoom
from vsched.framework.nodes.why import (
    Failing,
    NodeReasons,
    failing,
    followed,
    of_claims,
    of_limits,
    once_filled,
    reasons_of,
)
from vsched.framework.points.nodes import Check
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

LOOKS_MAX = 512
"""How often a cycle counts room for messages alone; each count may take a tenth of a millisecond."""


class NodeSurvey:
    """The room on one session's nodes for tasks, and the reasons of nodes that do not fit."""

    def __init__(
        self,
        nodes: NodeTable,
        journal: list[int],
        make_fits: Callable[[], FeasibilityCache],
        claims: Claims | None,
        reservers: Sequence[ReservesRoom],
    ) -> None:
        self._nodes = nodes
        self._journal = journal
        self._make_fits = make_fits
        self._claims = claims
        self._implicit = claims is not None and claims.implicit
        self._reservers = reservers
        self._looks = 0
        self._only: Restriction | None = None
        self.is_short = False
        """Whether some task found no node earlier in this cycle; under a restriction, since it began."""
        self.searched = 0
        """How many steps searches for other ways to place gangs have taken in this cycle."""
        self.failures = 0
        """How many kinds of tasks found no node in this cycle, without restrictions."""

    @cached_property
    def _fits(self) -> FeasibilityCache:
        """Made on first use: cycles in which no pod waits do not need it."""
        return self._make_fits()

    def leave(self) -> None:
        """Leave the scores of shapes to the next session."""
        if "_fits" in vars(self):
            self._fits.leave()

    @contextmanager
    def within(self, rows: Ints, scores: Floats | None = None) -> Iterator[None]:
        """A context in which nodes of these rows alone are chosen, counted and explained; ``scores`` adds to scores.

        A restriction within another one holds for the rows of both. What is found out in it is forgotten at its end.
        """
        before, was_short = self._only, self.is_short
        if not bool(np.all(rows[1:] > rows[:-1])):
            rows = np.unique(rows)
        self._only = Restriction(rows, len(self._nodes), scores).inside(before, len(self._nodes))
        self.is_short = False
        try:
            yield
        finally:
            self._only, self.is_short = before, was_short

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """A context in which all nodes may be chosen, whatever restrictions there are around it."""
        before, was_short = self._only, self.is_short
        self._only = None
        try:
            yield
        finally:
            self._only, self.is_short = before, was_short

    @property
    def restricted_to(self) -> Mask | None:
        """bool[nodes]: the rows that may be chosen at present; None without a restriction."""
        return None if self._only is None else self._only.mask

    # -- tasks that ask for the same ---------------------------------------------------------------------------------

    def kind(self, task: Task) -> Hashable:
        """Tasks of equal kind ask for the same: a shape, and claims of one kind."""
        claims = self._claims_of(task)
        kind: Hashable = task.shape if claims is None else (task.shape, claims.kind)
        bound = self._bound(task)
        return (kind, bound) if bound else kind

    def reads_labels(self, shape: Shape) -> bool:
        """Whether rules about pods may distinguish tasks of a shape by their labels, at present."""
        return self._fits.reads_labels(shape)

    def label_class(self, task: Task) -> Hashable:
        """What these rules need of a task's labels."""
        return self._fits.class_of(task)

    def has_failed(self, task: Task) -> bool:
        """Whether a task of the same shape, class and kind of claims found no node earlier in this cycle."""
        return self._findings(self._fits.of(task), self._claims_of(task), task).failed

    # -- why no node fits --------------------------------------------------------------------------------------------

    def explain(self, task: Task) -> NodeReasons:
        """Why no node fits the task now; cached until a placement changes something."""
        fit, claims = self._fits.of(task), self._claims_of(task)
        findings, position = self._findings(fit, claims, task), len(self._journal)
        if findings.explanation is None or findings.explanation[0] != position:
            findings.explanation = (position, reasons_of(self._looked_at, self._failing(fit, task, claims)))
        return findings.explanation[1]

    def failing(self, task: Task, *, filled: bool = False) -> list[Failing]:
        """The nodes that do not fit the task, by reason.

        With ``filled``, every node first gets as many tasks like this one as it has room for. Dynamic checks are left
        out in this case, because each such task would change them.
        """
        fit, claims = self._fits.of(task), self._claims_of(task)
        if filled:
            return list(self._failing_filled(fit, claims, *self._count(fit, task, claims)))
        return list(self._failing(fit, task, claims))

    def _failing(self, fit: ShapeNodes, task: Task, claims: TaskClaims | None) -> Iterator[Failing]:
        dynamic = self._dynamic_checks(fit, task)
        found = failing(self._nodes, fit.shape, fit.checks, dynamic, self._nodes.unreserved)
        found = found if claims is None else of_claims(claims, found, len(self._nodes))
        return found if self._only is None else self._only.failing(found)

    def _failing_filled(
        self, fit: ShapeNodes, claims: TaskClaims | None, rows: Ints, reserved: Sequence[Failing]
    ) -> Iterator[Failing]:
        """The nodes without room for one more task, by reason; ``rows`` and ``reserved`` come from ``_count``."""
        found = failing(self._nodes, fit.shape, fit.checks, (), once_filled(self._nodes, fit.shape, rows))
        if reserved:
            found = followed(found, reserved, len(rows))
        found = found if claims is None else of_limits(claims, found, rows)
        return found if self._only is None else self._only.failing(found)

    def static_checks(self, task: Task) -> Sequence[Check]:
        """The static checks of the task's shape and queue."""
        return self._fits.of(task).checks

    def is_left(self, row: int) -> bool:
        """Whether pods are leaving the row."""
        return self._fits.is_left(row)

    # -- how much room there is --------------------------------------------------------------------------------------

    def room(self, task: Task) -> ShapeRoom:
        """How many tasks like this one the nodes could hold at most, now or later, without dynamic checks.

        The result is cached until a placement changes something, so a backlog of gangs that cannot fit is cheap.
        """
        fit, claims = self._fits.of(task), self._claims_of(task)
        findings, position = self._findings(fit, claims, task), len(self._journal)
        if findings.room is None or findings.room[0] != position:
            findings.room = (position, self._measure(fit, task, claims))
        return findings.room[1]

    def room_at_hand(self, task: Task) -> ShapeRoom | None:
        """The same as ``room``, for messages only: None once it was counted ``LOOKS_MAX`` times in a cycle."""
        known = self._findings(self._fits.of(task), self._claims_of(task), task).room
        if known is None or known[0] != len(self._journal):
            if self._looks >= LOOKS_MAX:
                return None
            self._looks += 1
        return self.room(task)

    def rooms(self, task: Task, *, now: bool = False, with_others: bool = False) -> Ints:
        """int64[nodes]: how many tasks like this one each node could hold, as in ``room``; with ``now``, without
        what pods have yet to leave.

        ``with_others``: 0 where rules about pods close a node, whoever else is placed.
        """
        fit = self._fits.of(task)
        rows = self._count(fit, task, self._claims_of(task), now=now)[0]
        for check in self._dynamic_checks(fit, task) if with_others and fit.dynamic else ():
            if check.tightens:
                rows[~(check.passes if now or check.later is None else check.later)] = 0
        return rows

    def _measure(self, fit: ShapeNodes, task: Task, claims: TaskClaims | None) -> ShapeRoom:
        rows, reserved = self._count(fit, task, claims)
        tasks = int(rows.sum())
        if claims is not None:
            tasks = min([tasks, *(limit.together for limit in claims.limits() if limit.together is not None)])
        return ShapeRoom(tasks, reasons_of(self._looked_at, self._failing_filled(fit, claims, rows, reserved)))

    def _count(
        self, fit: ShapeNodes, task: Task, claims: TaskClaims | None, *, now: bool = False
    ) -> tuple[Ints, list[Failing]]:
        """int64[nodes]: how many such tasks each node could hold; and the nodes where room is reserved for others."""
        rows = rooms_of(self._nodes, fit, claims, self.restricted_to, now=now)
        return rows, [found for reserver in self._reservers for found in reserver.limit(task, rows)]

    # -- the rules of a task -----------------------------------------------------------------------------------------

    def _findings(self, fit: ShapeNodes, claims: TaskClaims | None, task: Task) -> ShapeFindings:
        bound = self._bound(task)
        if self._only is not None:
            return self._only.findings(fit, claims, bound)
        return fit.findings_for(claims, bound)

    def _bound(self, task: Task) -> Hashable:
        """The class of a task by the reservations that bind it; empty where none does."""
        if not self._reservers:
            return ()
        return tuple([found for reserver in self._reservers if (found := reserver.class_of(task))])

    def _claims_of(self, task: Task) -> TaskClaims | None:
        if task.claims is None and not self._implicit:
            return None
        return None if self._claims is None else self._claims.of(task)

    def _dynamic_checks(self, fit: ShapeNodes, task: Task) -> Sequence[Check]:
        found = self._fits.dynamic_checks(fit, task) if fit.dynamic else ()
        if not self._reservers:
            return found
        return [*found, *(check for reserver in self._reservers for check in reserver.checks(task))]

    # -- the restriction ---------------------------------------------------------------------------------------------

    @property
    def _looked_at(self) -> int:
        """The number of nodes that may be chosen at present."""
        return len(self._nodes) if self._only is None else len(self._only.rows)

    def _may_be(self, row: int) -> bool:
        return self._only is None or bool(self._only.mask[row])

    def _restricted(self, ranked: Floats) -> Floats:
        """The scores as the restriction has them: minus infinity for the nodes that it rules out."""
        if self._only is None:
            return ranked
        if self._only.scores is not None:
            ranked = ranked + self._only.scores
        return np.where(self._only.mask, ranked, -np.inf)


def rooms_of(nodes: NodeTable, fit: ShapeNodes, claims: TaskClaims | None, only: Mask | None, *, now: bool) -> Ints:
    """int64[nodes]: how many such tasks each node could hold; 0 outside of ``only``.

    ``now`` leaves out what pods have yet to leave.
    """
    rooms: Ints = np.full(len(nodes), UNLIMITED, dtype=np.int64)
    for column, amount in fit.shape.request:
        if nodes.in_motion:
            free = nodes.unreserved(column) if now else nodes.future_idle(column)
        else:
            free = nodes.idle[column]
        np.minimum(rooms, free // amount, out=rooms)
    np.maximum(rooms, 0, out=rooms)
    if fit.allowed is not None:
        rooms[~fit.allowed] = 0
    if claims is not None:
        for limit in claims.limits():
            np.minimum(rooms, limit.most, out=rooms)
        rooms[~claims.served(later=not now)] = 0
    if only is not None:
        rooms[~only] = 0
    return rooms

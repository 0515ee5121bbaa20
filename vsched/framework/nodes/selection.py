"""Chooses the node for a task: the best one with room now, else the best one with room later.

"Later" means: once the pods that are leaving have left. The module also explains why no node fits, and counts room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.nodes.feasibility import FeasibilityCache, NodePlugins, Room, ShapeNodes
from vsched.framework.nodes.why import Failing, NodeReasons, explain, explain_filled, failing, once_filled
from vsched.framework.points.nodes import Check
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.task import Task

LOOKS_MAX = 512
"""How often a cycle counts room only for messages; counting may take a tenth of a millisecond each time."""


class Choice(NamedTuple):
    """The node row chosen for a task."""

    row: int
    waits: bool
    """Whether the node has room only once leaving pods have left."""


class NodeSelection:
    """Chooses nodes for tasks from one session's node table."""

    def __init__(
        self,
        nodes: NodeTable,
        journal: list[int],
        node_plugins: NodePlugins,
        queue_of: Callable[[Task], str],
        checkpoint: Callable[[], None] = lambda: None,
    ) -> None:
        self._nodes = nodes
        self._checkpoint = checkpoint
        self._journal = journal
        self._fits = FeasibilityCache(nodes, journal, node_plugins, queue_of)
        self._looks = 0

    def choose(self, task: Task, nominated: int | None = None, *, besides: int | None = None) -> Choice | None:
        """The best node for a task: one with room now, else one with room later; None where there is none.

        A nominated row comes before all others, with room now or later (reference 3.2.1 e), if the task fits there.
        The row ``besides`` is never chosen.
        """
        self._checkpoint()
        fit = self._fits.current(task)
        masks = self._dynamic_masks(fit, task)
        if besides is not None:
            masks = [*masks, np.arange(len(self._nodes)) != besides]
        if nominated is not None and _passes(masks, nominated):
            if fit.ranked[nominated] > -np.inf:
                return Choice(nominated, waits=False)
            if self._fits.fits_later(fit, nominated):
                return Choice(nominated, waits=True)
        row = self._best(fit, task, _masked(fit.ranked, masks))
        if row >= 0:
            return Choice(row, waits=False)
        if self._nodes.in_motion:
            row = self._best(fit, task, self._later(fit, masks))
            if row >= 0:
                return Choice(row, waits=True)
        fit.failed = True
        return None

    def has_failed(self, task: Task) -> bool:
        """Whether a task of the same shape and class found no node earlier in this cycle."""
        return self._fits.current(task).failed

    def fits_at(self, task: Task, row: int) -> bool:
        """Whether the task fits on this row, now or once leaving pods have left."""
        fit = self._fits.current(task)
        return self._fits.fits_later(fit, row) and _passes(self._dynamic_masks(fit, task), row)

    def can_hold(self, task: Task, row: int) -> bool:
        """Whether a nomination of this row is still usable: only pods that are leaving may be in the way."""
        fit = self._fits.current(task)
        if not self._fits.fits_later(fit, row, slots=self._nodes.terminating[row]):
            return False
        return self._fits.is_left(row) or _passes(self._dynamic_masks(fit, task), row)

    def is_left(self, row: int) -> bool:
        """Whether pods are leaving the row."""
        return self._fits.is_left(row)

    def candidates(self, task: Task, freeable: Mapping[int, Ints]) -> Mask:
        """bool[nodes]: nodes that static checks allow and that have room if ``freeable`` (by column) is freed too."""
        fit = self._fits.current(task)
        mask = np.ones(len(self._nodes), dtype=np.bool_) if fit.allowed is None else fit.allowed.copy()
        for column, amount in fit.shape.request:
            free = self._nodes.future_idle(column)
            if column in freeable:
                free = free + freeable[column]
            mask &= free >= amount
        return mask

    def ranking(self, task: Task, candidates: Mask) -> Floats:
        """The score of each candidate, minus infinity for the other nodes."""
        fit = self._fits.current(task)
        ranked = np.where(candidates, self._fits.scores(fit), -np.inf)
        return self._fits.with_relative(fit, task, ranked)

    def explain(self, task: Task) -> NodeReasons:
        """Why no node fits the task now; cached until a placement changes something."""
        fit = self._fits.current(task)
        position = len(self._journal)
        if fit.explanation is None or fit.explanation[0] != position:
            dynamic = self._fits.dynamic_checks(fit, task) if fit.dynamic else ()
            fit.explanation = (position, explain(self._nodes, fit.shape, fit.checks, dynamic))
        return fit.explanation[1]

    def failing(self, task: Task, *, filled: bool = False) -> list[Failing]:
        """The nodes that do not fit the task, by reason.

        With ``filled``, every node first gets as many tasks like this one as it has room for. Dynamic checks are left
        out in this case, because each such task would change them.
        """
        fit = self._fits.current(task)
        if not filled:
            dynamic = self._fits.dynamic_checks(fit, task) if fit.dynamic else ()
            return list(failing(self._nodes, fit.shape, fit.checks, dynamic, self._nodes.unreserved))
        left = once_filled(self._nodes, fit.shape, self._rows(fit))
        return list(failing(self._nodes, fit.shape, fit.checks, (), left))

    def static_checks(self, task: Task) -> Sequence[Check]:
        """The static checks of the task's shape and queue."""
        return self._fits.current(task).checks

    def room(self, task: Task) -> Room:
        """How many tasks like this one the nodes could hold at most, now or later, without dynamic checks.

        The result is cached until a placement changes something, so a backlog of gangs that cannot fit is cheap.
        """
        fit = self._fits.current(task)
        position = len(self._journal)
        if fit.room is None or fit.room[0] != position:
            fit.room = (position, self._measure(fit))
        return fit.room[1]

    def room_at_hand(self, task: Task) -> Room | None:
        """The same as ``room``, for messages only: None once it was counted ``LOOKS_MAX`` times in a cycle."""
        known = self._fits.current(task).room
        if known is None or known[0] != len(self._journal):
            if self._looks >= LOOKS_MAX:
                return None
            self._looks += 1
        return self.room(task)

    def rooms(self, task: Task) -> Ints:
        """int64[nodes]: how many tasks like this one each node could hold, as in ``room``."""
        return self._rows(self._fits.current(task))

    def _measure(self, fit: ShapeNodes) -> Room:
        rows = self._rows(fit)
        return Room(int(rows.sum()), explain_filled(self._nodes, fit.shape, fit.checks, rows))

    def _rows(self, fit: ShapeNodes) -> Ints:
        """int64[nodes]: how many tasks of the shape each node could hold, now or later."""
        nodes = self._nodes
        rows: Ints = np.full(len(nodes), UNLIMITED, dtype=np.int64)
        for column, amount in fit.shape.request:
            free = nodes.future_idle(column) if self._nodes.in_motion else nodes.idle[column]
            np.minimum(rows, free // amount, out=rows)
        np.maximum(rows, 0, out=rows)
        if fit.allowed is not None:
            rows[~fit.allowed] = 0
        return rows

    # -- choosing -----------------------------------------------------------------------------------------------

    def _best(self, fit: ShapeNodes, task: Task, ranked: Floats) -> int:
        """The first row with the highest score; -1 where no row is a candidate."""
        if not len(ranked):
            return -1
        ranked = self._fits.with_relative(fit, task, ranked)
        row = int(ranked.argmax())
        return row if ranked[row] > -np.inf else -1

    def _dynamic_masks(self, fit: ShapeNodes, task: Task) -> Sequence[Mask]:
        return [check.passes for check in self._fits.dynamic_checks(fit, task)] if fit.dynamic else ()

    def _later(self, fit: ShapeNodes, masks: Sequence[Mask]) -> Floats:
        """float64[nodes]: scores of the nodes that have room once leaving pods have left, else minus infinity."""
        total = self._fits.scores(fit)
        ranked = total if fit.allowed is None else np.where(fit.allowed, total, -np.inf)
        for column, amount in fit.shape.request:
            ranked = np.where(self._nodes.future_idle(column) >= amount, ranked, -np.inf)
        return _masked(ranked, masks)


def _masked(ranked: Floats, masks: Sequence[Mask]) -> Floats:
    for mask in masks:
        ranked = np.where(mask, ranked, -np.inf)
    return ranked


def _passes(masks: Sequence[Mask], row: int) -> bool:
    return all(mask[row] for mask in masks)

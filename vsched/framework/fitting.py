"""Feasible and best node, worked out once a shape and kept current by the rows that changed.

For each (shape, class of labels) there is a ``ShapeFit``: which nodes attributes allow, which have room, what each
scores. The ledger's journal says which rows changed since; only those are worked out again. What placements of other
pods can change as a whole (ports, pod affinity, spread) and scores on a scale of the candidates are asked for anew
before each choice, and only for shapes that have such rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.extension import Check, NodeFilter, NodeScore
from vsched.framework.why import Explanation, explain, explain_filled
from vsched.model.nodes import Floats, Ints, Mask, NodeTable
from vsched.model.quantity import UNLIMITED
from vsched.model.shape import Shape
from vsched.model.task import Task

ROWS_ONE_BY_ONE = 6
"""Up to this many changed rows are cheaper in plain numbers than in arrays."""

FITS_MAX = 256
"""Shapes remembered at a time, oldest dropped first: at 5,000 nodes each takes 45 KB."""

LOOKS_MAX = 512
"""How often room is counted in a cycle only to tell people about it: each look may take a tenth of a millisecond."""

FULL_AT_FRACTION = 3
"""When more than a third of the rows changed, all are worked out again."""


class Choice(NamedTuple):
    """Where a task goes."""

    row: int
    waits: bool
    """The node has room only once others have left."""


class Room(NamedTuple):
    """How many tasks of one shape there is room for."""

    tasks: int
    full: Explanation
    """What is in the way of one more."""


class ShapeFit:
    """Feasibility and scores of all nodes for one shape and class, current up to ``position`` in the journal."""

    __slots__ = (
        "allowed",
        "checks",
        "dynamic",
        "explanation",
        "failed",
        "position",
        "ranked",
        "room",
        "shape",
    )

    def __init__(self, shape: Shape, allowed: Mask | None, checks: Sequence[Check], dynamic: bool) -> None:
        self.shape = shape
        self.allowed = allowed
        """bool[nodes] by attributes alone; None where every node is allowed."""
        self.checks = checks
        self.dynamic = dynamic
        self.position = -1
        """Journal entries taken in so far; -1 before the first time."""
        self.ranked: Floats = np.empty(0)
        """float64[nodes]: the score where the node is allowed and has room, else minus infinity."""
        self.explanation: tuple[int, Explanation] | None = None
        self.room: tuple[int, Room] | None = None
        self.failed = False
        """Whether a task found no node in this cycle: only then is it worth counting room."""


class Fitting:
    """Chooses nodes for tasks over one cycle's node table."""

    def __init__(
        self,
        nodes: NodeTable,
        journal: list[int],
        filters: Sequence[NodeFilter],
        scorers: Sequence[NodeScore],
    ) -> None:
        self._nodes = nodes
        # Views on the arrays: an element read through one costs a third of numpy's own indexing.
        self._idle = nodes.idle.data
        self._leaving = nodes.releasing.data
        self._reserved = nodes.pipelined.data
        self._journal = journal
        self._filters = filters
        self._scorers = scorers
        self._fits: dict[tuple[Shape, Hashable], ShapeFit] = {}
        self._looks = 0
        self._releasing = bool(nodes.releasing.any())
        """Whether anything leaves its node: only then can tasks wait, and reserve what others may not take."""

    def choose(self, task: Task) -> Choice | None:
        """The best node for a task: one with room now, else one with room later; None where there is none."""
        fit = self._current(task)
        ranked = fit.ranked
        if fit.dynamic:
            ranked = self._filtered(fit, task, ranked)
        choice = self._best(fit, task, ranked)
        if choice >= 0:
            return Choice(choice, waits=False)
        choice = self._best(fit, task, self._later(fit, task)) if self._releasing else -1
        if choice >= 0:
            return Choice(choice, waits=True)
        fit.failed = True
        return None

    def has_failed(self, task: Task) -> bool:
        """Whether a task like this one found no node before in this cycle."""
        return self._current(task).failed

    def choose_at(self, task: Task, row: int) -> Choice | None:
        """The given node if the task may go there, now or later (reference 3.2.1 e: a nominated node)."""
        fit = self._current(task)
        now = self._filtered(fit, task, fit.ranked) if fit.dynamic else fit.ranked
        if now[row] > -np.inf:
            return Choice(row, waits=False)
        later = self._later(fit, task)
        return Choice(row, waits=True) if later[row] > -np.inf else None

    def explain(self, task: Task) -> Explanation:
        """Why no node takes the task as things stand; remembered until a placement changes something."""
        fit = self._current(task)
        position = len(self._journal)
        if fit.explanation is None or fit.explanation[0] != position:
            dynamic = self._dynamic_checks(fit, task) if fit.dynamic else ()
            fit.explanation = (position, explain(self._nodes, fit.shape, fit.checks, dynamic))
        return fit.explanation[1]

    def room(self, task: Task) -> Room:
        """How many tasks like this one the nodes could take at most, now or later; other pods' wishes left aside.

        Remembered until a placement changes something, so that a backlog of gangs that cannot fit costs one look.
        """
        fit = self._current(task)
        position = len(self._journal)
        if fit.room is None or fit.room[0] != position:
            fit.room = (position, self._measure(fit))
        return fit.room[1]

    def room_at_hand(self, task: Task) -> Room | None:
        """The same for those who only want to tell: None once that would take too many looks in one cycle."""
        known = self._current(task).room
        if known is None or known[0] != len(self._journal):
            if self._looks >= LOOKS_MAX:
                return None
            self._looks += 1
        return self.room(task)

    def _measure(self, fit: ShapeFit) -> Room:
        nodes = self._nodes
        rows: Ints = np.full(len(nodes), UNLIMITED, dtype=np.int64)
        for column, amount in fit.shape.request:
            free = nodes.future_idle(column) if self._releasing else nodes.idle[column]
            np.minimum(rows, free // amount, out=rows)
        np.maximum(rows, 0, out=rows)
        if fit.allowed is not None:
            rows[~fit.allowed] = 0
        return Room(int(rows.sum()), explain_filled(nodes, fit.shape, fit.checks, rows))

    # -- keeping a fit current ----------------------------------------------------------------------------------

    def _class_of(self, task: Task) -> Hashable:
        filters = self._filters
        if len(filters) == 1:
            return filters[0].task_class(task.shape, task.labels)
        return tuple(one.task_class(task.shape, task.labels) for one in filters)

    def _one_class(self, task_class: Hashable, position: int) -> Hashable:
        return task_class if len(self._filters) == 1 else task_class[position]  # type: ignore[index]  # the tuple above

    def _current(self, task: Task) -> ShapeFit:
        task_class = self._class_of(task)
        key = (task.shape, task_class)
        fit = self._fits.get(key)
        if fit is None:
            if len(self._fits) >= FITS_MAX:
                del self._fits[next(iter(self._fits))]
            fit = self._fits[key] = self._begin(task.shape, task_class)
        position = len(self._journal)
        if fit.position != position:
            self._refresh(fit)
            fit.position = position
        return fit

    def _begin(self, shape: Shape, task_class: Hashable) -> ShapeFit:
        checks = [check for one in self._filters for check in one.static_checks(shape, self._nodes)]
        allowed: Mask | None = None
        for check in checks:
            allowed = check.passes if allowed is None else allowed & check.passes
        dynamic = any(
            one.is_dynamic(shape, self._one_class(task_class, position)) for position, one in enumerate(self._filters)
        )
        return ShapeFit(shape, allowed, checks, dynamic)

    def _refresh(self, fit: ShapeFit) -> None:
        if fit.position < 0:
            self._refresh_all(fit)
            return
        changed = self._journal[fit.position :]
        if len(changed) > ROWS_ONE_BY_ONE:
            changed = list(dict.fromkeys(changed))
        if len(changed) <= ROWS_ONE_BY_ONE:
            for row in changed:
                self._refresh_row(fit, row)
        elif len(changed) * FULL_AT_FRACTION < len(self._nodes):
            self._refresh_rows(fit, changed)
        else:
            self._refresh_all(fit)

    def _refresh_all(self, fit: ShapeFit) -> None:
        total = self._scores(fit.shape)
        room = fit.allowed
        for column, amount in fit.shape.request:
            enough = self._free(column) >= amount
            room = enough if room is None else room & enough
        fit.ranked = total if room is None or room.all() else np.where(room, total, -np.inf)

    def _free(self, column: int) -> Ints:
        """What a task may take now: idle, but for what pipelined tasks count on."""
        return self._nodes.unreserved(column) if self._releasing else self._nodes.idle[column]

    def _scores(self, shape: Shape) -> Floats:
        total: Floats | None = None
        for scorer in self._scorers:
            scores = scorer.score(shape, self._nodes, slice(None))
            if scores is not None:
                total = scores if total is None else np.add(total, scores, out=total)
        return np.zeros(len(self._nodes)) if total is None else total

    def _refresh_rows(self, fit: ShapeFit, rows: list[int]) -> None:
        nodes, shape = self._nodes, fit.shape
        index = np.array(rows)
        total = np.zeros(len(rows))
        for scorer in self._scorers:
            scores = scorer.score(shape, nodes, rows)
            if scores is not None:
                total += scores
        room = np.ones(len(rows), dtype=np.bool_) if fit.allowed is None else fit.allowed[index]
        for column, amount in shape.request:
            room &= self._free(column)[index] >= amount
        fit.ranked[index] = np.where(room, total, -np.inf)

    def _refresh_row(self, fit: ShapeFit, row: int) -> None:
        if fit.allowed is not None and not fit.allowed[row]:
            return
        idle = self._idle
        for column, amount in fit.shape.request:
            free = idle[column, row]
            if self._releasing:
                free += min(0, self._leaving[column, row] - self._reserved[column, row])
            if free < amount:
                fit.ranked[row] = -np.inf
                return
        total = 0.0
        for scorer in self._scorers:
            total += scorer.score_row(fit.shape, self._nodes, row)
        fit.ranked[row] = total

    # -- choosing -----------------------------------------------------------------------------------------------

    def _best(self, fit: ShapeFit, task: Task, ranked: Floats) -> int:
        """The first row of the highest score, -1 where no row is a candidate."""
        if not len(ranked):
            return -1
        # Asked every time: a pod placed meanwhile may be the first with preferences that concern this one.
        if any(one.is_relative(fit.shape, task.labels) for one in self._scorers):
            candidates = ranked > -np.inf
            if not candidates.any():
                return -1
            for scorer in self._scorers:
                scores = scorer.relative_score(fit.shape, task.labels, self._nodes, candidates)
                if scores is not None:
                    ranked = ranked + scores
        row = int(ranked.argmax())
        return row if ranked[row] > -np.inf else -1

    def _dynamic_checks(self, fit: ShapeFit, task: Task) -> list[Check]:
        task_class = self._class_of(task)
        return [
            check
            for position, one in enumerate(self._filters)
            for check in one.dynamic_checks(fit.shape, self._one_class(task_class, position), self._nodes)
        ]

    def _filtered(self, fit: ShapeFit, task: Task, ranked: Floats) -> Floats:
        for check in self._dynamic_checks(fit, task):
            ranked = np.where(check.passes, ranked, -np.inf)
        return ranked

    def _later(self, fit: ShapeFit, task: Task) -> Floats:
        """Scores of the nodes that have room once everything on its way back is back."""
        total = self._scores(fit.shape)
        ranked = total if fit.allowed is None else np.where(fit.allowed, total, -np.inf)
        for column, amount in fit.shape.request:
            ranked = np.where(self._nodes.future_idle(column) >= amount, ranked, -np.inf)
        return self._filtered(fit, task, ranked) if fit.dynamic else ranked

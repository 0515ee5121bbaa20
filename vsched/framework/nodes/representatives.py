"""Finds the best node for a shape among nodes that represent all.

In a large cluster most nodes have equal amounts: empty ones, for instance. Where scores depend on amounts alone, as
most do, one of these represents the others, and a new shape is scored on representatives alone. Without them, 5,000
pods that all differ take 1.33 times as long on 5,000 nodes, and 3,000 on 300 nodes 1.09 times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vsched.framework.points.nodes import NodeScore
from vsched.kernels.representatives import Representatives, representatives_of
from vsched.model.nodes.table import Floats, Mask, NodeTable
from vsched.model.pods.shape import Shape

SHAPES_WITHOUT = 8
"""So many shapes are scored on all nodes before representatives are found, which takes about as long."""

KINDS_AT_FRACTION = 8
"""Representatives are of use where at first they are at most an eighth of the nodes,"""
ROWS_AT_FRACTION, FEW_ROWS = 2, 1000
"""and as long as they are at most half of the nodes, or at most this many."""

ROWS_ONE_BY_ONE = 4
"""Up to this many changed rows, plain numbers are faster than arrays."""

TRIES = 3
"""So many of the best nodes are checked for room one by one. Full nodes seldom score best."""


NOT_SCORED: Floats = np.empty(0)
"""Scores that are yet to be made."""


class RepresentativeScores:
    """The scores of one shape on the representatives, current up to ``position`` in the journal."""

    __slots__ = ("position", "scores")

    def __init__(self) -> None:
        self.position = -1
        self.scores = NOT_SCORED
        """Minus infinity where it is known that there is no room."""


class RepresentativeNodes:
    """The representatives of one session's nodes."""

    def __init__(
        self, nodes: NodeTable, journal: list[int], scorers: Sequence[NodeScore], only: Mask | None = None
    ) -> None:
        """``only``, bool[nodes]: the nodes that may be used at all; None for all."""
        self._nodes = nodes
        self._only = only
        self._journal = journal
        self._scorers = scorers
        self._rows: Representatives | None = None
        self._before = SHAPES_WITHOUT if len(nodes) >= KINDS_AT_FRACTION * ROWS_AT_FRACTION else 0
        """So many more shapes are scored on all nodes; 0 where representatives are known, or of no use."""
        self._seen = 0
        """How many entries of the journal the representatives take into account."""

    def represent(self, shape: Shape) -> bool:
        """Whether the representatives show which node is best for a shape, as far as scores decide.

        False for the first shapes.
        """
        if self._before:
            self._before -= 1
            if self._before:
                return False
            self._find()
        if self._rows is None:
            return False
        for scorer in self._scorers:  # noqa: SIM110  # a generator would take twice as long
            if not scorer.scores_by_amounts(shape, self._nodes):
                return False
        return True

    def best(self, shape: Shape, found: RepresentativeScores, has_room: Callable[[Shape, int], bool]) -> int | None:
        """The first row with room and the highest score; -1 where none has room.

        None where all nodes have to be scored.
        """
        rows = self._current()
        if rows is None:
            return None
        self._refresh(shape, found, rows)
        scores = found.scores
        for _ in range(TRIES):
            row = self._first_of_best(scores, rows)
            if row < 0 or has_room(shape, row):
                return row
            scores[rows.at[row]] = -np.inf
        for column, amount in shape.request:
            free = self._nodes.unreserved(column) if self._nodes.in_motion else self._nodes.idle[column]
            scores[free[rows.rows] < amount] = -np.inf
        return self._first_of_best(scores, rows)

    def _first_of_best(self, scores: Floats, rows: Representatives) -> int:
        position = int(scores.argmax())
        best = scores[position]
        if best == -np.inf:
            return -1
        if rows.ascending:
            return rows[position]
        return int(rows.rows[scores == best].min())

    def _find(self) -> None:
        nodes = self._nodes
        amounts = [nodes.allocatable, nodes.idle, nodes.requested, nodes.scoring]
        if nodes.in_motion:
            amounts += [nodes.releasing, nodes.pipelined, nodes.terminating[None, :]]
        self._rows = representatives_of(amounts, len(nodes) // KINDS_AT_FRACTION, self._only)
        self._seen = len(self._journal)

    def _current(self) -> Representatives | None:
        """The representatives after all steps so far; None where they have become too many."""
        rows = self._rows
        if rows is None:
            return None
        if len(self._journal) > self._seen:
            for row in self._journal[self._seen :]:
                rows.touch(row)
            self._seen = len(self._journal)
            if rows.size > max(FEW_ROWS, len(self._nodes) // ROWS_AT_FRACTION):
                self._rows = None
        return self._rows

    def _refresh(self, shape: Shape, found: RepresentativeScores, rows: Representatives) -> None:
        now = len(self._journal)
        if found.position == now:
            return
        changed = self._journal[found.position :] if len(found.scores) == rows.size else ()
        found.position = now
        if not changed or len(changed) > ROWS_ONE_BY_ONE:
            found.scores = self._scores(shape, rows)
            return
        for row in changed:
            position = rows.at.get(row, -1)
            if position < 0:
                continue  # a node that is left out
            total = 0.0
            for scorer in self._scorers:
                total += scorer.score_row(shape, self._nodes, row)
            found.scores[position] = total

    def _scores(self, shape: Shape, rows: Representatives) -> Floats:
        total: Floats | None = None
        for scorer in self._scorers:
            scores = scorer.score(shape, self._nodes, rows)
            if scores is not None:
                total = scores if total is None else np.add(total, scores, out=total)
        return np.zeros(rows.size) if total is None else total

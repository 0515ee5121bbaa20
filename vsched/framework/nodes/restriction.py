"""A restriction: for a time, tasks may be placed on some nodes only.

Findings under a restriction (a task that found no node, counts of room, explanations) are about these nodes alone. So
the restriction has findings of its own, which are forgotten with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from vsched.framework.claims.task_claims import TaskClaims
from vsched.framework.nodes.shapes import ShapeFindings, ShapeNodes
from vsched.framework.nodes.why import Failing
from vsched.model.nodes.table import Floats, Ints, Mask


class Restriction:
    """The rows that tasks may be placed on, and what was found out about them."""

    __slots__ = ("_findings", "mask", "rows", "scores")

    def __init__(self, rows: Ints, nodes: int, scores: Floats | None) -> None:
        self.rows = rows
        """int64[..]: the rows, ascending, each once."""
        self.mask: Mask = np.zeros(nodes, dtype=np.bool_)
        """bool[nodes]: the same rows."""
        self.mask[rows] = True
        self.scores = scores
        """float64[nodes]: what is added to the scores of nodes; None for nothing."""
        self._findings: dict[tuple[ShapeNodes, Hashable, Hashable], ShapeFindings] = {}

    def inside(self, outer: Restriction | None, nodes: int) -> Restriction:
        """The same within an outer restriction: rows of both, and the outer scores where this one has none."""
        if outer is None:
            return self
        scores = outer.scores if self.scores is None else self.scores
        return Restriction(self.rows[outer.mask[self.rows]], nodes, scores)

    def findings(self, fit: ShapeNodes, claims: TaskClaims | None, bound: Hashable = ()) -> ShapeFindings:
        """The findings for tasks of this shape, class and kind of claims that the same planned starts bind."""
        key = fit, None if claims is None else claims.kind, bound
        found = self._findings.get(key)
        if found is None:
            found = self._findings[key] = ShapeFindings()
        return found

    def best(self, ranked: Floats, masks: Sequence[Mask]) -> int:
        """The first of the rows with the highest score, if all masks pass it; -1 where none is a candidate."""
        rows = self.rows
        if not len(rows):
            return -1
        scores = ranked[rows]
        if self.scores is not None:
            scores += self.scores[rows]
        for mask in masks:
            scores[~mask[rows]] = -np.inf
        best = int(scores.argmax())
        return int(rows[best]) if scores[best] > -np.inf else -1

    def failing(self, found: Iterator[Failing]) -> Iterator[Failing]:
        """Of nodes by reason, those of these rows."""
        for one in found:
            yield one._replace(rows=one.rows & self.mask)

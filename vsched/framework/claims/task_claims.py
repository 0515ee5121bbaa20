"""The claims of one task: which nodes can serve them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from vsched.framework.claims.handler import ClaimHandler, ClaimRoom
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal
from vsched.model.nodes.table import Floats, Mask
from vsched.model.pods.task import Task

UNLIMITED_ON_A_NODE = 1 << 20
"""More tasks than a node can have."""


class TaskClaims:
    """Which nodes can serve the claims of one task; valid until the next step of the session."""

    __slots__ = ("_checks", "_handlers", "_kind", "_nodes", "_scores", "_served", "_served_later", "obstacle", "task")

    def __init__(
        self, task: Task, handlers: Sequence[ClaimHandler], nodes: int, obstacle: Refusal | None, *, scores: bool
    ) -> None:
        self.task = task
        self._handlers = handlers
        self.obstacle = obstacle
        """Why no node can serve the claims, whoever leaves; None where one might."""
        self._nodes = nodes
        self._scores = scores
        self._kind: Hashable = None
        self._checks: Sequence[Check] | None = None
        self._served: Mask | None = None
        self._served_later: Mask | None = None

    @property
    def kind(self) -> Hashable:
        """Tasks of equal shape and kind find the same nodes."""
        if self._kind is None:
            if self.obstacle is not None:
                self._kind = self.obstacle
            else:
                self._kind = tuple([handler.class_of(self.task) for handler in self._handlers])
        return self._kind

    @property
    def checks(self) -> Sequence[Check]:
        """The nodes that can serve the claims, by reason; none can where there is an obstacle."""
        if self._checks is None:
            self._checks = self._found()
        return self._checks

    def _found(self) -> Sequence[Check]:
        if self.obstacle is not None:
            return (Check(self.obstacle.message, np.zeros(self._nodes, dtype=np.bool_), code=self.obstacle.code),)
        if len(self._handlers) == 1:
            return self._handlers[0].checks(self.task)
        return [check for handler in self._handlers for check in handler.checks(self.task)]

    def masks(self, *, later: bool) -> list[Mask]:
        """bool[nodes], one for each check: the nodes that pass now, or once leaving pods have left."""
        return [check.later if later and check.later is not None else check.passes for check in self.checks]

    def passes(self, row: int, *, later: bool) -> bool:
        """Whether a row can serve the claims."""
        return bool(self.served(later=later)[row]) and self._fits(row, later=later)

    def curable(self) -> Mask:
        """bool[nodes]: the nodes where nothing is in the way that stays even if pods are evicted."""
        found: Mask = np.ones(self._nodes, dtype=np.bool_)
        for check in self.checks:
            if not check.resolvable:
                found &= check.passes if check.later is None else check.later
        return found

    def served(self, *, later: bool) -> Mask:
        """bool[nodes]: the nodes that all masks let pass, now or once leaving pods have left; not to be changed."""
        found = self._served_later if later else self._served
        if found is None:
            found, *others = self.masks(later=later) or (np.ones(self._nodes, dtype=np.bool_),)
            for mask in others:
                found = found & mask
            if later:
                self._served_later = found
            else:
                self._served = found
        return found

    def best(self, ranked: Floats, *, later: bool) -> int:
        """The first row with the highest score that can serve the claims; -1 where none can.

        ``ranked`` has minus infinity for rows that no mask lets pass; rows that are refused get it as well.
        """
        while len(ranked):
            row = int(ranked.argmax())
            if ranked[row] == -np.inf:
                break
            if self._fits(row, later=later):
                return row
            ranked[row] = -np.inf
        return -1

    def score(self) -> Floats | None:
        """Scores of all nodes, to be added to those of plugins; None where there are none."""
        total: Floats | None = None
        if self._scores and self.obstacle is None:
            for handler in self._handlers:
                scores = handler.score(self.task)
                if scores is not None:
                    total = scores if total is None else total + scores
        return total

    def refused(self, open_rows: Mask) -> Iterator[tuple[str, Code, Mask]]:
        """Of rows that pass all masks: those that the exact search refuses, with reason and code."""
        if self.obstacle is not None:
            return
        for handler in self._inexact():
            rows = np.zeros(self._nodes, dtype=np.bool_)
            for row in np.flatnonzero(open_rows).tolist():
                rows[row] = not handler.fits(self.task, row, later=False)
            open_rows = open_rows & ~rows
            yield (*handler.unfit(self.task), rows)

    def limits(self) -> list[ClaimRoom]:
        """How many tasks like this one the nodes could serve at most, by reason."""
        if self.obstacle is not None:
            return [ClaimRoom(self.obstacle.message, self.obstacle.code, np.zeros(self._nodes, dtype=np.int64), 0)]
        return [limit for handler in self._handlers for limit in handler.limits(self.task)]

    def room(self, *, later: bool) -> int:
        """How many tasks with such claims all nodes together can serve at most."""
        served = self.served(later=later)
        found = int(served.sum()) * UNLIMITED_ON_A_NODE
        for limit in self.limits():
            most = int(np.minimum(limit.most, UNLIMITED_ON_A_NODE)[served].sum())
            found = min(found, most if limit.together is None else min(most, limit.together))
        return found

    def _inexact(self) -> Sequence[ClaimHandler]:
        """The handlers whose masks are not exact."""
        return [handler for handler in self._handlers if not handler.is_exact(self.task)]

    def _fits(self, row: int, *, later: bool) -> bool:
        inexact = self._inexact()
        return not inexact or all(handler.fits(self.task, row, later=later) for handler in inexact)

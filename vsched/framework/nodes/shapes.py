"""All nodes for one shape of tasks: which are allowed, which have room, and the score of each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.task_claims import TaskClaims
from vsched.framework.nodes.representatives import RepresentativeScores
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.points.nodes import Check
from vsched.model.nodes.table import Floats, Mask
from vsched.model.pods.shape import Shape

FITS_MAX = 256
"""The most shapes that are known at a time; the oldest is dropped first. At 5,000 nodes each takes 45 KB."""

NOT_SCORED: Floats = np.empty(0)

Stamp = bytes
"""All amounts of a node: its scores follow from them, as long as its attributes stay the same."""


class ShapeRoom(NamedTuple):
    """How many tasks of one shape the nodes can hold."""

    tasks: int
    full: NodeReasons
    """Why no node can hold one more."""


class ShapeFindings:
    """The findings of this cycle for tasks of one shape, class and kind of claims."""

    __slots__ = ("explanation", "failed", "room")

    def __init__(self) -> None:
        self.explanation: tuple[int, NodeReasons] | None = None
        """With the position in the journal that it is for."""
        self.room: tuple[int, ShapeRoom] | None = None
        """With the position in the journal that it is for."""
        self.failed = False
        """Whether such a task found no node in this cycle. Only then is room counted."""


class ShapeNodes:
    """Feasibility and scores of all nodes for one shape and class."""

    __slots__ = (
        "_by_claims",
        "_findings",
        "allowed",
        "by_representatives",
        "checks",
        "dynamic",
        "position",
        "preference",
        "ranked",
        "seen",
        "shape",
    )

    def __init__(
        self, shape: Shape, allowed: Mask | None, checks: Sequence[Check], dynamic: bool, preference: Floats | None
    ) -> None:
        self.shape = shape
        self.allowed = allowed
        """bool[nodes]: the nodes that static checks allow; None where there are no such checks."""
        self.checks = checks
        self.preference = preference
        """float64[nodes]: what the queue adds to the scores; None where it has no preference."""
        self.position = -1
        """How many journal entries ``ranked`` takes into account; -1 before the first computation."""
        self.ranked = NOT_SCORED
        """float64[nodes]: the score of nodes that are allowed and have room, minus infinity for all others.

        ``FeasibilityCache.ranked`` has it up to date.
        """
        self.seen: dict[int, Stamp] = {}
        """What ``ranked`` was computed from, for ``CarriedNodes.changed_since``."""
        self.begin(dynamic)

    def begin(self, dynamic: bool) -> None:
        """Begin a session, without findings; ``dynamic``: rules about pods may rule out nodes."""
        self.dynamic = dynamic
        self.by_representatives: RepresentativeScores | None = None
        """The scores of representatives; None where all nodes have to be scored."""
        self._findings: ShapeFindings | None = None
        """For tasks without claims that no reservation binds."""
        self._by_claims: dict[Hashable, ShapeFindings] | None = None

    def findings_for(self, claims: TaskClaims | None, bound: Hashable) -> ShapeFindings:
        """The findings for tasks with such claims; ``bound`` names the reservations that bind them."""
        if claims is None and not bound:
            if self._findings is None:
                self._findings = ShapeFindings()
            return self._findings
        if self._by_claims is None:
            self._by_claims = {}
        key = None if claims is None else claims.kind, bound
        found = self._by_claims.get(key)
        if found is None:
            if len(self._by_claims) >= FITS_MAX:
                del self._by_claims[next(iter(self._by_claims))]
            found = self._by_claims[key] = ShapeFindings()
        return found

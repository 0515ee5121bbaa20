"""The gang that a menu is for, and the means to try something for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from vsched.explain.candidates.levers import Lever, MissingMinimum, wants_of
from vsched.explain.candidates.search import levers
from vsched.explain.changes import rivals_of
from vsched.explain.order import WaitingOrder
from vsched.explain.simulation import Asked, Goal, Simulations
from vsched.explain.single_changes import ChangeSearch, Test
from vsched.explain.situation import Situation
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot

SIMULATIONS_MAX = 400
"""The most simulations of one part of a menu."""
Limit = Callable[[], Asked]
"""Called when a part of a menu begins; its result is True once the time for that part is over."""


class MenuGround(NamedTuple):
    """A session in which gangs wait."""

    situation: Situation
    """All menus share it, and so its copy of the cluster."""
    registry: Registry
    report: CycleReport
    """What a cycle decides on the snapshot."""
    order: WaitingOrder

    @property
    def snapshot(self) -> Snapshot:
        """The cluster without any change."""
        return self.situation.snapshot

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.situation.policy


class WaitingGang:
    """A waiting gang, and the searches for it."""

    def __init__(self, ground: MenuGround, key: str, limit: Limit) -> None:
        self.ground = ground
        self.key = key
        self.limit = limit
        self._rivals = rivals_of(ground.snapshot, ground.report, ground.order, key)

    def search(self, most: int) -> ChangeSearch:
        """A search for at most so many changes, with its own time."""
        over = self.limit()
        simulated = Simulations(self.ground.registry, Goal(self.key), self._rivals, SIMULATIONS_MAX, over, over)
        return ChangeSearch(self.ground.situation, simulated, most, [])

    @cached_property
    def wants(self) -> MissingMinimum:
        """What its minimum lacks."""
        return wants_of(self.ground.situation, self.ground.registry, self.key)

    @cached_property
    def levers(self) -> list[Lever]:
        """Everything that could be changed for it."""
        return levers(self.wants)


def placed_by(report: CycleReport) -> Counter[str]:
    """How many pods have got a node in a cycle, at once or once others have left; by job."""
    found = Counter(bind.job for bind in report.binds)
    found.update(kept.job for kept in report.nominations if kept.node)
    return found


def test_of(search: ChangeSearch) -> Test:
    """The cheapest kind of simulation in which the gang does not start without changes. Raises Spent."""
    for test in (search.simulations.alone, search.simulations.among_rivals):
        if not test(search.situation).admitted:
            return test
    return search.simulations.among_all

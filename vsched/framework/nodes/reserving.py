"""Reserved room on nodes: what the choice of nodes asks about it, and the arithmetic of what it leaves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.nodes.why import Failing
from vsched.framework.points.nodes import Check
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task

Placements = Sequence[tuple[Task, int]]
"""Tasks with the rows of their nodes."""


class ReservesRoom(Protocol):
    """Reserves room on nodes for some jobs, so that other tasks find less there."""

    def class_of(self, task: Task) -> Hashable:
        """Tasks of one shape and of equal class find the same room; empty for a task that no reservation binds."""

    def checks(self, task: Task) -> list[Check]:
        """The nodes where the task fits beside what is reserved."""

    def limit(self, task: Task, rooms: Ints) -> list[Failing]:
        """Limit how many tasks like this one each node could hold; says which nodes could hold more if nothing were
        reserved."""


def limit_beside(rooms: Ints, free: Ints, need: Ints, amount: int) -> None:
    """Limit how many tasks with such an amount each node could hold to what is free beside what is needed.

    Where nothing is needed, nothing is limited.
    """
    np.minimum(rooms, np.where(need > 0, (free - need) // amount, UNLIMITED), out=rooms)


def limit_to(rooms: Ints, most: Ints, reason: str) -> Failing:
    """Limit how many tasks each node could hold; returns the nodes that could hold more if nothing were reserved."""
    scarce = most < rooms
    np.minimum(rooms, most, out=rooms)
    return Failing(reason, Code.RESERVED, scarce)

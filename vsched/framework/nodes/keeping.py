"""What keeps room on nodes from tasks, as the choice of nodes asks it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from vsched.framework.nodes.why import Failing
from vsched.framework.points.nodes import Check
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task

Places = Sequence[tuple[Task, int]]
"""Tasks with rows."""


class KeepsRoom(Protocol):
    """Keeps room on nodes for some jobs, so that other tasks find less there."""

    def class_of(self, task: Task) -> Hashable:
        """Tasks of one shape and of equal class find the same room; empty for a task that nothing is kept from."""

    def checks(self, task: Task) -> list[Check]:
        """The nodes where the task fits beside what is kept from it."""

    def limit(self, task: Task, rooms: Ints) -> list[Failing]:
        """Limit how many tasks like this one each node could hold; says which nodes could hold more if nothing were
        kept."""

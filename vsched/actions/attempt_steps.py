"""What a try to make room has done, and points in it to go back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vsched.framework.claims.claims import Preference
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.model.pods.task import Task


class FreedRoom(NamedTuple):
    """A node that was freed for a task, and the victims."""

    task: Task
    row: int
    victims: tuple[Task, ...]


class Mark(NamedTuple):
    """A point of an attempt."""

    step: int
    taken: int
    tentative: int


class AttemptSteps(NamedTuple):
    """Steps of an attempt."""

    steps: Sequence[LedgerEntry]
    taken: Sequence[FreedRoom]
    claims: Sequence[Preference]
    """What the claims of the placed tasks were to get."""

    @property
    def victims(self) -> list[Task]:
        """Who left."""
        return [step.task for step in self.steps if step.cause is not None]

    @property
    def placed(self) -> int:
        """How many tasks were placed."""
        return len(self.steps) - len(self.victims)

"""What a session has decided so far."""

from __future__ import annotations

from vsched.framework.ledger.ledger import LedgerEntry
from vsched.model.pods.task import Task


class SessionDecisions:
    """What the report of a session carries out."""

    def __init__(self) -> None:
        self.committed: list[LedgerEntry] = []
        """Placements and evictions to carry out, in the order in which they were decided."""
        self.moving: list[LedgerEntry] = []
        """The places of successors of pods that are moved. They keep others out of the room for this session."""
        self.nominated: dict[str, int] = {}
        """By uid of the task: the node row of its nomination, reserved at the start of the cycle."""
        self.ungated: list[Task] = []
        """Tasks whose scheduling gate is to be removed, in the order decided."""

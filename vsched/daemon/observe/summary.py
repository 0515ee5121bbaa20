"""What sessions did, summed up for a line in the log."""

from __future__ import annotations

import msgspec

from vsched.model.plan import CycleReport


class Summary(msgspec.Struct):
    """What sessions did since the last line about them."""

    sessions: int = 0
    placed: int = 0
    evicted: int = 0
    """Counted as they are carried out."""
    waiting: int = 0
    """Pods that waited at the end of the last one."""
    longest_seconds: float = 0.0

    def add(self, report: CycleReport, seconds: float) -> None:
        """Count one session, and how long it took."""
        self.sessions += 1
        self.placed += len(report.binds)
        self.waiting = len(report.unschedulable)
        self.longest_seconds = max(self.longest_seconds, seconds)

"""Sums over sessions for one line in the log."""

from __future__ import annotations

import msgspec

from vsched.model.plan import CycleReport


class SessionSummary(msgspec.Struct):
    """What sessions did since the last line."""

    sessions: int = 0
    placed: int = 0
    evicted: int = 0
    """Evictions that were carried out."""
    waiting: int = 0
    """Pods that waited at the end of the last session."""
    longest_seconds: float = 0.0

    def add(self, report: CycleReport, seconds: float) -> None:
        """Add a session that took so many seconds."""
        self.sessions += 1
        self.placed += len(report.binds)
        self.waiting = len(report.unschedulable)
        self.longest_seconds = max(self.longest_seconds, seconds)

"""The last sessions, and what all of them came to: for the time line of the page. Written by the event loop alone."""

from __future__ import annotations

from collections import deque

import msgspec

from vsched.model.plan import CycleReport
from vsched.web.evictions import Evictions
from vsched.web.overview.document import SessionRow

MOST_SESSIONS = 240
"""That are remembered: of those that do nothing, a row counts as one."""


class History:
    """A ring of sessions, and totals since the daemon began."""

    def __init__(self) -> None:
        self._rows: deque[SessionRow] = deque(maxlen=MOST_SESSIONS)
        self.evictions = Evictions()
        """The last of them, each with whom it was for."""
        self.bound = 0
        """Pods whose binding the API server took."""
        self.evicted = 0
        """Pods that it agreed to evict."""
        self.foreign = 0
        """Pods of ours that somebody else has bound."""

    def add(self, row: SessionRow) -> None:
        """Remember a session."""
        # The first stays: how often sessions begin is reckoned from one to another, with many or few between.
        if len(self._rows) > 1 and idle(row) and idle(self._rows[-1]):
            self._rows.pop()
        self._rows.append(row)

    def refused(self, number: int) -> None:
        """An eviction that a session decided was not carried out."""
        for at in range(len(self._rows) - 1, -1, -1):
            row = self._rows[at]
            if row.number == number:
                self._rows[at] = msgspec.structs.replace(row, evictions=max(0, row.evictions - 1))
            if row.number <= number:
                return

    def rows(self) -> tuple[SessionRow, ...]:
        """What is remembered, the oldest first."""
        return tuple(self._rows)


def idle(row: SessionRow) -> bool:
    """Whether a session left everything as it was."""
    return not row.binds and not row.evictions


def session_row(
    number: int, at: float, reason: str, seconds: tuple[float, float, float], report: CycleReport
) -> SessionRow:
    """A session as it is shown; ``seconds`` went into the snapshot, the decision and handing it over."""
    actions: dict[str, float] = {}
    for kind, name, spent in report.spans:
        if kind == "action":
            actions[name] = round(actions.get(name, 0.0) + spent * 1e3, 3)
    snapshot_ms, decide_ms, handover_ms = (round(part * 1e3, 3) for part in seconds)
    return SessionRow(
        number=number,
        at=round(at, 3),
        reason=reason,
        snapshot_ms=snapshot_ms,
        decide_ms=decide_ms,
        handover_ms=handover_ms,
        binds=len(report.binds),
        evictions=len(report.evictions),
        waiting=len(report.unschedulable),
        actions=actions,
    )

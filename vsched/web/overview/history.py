"""The last sessions, and totals over all, for the time line of the page. Only the event loop writes them."""

from __future__ import annotations

from collections import deque

import msgspec

from vsched.model.plan import CycleReport
from vsched.web.evictions import Evictions
from vsched.web.overview.document import SessionRow

MOST_SESSIONS = 240
"""How many rows are remembered; consecutive idle sessions share a row."""


class SessionHistory:
    """A ring of sessions, and totals since the daemon began."""

    def __init__(self) -> None:
        self._rows: deque[SessionRow] = deque(maxlen=MOST_SESSIONS)
        self.evictions = Evictions()
        """The latest evictions."""
        self.bound = 0
        """Number of accepted bindings."""
        self.evicted = 0
        """Number of accepted evictions."""
        self.foreign = 0
        """Number of our pods that another scheduler has bound."""

    def bound_by_others(self) -> None:
        """Another scheduler has bound a pod of ours."""
        self.foreign += 1

    def add(self, row: SessionRow) -> None:
        """Remember a session."""
        # The first of several idle rows stays: the page shows how often sessions start.
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
        """All rows, the oldest first."""
        return tuple(self._rows)


def idle(row: SessionRow) -> bool:
    """Whether a session neither bound nor evicted."""
    return not row.binds and not row.evictions


def session_row(
    number: int, at: float, reason: str, seconds: tuple[float, float, float], report: CycleReport
) -> SessionRow:
    """The row of a session; ``seconds`` are those of the snapshot, the decision and the hand-over."""
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

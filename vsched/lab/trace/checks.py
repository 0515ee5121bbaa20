"""Checks of a replay's sessions against the rules (``vsched.proof``)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from vsched.proof.verify import verify
from vsched.settings.proving import facts_of
from vsched.web.snapshots import FrozenSnapshot

KEPT_MAX = 1_000
"""So many violations are kept in words, at most; all are counted."""


class Checks:
    """Checks a share of the sessions, evenly spread, and counts what the rules say of them."""

    def __init__(self, share: float) -> None:
        self._share, self._owed = share, 0.0
        self._sessions = self._decisions = 0
        self._looked_at, self._violations = Counter[str](), Counter[str]()
        self._texts: list[str] = []

    def takes_next(self) -> bool:
        """Whether the next session is one to check."""
        self._owed += self._share
        if takes := self._owed >= 1.0 - 1e-9:  # shares are not exact
            self._owed -= 1.0
        return takes

    def check(self, session: FrozenSnapshot) -> None:
        """Check a session."""
        report = session.report
        self._sessions += 1
        self._decisions += len(report.binds) + len(report.evictions) + len(report.nominations)
        for one in verify(session.snapshot, facts_of(session.policy), report):
            self._looked_at[one.rule] += one.looked_at
            self._violations[one.rule] += len(one.violations)
            left = KEPT_MAX - len(self._texts)
            self._texts += [f"session {session.number}, {one.rule}: {text}" for text in one.violations[:left]]

    def summary(self) -> dict[str, Any]:
        """What was checked, and which rules were violated, with the first violations in words."""
        return {
            "sessions": self._sessions,
            "decisions": self._decisions,
            "checks": self._looked_at.total(),
            "violations": self._violations.total(),
            "rules": {
                rule: {"looked_at": count, "violations": self._violations[rule]}
                for rule, count in self._looked_at.items()
            },
            "found": self._texts,
        }

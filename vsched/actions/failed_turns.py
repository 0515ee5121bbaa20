"""What jobs get whose turns come to nothing, so that others of their class need no turns.

This holds until something changes: until a step in the ledger, or until one more kind of tasks has found no node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from vsched.actions.turns import next_of
from vsched.framework.classes import Row
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.session import Session
from vsched.framework.waiting import Said


class TurnInVain(NamedTuple):
    """A turn that came to nothing."""

    turns: int
    """Of so many turns of such jobs. The first one may find things out that change the words of the second."""
    before: Said
    """What was said of the job before it."""
    after: Said


class TurnsInVain:
    """The turns of one action that came to nothing since the last change."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[Hashable, TurnInVain] = {}
        self._latest: LedgerEntry | None = None
        self._failures = -1
        self.changes = 0
        """How often something has changed."""

    def follow(self, *, anew: bool = False) -> None:
        """Forget what does not hold any more; with ``anew``, all of it."""
        latest, failures = self._session.ledger.latest, self._session.node_selection.failures
        if anew or latest is not self._latest or failures != self._failures:
            self._latest, self._failures = latest, failures
            self._known.clear()
            self.changes += 1

    def before(self, job: JobView) -> Said | None:
        """What is said of a job before its turn; None for one that is like no other."""
        found = None if job.moved else self._session.waiting.classes.of(job.key)
        return None if found is None or len(found.keys) == 1 else self._session.refused.of(job)

    def of(self, job: JobView, before: Said | None) -> Said | None:
        """What a turn of a job would come to, if it is known that it comes to nothing."""
        self.follow()
        known = self._known.get(self._session.waiting.kind(job)) if self._known and before is not None else None
        return None if known is None or known.turns < 2 or known.before != before else known.after

    def of_all(self, row: Row) -> Said | None:
        """The same for all jobs of a row; None where their labels may tell them apart."""
        if not row or not self._known or self._session.waiting.reads_labels(row.job_class):
            return None
        return self.of(self._session.jobs[row.first], row.waiting.value)

    def note(self, job: JobView, before: Said | None) -> None:
        """The turn of a job came to nothing; ``before`` is what was said of it then."""
        self.follow()
        if before is not None:
            kind = self._session.waiting.kind(job)
            known = self._known.get(kind)
            count = 1 if known is None or known.before != before else known.turns + 1
            self._known[kind] = TurnInVain(count, before, self._session.refused.of(job))

    def tell(self, rows: Iterable[Row], say: Callable[[JobView], None]) -> None:
        """Say of each job of some rows why it waits, without turns."""
        for row in rows:
            while row:
                self._tell_next(row, say)

    def _tell_next(self, row: Row, say: Callable[[JobView], None]) -> None:
        """The same of the next job, or of all that are left, where it is known."""
        known = self.of_all(row)
        if known is not None:
            row.pass_over(known)
        else:
            job = next_of(self._session, row)
            before = self.before(job)
            known = self.of(job, before)
            if known is None:
                say(job)
                self.note(job, before)
            else:
                self._session.refused.retell(job, known)

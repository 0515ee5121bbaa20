"""The results of turns that came to nothing, so that other jobs of the same kind need no turns.

A result holds until something changes: until a step in the ledger, or until one more kind of tasks has found no node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from vsched.actions.turns import next_of
from vsched.framework.classes import Segment
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.session import Session
from vsched.framework.waiting import JobRefusals


class FailedTurn(NamedTuple):
    """A turn that came to nothing."""

    turns: int
    """The number of such turns. The first one may find things out that change the refusals of the second."""
    before: JobRefusals
    """The refusals of the job before it."""
    after: JobRefusals


class FailedTurns:
    """The turns of one action that came to nothing since the last change."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ledger, self._selection = session.ledger, session.node_selection
        self._known: dict[Hashable, FailedTurn] = {}
        """By kind of jobs."""
        self._latest: LedgerEntry | None = None
        self._failures = -1
        self.changes = 0
        """How often something has changed."""

    def follow(self, *, reset: bool = False) -> None:
        """Forget the results if something has changed, or in any case (``reset``)."""
        latest, failures = self._ledger.latest, self._selection.failures
        if reset or latest is not self._latest or failures != self._failures:
            self._latest, self._failures = latest, failures
            self._known.clear()
            self.changes += 1

    def before(self, job: JobView) -> JobRefusals | None:
        """The refusals of a job before its turn; None where no other job is of its class."""
        found = None if job.moved else self._session.waiting.classes.of(job.key)
        return None if found is None or len(found) == 1 else self._session.refused.of(job)

    def of(self, job: JobView, before: JobRefusals | None) -> JobRefusals | None:
        """The refusals that a turn of a job would end with, if it is known that it comes to nothing.

        The caller has followed what has changed.
        """
        known = self._known.get(self._session.waiting.kind(job)) if self._known and before is not None else None
        return None if known is None or known.turns < 2 or known.before != before else known.after

    def of_all(self, segment: Segment) -> JobRefusals | None:
        """The same for all jobs of a segment; None where rules may distinguish them by their labels."""
        if not segment or not self._known or self._session.waiting.reads_labels(segment.job_class):
            return None
        return self.of(self._session.jobs[segment.first], segment.waiting.value)

    def note(self, job: JobView, before: JobRefusals | None) -> None:
        """The turn of a job came to nothing; ``before`` are the refusals that it had then."""
        if before is not None:
            self.follow()
            kind = self._session.waiting.kind(job)
            known = self._known.get(kind)
            count = 1 if known is None or known.before != before else known.turns + 1
            self._known[kind] = FailedTurn(count, before, self._session.refused.of(job))

    def note_all(self, segments: Iterable[Segment], refuse: Callable[[JobView], None]) -> None:
        """Refuse each job of some segments, without turns."""
        for segment in segments:
            while segment:
                self._note_next(segment, refuse)

    def _note_next(self, segment: Segment, refuse: Callable[[JobView], None]) -> None:
        """The same for the next job, or for all that are left, where their refusals are known."""
        self.follow()
        known = self.of_all(segment)
        if known is not None:
            segment.pass_over(known)
        else:
            job = next_of(self._session, segment)
            before = self.before(job)
            known = self.of(job, before)
            if known is None:
                refuse(job)
                self.note(job, before)
            else:
                self._session.refused.replace(job, known)

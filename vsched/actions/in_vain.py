"""What jobs were told whose turns came to nothing, so that jobs that are like them need no turn of their own.

This holds until something changes: until a step in the ledger, or until one more kind of tasks has found no node.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from vsched.framework.crowds import Batch, Crowd
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session


class Before(NamedTuple):
    """What a job was told before its turn."""

    kind: Hashable
    of_job: Refusal | None
    of_tasks: tuple[NodeReasons | Refusal | None, ...]
    tried: frozenset[str]


class Told(NamedTuple):
    """What a turn told a job."""

    turns: int
    """In so many turns of such jobs. The first one may find things out that change the words of the second."""
    before: Refusal | None
    of_job: Refusal | None
    of_tasks: tuple[tuple[int, NodeReasons | Refusal | None], ...]
    """The words that changed, by position among ``AlikeJobs.tasks``."""
    tried: tuple[int, ...]
    """The positions of the tasks that found a node in the turn."""


class TurnsInVain:
    """The turns of one action that came to nothing since the last change."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._told: dict[Hashable, Told] = {}
        self._latest: LedgerEntry | None = None
        self._failures = -1
        self._row = 0
        """Turns in vain since the last one that was not."""

    def forget(self) -> None:
        """Something changed that the ledger does not tell."""
        self._told.clear()

    def _known(self, job: JobView) -> tuple[Hashable, Told] | None:
        """The kind of a job, and what jobs like it were told; None where its turn may have another result."""
        if self._told:
            self._follow()
        if not self._told:
            return None
        kind = self._session.alike.kind(job)
        told = None if kind is None else self._told.get(kind)
        if told is None or told.turns < 2 or self._session.job_refusals.get(job.key) is not told.before:
            return None
        return kind, told

    def tells_all(self, job: JobView) -> bool:
        """Whether all jobs of a crowd, of which this is one, are told the same."""
        known = self._known(job)
        # The kind is a number unless labels tell jobs apart.
        return known is not None and isinstance(known[0], int)

    def repeat_to_all(self, crowd: Crowd, start: int, end: int) -> None:
        """Tell these jobs of a crowd, for which ``tells_all`` is true, what jobs like them were told before."""
        if start == end:
            return
        known = self._known(self._session.jobs[crowd.keys[start]])
        assert known is not None, "the caller has looked"
        told = known[1]
        said = tuple((at, why) for at, why in told.of_tasks if why is not None)  # before, nothing was said of tasks
        self._session.batches.append(Batch(crowd, start, end, told.of_job, said, told.tried))

    def repeat(self, job: JobView) -> bool:
        """Tell a job what jobs like it were told before; False where its turn may have another result."""
        session, known = self._session, self._known(job)
        if known is None:
            return False
        told = known[1]
        if told.of_job is not None:
            session.job_refusals[job.key] = told.of_job
        if told.of_tasks or told.tried:
            tasks = session.alike.tasks(job)
            for at, why in told.of_tasks:
                if why is None:
                    session.task_refusals.pop(tasks[at].uid, None)
                else:
                    session.task_refusals[tasks[at].uid] = why
            session.tried.update(tasks[at].uid for at in told.tried)
        return True

    def begin(self, job: JobView) -> Before | None:
        """What to hand to ``end`` after the turn of a job. None for a job that is like no other.

        None as well after a turn that was not in vain, so that sessions without a backlog do not pay for this.
        """
        session = self._session
        kind = session.alike.kind(job) if self._row else None
        if kind is None:
            return None
        uids = [task.uid for task in session.alike.tasks(job)]
        refusals = tuple([session.task_refusals.get(uid) for uid in uids])
        return Before(kind, session.job_refusals.get(job.key), refusals, frozenset(session.tried.intersection(uids)))

    def end(self, job: JobView, before: Before | None, *, in_vain: bool) -> None:
        """The turn of a job is over; ``in_vain``: nothing was placed, and it gets no further turn."""
        session = self._session
        self._row = self._row + 1 if in_vain else 0
        if before is None or not in_vain or job.moved:
            return
        self._follow()
        tasks = session.alike.tasks(job)
        whys = [session.task_refusals.get(task.uid) for task in tasks]
        changed = tuple((at, why) for at, why in enumerate(whys) if why is not before.of_tasks[at])
        tried = tuple(at for at, task in enumerate(tasks) if task.uid in session.tried and task.uid not in before.tried)
        known = self._told.get(before.kind)
        turns = 1 if known is None else known.turns + 1
        self._told[before.kind] = Told(turns, before.of_job, session.job_refusals.get(job.key), changed, tried)

    def _follow(self) -> None:
        latest, failures = self._session.ledger.latest, self._session.node_selection.failures
        if latest is not self._latest or failures != self._failures:
            self._latest, self._failures = latest, failures
            self._told.clear()

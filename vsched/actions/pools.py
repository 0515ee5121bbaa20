"""The pools of candidate victims that one action has collected, and what it has reserved and found out meanwhile."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain

from vsched.actions.candidates import CandidatePool
from vsched.actions.victim_search import VictimSearch
from vsched.framework.combine.agreeing import Agreement
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.pods.task import Task

POOLS_MAX = 64
"""The most pools at a time; the oldest is dropped first."""
StarvingJobs = dict[str, list[list[Sequence[str]]]]
"""By queue, in turn: the keys of jobs that lack their minimum and may evict others, in one list for each kind."""


class Pools:
    """The pools of one action."""

    def __init__(self, session: Session, action: str) -> None:
        self._session = session
        self._pools: dict[Hashable, CandidatePool] = {}
        actions = session.policy.actions
        self.allocate_follows = action in actions and "allocate" in actions[actions.index(action) :]
        """Whether ``allocate`` runs after the action, and makes the placements that need no victims."""
        self._reserved: dict[str, list[LedgerEntry]] = {}
        """By job: placements that need no victims, which are reserved until the action ends."""
        self._relied_on: list[LedgerEntry] = []
        """Those of jobs that pods have left for since: these count on them, too."""
        self._failed: dict[Hashable, Refusal | None] = {}
        """Kinds of jobs for which no room could be made since the last step, with what protects the only victims."""
        self._since: LedgerEntry | None = None
        self.searched = self.searched_in_vain = 0
        """How many steps searches for other victims have taken: those that found room, and those that did not."""
        self.starving: StarvingJobs | None = None
        """The jobs that may have a claim on what others get; collected when they are first asked about."""

    def has_failed(self, job: JobView, search: type[VictimSearch], agreement: Agreement) -> bool:
        """Whether a kind of search made no room for a job of this kind, and nothing has changed since.

        Records what protects the only victims.
        """
        self._follow()
        kind = self._kind(job, search, agreement) if self._failed else None
        if kind is None or kind not in self._failed:
            return False
        refusal = self._failed[kind]
        if refusal is not None:
            self._session.refused.protected[job.key] = refusal
        return True

    def note_failure(self, job: JobView, search: type[VictimSearch], agreement: Agreement) -> None:
        """A kind of search made no room for a job."""
        self._follow()
        kind = self._kind(job, search, agreement)
        if kind is not None:
            self._failed[kind] = self._session.refused.protected.get(job.key)

    def _follow(self) -> None:
        if self._since is not self._session.ledger.latest:
            self._since = self._session.ledger.latest
            self._failed.clear()

    def _kind(self, job: JobView, search: type[VictimSearch], agreement: Agreement) -> Hashable | None:
        kind = self._session.waiting.kind(job)
        return None if kind is None else (search, kind, agreement.class_within_kind(job.job.tasks_in_order[0]))

    def reserve(self, job: JobView, placements: Sequence[LedgerEntry]) -> None:
        """Reserve placements of a job that need no victims, until the action ends."""
        self._reserved.setdefault(job.key, []).extend(placements)

    def rely(self, job: JobView) -> None:
        """Pods leave for a job. If others took the room that is reserved for it, the evictions might be useless."""
        self._relied_on += self._reserved.pop(job.key, ())

    def release(self) -> None:
        """Undo the reservations; called when the action ends.

        What is relied on stays: that of the minimum, and all of it where ``allocate`` does not follow. So does what
        stands where pods left later: who they left for found that room taken.
        """
        left = set[int]()
        for entry in reversed(self._session.ledger.log if self._reserved else ()):
            if entry.cause is not None:
                left.add(entry.row)
            elif entry.row in left and entry in self._reserved.get(entry.job.key, ()):
                self.rely(entry.job)
        with self._session.statement() as statement:
            for entry in chain(self._relied_on, *self._reserved.values()):
                statement.withdraw(entry.job, entry.task, entry.row)
            for entry in self._relied_on:
                if not (self.allocate_follows and self._session.plugins.job_pipelined(entry.job)):
                    statement.pipeline(entry.job, entry.task, entry.row)
            statement.keep()

    def of(self, search: VictimSearch, task: Task) -> CandidatePool:
        """The pool of the task's class. It is collected on first use, and again when it is no longer valid."""
        key = search.evictor_class(task), search.job.spec.barred
        pool = self._pools.get(key)
        if pool is None or not pool.is_valid:
            if len(self._pools) >= POOLS_MAX:
                del self._pools[next(iter(self._pools))]
            pool = self._pools[key] = CandidatePool(self._session, search, task)
        return pool

"""The jobs that an action may evict tasks for, in the order of their turns, with those of crowds told together.

A job of a crowd has a turn like any other. Where it decides nothing, the rest of the crowd would get nothing either,
until something is decided. Then those jobs go on that come after the one that it was decided for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain

from vsched.actions.allocate import workable
from vsched.actions.victim_search import VictimSearch
from vsched.framework.combine.orders import OrderKey
from vsched.framework.crowds import Batch, Crowd, outside
from vsched.framework.jobs import JobView
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session

CHANGES_MAX = 16
"""After so many decisions in a row of turns, jobs are not passed over any more: each decision has all crowds asked
again, which costs more than their jobs where there are many of both."""


class Row:
    """Jobs of a crowd, one after the other, that were told the same; each has a turn, or is passed over."""

    __slots__ = ("at", "batch", "passed", "priority", "queue")

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.queue = batch.crowd.queue
        self.priority = batch.crowd.priority
        self.at = batch.start
        """The position of the next job in the crowd."""
        self.passed: list[Batch] = []
        """The jobs that were passed over."""

    @property
    def rank(self) -> OrderKey:
        """The sort key of the next job."""
        return self.batch.crowd.ranks[self.at]

    def take(self) -> str:
        """The key of the next job, which has its turn."""
        self.at += 1
        return self.batch.crowd.keys[self.at - 1]

    def pass_over(self, session: Session, like: JobView, bound: OrderKey | None) -> None:
        """Pass over the jobs whose sort keys are below a bound, or all; they get what ``like`` got: nothing."""
        start, end = self.at, self.batch.end
        if bound is not None:
            end = max(start, bisect_left(self.batch.crowd.ranks, bound, start, end))
        if start < end:
            protected = session.protected.get(like.key)
            self.passed.append(self.batch._replace(start=start, end=end, protected=protected))
            self.at = end

    def __bool__(self) -> bool:
        """Whether any job waits."""
        return self.at < self.batch.end


Taker = JobView | Row


def starving(session: Session, kind: type[VictimSearch]) -> Takers:
    """The starving jobs that may be worked on, and for which tasks may be evicted by now."""
    is_starving = session.plugins.job_starving
    return Takers(session, kind.purpose, lambda job: is_starving(job) and workable(session, job))


def claiming(session: Session, kind: type[VictimSearch]) -> Takers:
    """The jobs with pending tasks for which tasks may be evicted by now, whether or not they have their minimum."""
    claims = session.plugins.knows_starving
    return Takers(session, kind.purpose, lambda job: claims and job.pending_count > 0 and workable(session, job))


class Takers:
    """The jobs of a session that one action may evict tasks for."""

    def __init__(self, session: Session, purpose: Purpose, wants: Callable[[JobView], bool]) -> None:
        """``wants`` says of an admitted job whether it takes part, the same of all jobs of a crowd but for their ages.

        Jobs of crowds take part in rows where they were told something together before.
        """
        plugins = session.plugins
        if session.crowds_are_whole or plugins.victim_rules.delays or not plugins.agreement[purpose].votes_by_kind:
            session.part_crowds(but_entering=True)
        self._session = session
        self._keys: dict[str, tuple[bool, OrderKey]] = {}
        self._kept: list[Batch] = []
        """Batches of jobs that do not take part."""
        self._rows: dict[Row, None] = {}
        """The rows as they are after the last turns."""
        for batch in session.batches:
            first = session.jobs[batch.crowd.keys[batch.start]]
            if batch.crowd.enters or not wants(first):
                self._kept.append(batch)
            elif plugins.job_pipelined(first):  # then each may grow by its own tasks
                session.tell(batch, batch.keys)
            else:
                self._rows[Row(batch)] = None
        session.batches = [*self._kept, *(row.batch for row in self._rows)]
        may_evict = plugins.victim_rules.may_evict
        self._alone = [job for job in self._apart() if wants(job) and may_evict(job)]

    def _apart(self) -> Iterable[JobView]:
        """The admitted jobs that are told nothing together with others, in order."""
        session = self._session
        of_crowd: dict[Crowd, list[Batch]] = {}
        for batch in session.batches:
            of_crowd.setdefault(batch.crowd, []).append(batch)
        crowds = [crowd for crowd in session.crowds if not crowd.enters]
        if not of_crowd and len(crowds) == len(session.crowds):
            return session.jobs.values()
        keys = {view.key for view in session.apart}
        keys.update(chain.from_iterable(outside(crowd, of_crowd.get(crowd, ())) for crowd in crowds))
        return map(session.jobs.__getitem__, sorted(keys))

    def __iter__(self) -> Iterator[Taker]:
        yield from self._alone
        yield from self._rows

    def give_turns(self, takers: Iterable[Taker], turn: Callable[[JobView], object]) -> tuple[list[JobView], list[Row]]:
        """Give each job its turn, in order; those of ``takers`` are of one queue.

        Returns the jobs that had turns, in order, and rows of those that were passed over.
        """
        session, ledger = self._session, self._session.ledger
        jobs, rows = _sorted_out(takers)
        alone = deque(sorted(jobs, key=self._key))
        waiting = [(row.rank, number, row) for number, row in enumerate(rows)]
        heapify(waiting)
        number, changes, latest = len(waiting), 0, ledger.latest
        idle: dict[Row, JobView] = {}
        """The rows whose jobs get nothing at present, each with one that got nothing."""
        done: list[JobView] = []
        while alone or waiting:
            row = None
            if waiting and (not alone or (True, waiting[0][0]) < self._key(alone[0])):
                row = heappop(waiting)[-1]
                job = self._next_of(row)
            else:
                job = alone.popleft()
            rank = self._key(job)[1]
            turn(job)
            done.append(job)
            again: list[Row] = [] if row is None else [row]
            if ledger.latest is not latest:
                latest, changes = ledger.latest, changes + 1
                for one, like in idle.items():
                    one.pass_over(session, like, rank)
                again += idle
                idle.clear()
            elif row is not None and changes < CHANGES_MAX and isinstance(session.alike.kind(job), int):
                idle[row] = job  # the kind is a number unless labels tell jobs apart
                again = []
            for one in again:
                if one:
                    heappush(waiting, (one.rank, number, one))
                    number += 1
        for one, like in idle.items():
            one.pass_over(session, like, None)
        return done, self._left_of(rows)

    def _key(self, job: JobView) -> tuple[bool, OrderKey]:
        """The sort key of a job, as it was before its first turn."""
        found = self._keys.get(job.key)
        if found is None:
            found = self._keys[job.key] = self._session.taking_key(job)
        return found

    def _next_of(self, row: Row) -> JobView:
        """The next job of a row, for its turn; it is told by itself what it was told with the others."""
        key = row.take()
        self._session.tell(row.batch, (key,))
        return self._session.jobs[key]

    def _left_of(self, rows: Sequence[Row]) -> list[Row]:
        left = [Row(batch) for row in rows for batch in row.passed]
        for row in rows:
            del self._rows[row]
        self._rows.update(dict.fromkeys(left))
        return left

    def end(self) -> None:
        """All turns are over: those that were passed over are still told things together."""
        self._session.batches = [*self._kept, *(row.batch for row in self._rows)]


def _sorted_out(takers: Iterable[Taker]) -> tuple[list[JobView], list[Row]]:
    jobs: list[JobView] = []
    rows: list[Row] = []
    for one in takers:
        if isinstance(one, Row):
            rows.append(one)
        else:
            jobs.append(one)
    return jobs, rows

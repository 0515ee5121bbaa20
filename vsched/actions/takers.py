"""The jobs that an action may evict tasks for, in the order of their turns.

A job of a class has a turn like any other. Where it decides nothing, the others of its row would get nothing either,
until something is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from vsched.actions.pending import workable
from vsched.actions.row_heaps import Line
from vsched.actions.turns import Lane, next_of
from vsched.actions.victim_search import VictimSearch
from vsched.framework.classes import Row
from vsched.framework.jobs import JobView
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session


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
        """``wants`` says of an admitted job whether it takes part, the same of all jobs of a class."""
        plugins, self._session = session.plugins, session
        if plugins.victim_rules.delays or not plugins.agreement[purpose].votes_by_kind:
            session.waiting.open_all()
        may_evict = plugins.victim_rules.may_evict
        self._rows: list[Row] = []
        for span in session.waiting.take(lambda job: wants(job) and may_evict(job)):
            first = session.jobs[span.first]
            if span.value is not None and plugins.job_pipelined(first):  # then each may grow by its own tasks
                session.waiting.open(span)
                self._rows += [Row(session.waiting.span_of(session.jobs[key])) for key in span.keys]
            else:
                self._rows.append(Row(span, lead=not first.has_lost_pods))

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def give_turns(self, rows: Iterable[Row], turn: Callable[[JobView], object]) -> list[Row]:
        """Give each job its turn, in order; the rows are of one queue. Returns the jobs that had turns, in order."""
        session, ledger, done = self._session, self._session.ledger, list[Row]()
        lane = Lane(rows, Line())
        while (row := lane.pop()) is not None:
            latest = ledger.latest
            done.append(Row(row.waiting._replace(end=row.at + 1, value=None), lead=row.lead))
            job = next_of(session, row)
            turn(job)
            changes = ledger.latest is not latest
            is_known = row and not changes and not session.waiting.reads_labels(row.job_class)
            lane.end_turn(changes=changes, known=session.refused.of(job) if is_known else None)
        return done

    def passed_over(self, rows: Iterable[Row]) -> list[Row]:
        """The jobs of these rows that had no turns of their own, for another round."""
        found: list[Row] = []
        for row in rows:
            found += [Row(span, lead=row.lead) for span in row.passed]
            row.passed = ()
        self._rows += found
        return found

    def end(self) -> None:
        """All turns are over: the same is said still of those that were passed over."""
        for row in self._rows:
            for span in (*row.passed, row.waiting):
                if span.value is not None:
                    self._session.waiting.say(span)

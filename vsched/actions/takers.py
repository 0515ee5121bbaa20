"""The jobs that an action may evict tasks for, in the order of their turns.

After a turn that decided nothing, the other jobs of the segment would get nothing either, until something is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from vsched.actions.pending import workable
from vsched.actions.segment_heaps import SegmentHeap
from vsched.actions.turns import QueueTurns, next_of
from vsched.actions.victim_search import VictimSearch
from vsched.framework.classes import Segment
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
            session.waiting.split_all()
        may_evict = plugins.victim_rules.may_evict
        self._segments: list[Segment] = []
        for span in session.waiting.take(lambda job: wants(job) and may_evict(job)):
            first = session.jobs[span.first]
            if span.value is not None and plugins.job_pipelined(first):  # then each may grow by its own tasks
                session.waiting.split(span)
                self._segments += [Segment(session.waiting.span_of(session.jobs[key])) for key in span.keys]
            else:
                self._segments.append(Segment(span, lead=not first.has_lost_pods))

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def give_turns(self, segments: Iterable[Segment], turn: Callable[[JobView], object]) -> list[Segment]:
        """Give the jobs of one queue their turns, in order. Returns those that had turns of their own, in order."""
        session, ledger, done = self._session, self._session.ledger, list[Segment]()
        turns = QueueTurns(segments, SegmentHeap())
        while (segment := turns.pop()) is not None:
            latest = ledger.latest
            done.append(Segment(replace(segment.waiting, end=segment.at + 1, value=None), lead=segment.lead))
            job = next_of(session, segment)
            turn(job)
            changes = ledger.latest is not latest
            is_known = segment and not changes and not session.waiting.reads_labels(segment.job_class)
            turns.end_turn(changes=changes, known=session.refused.of(job) if is_known else None)
        return done

    def passed_over(self, segments: Iterable[Segment]) -> list[Segment]:
        """The jobs of these segments that had no turns of their own, for another round."""
        found: list[Segment] = []
        for segment in segments:
            found += [Segment(span, lead=segment.lead) for span in segment.passed]
            segment.passed = ()
        self._segments += found
        return found

    def end(self) -> None:
        """All turns are over: put back the jobs that had none of their own."""
        self._session.waiting.put_back(self._segments)

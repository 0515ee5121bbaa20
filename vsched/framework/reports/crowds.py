"""Crowds of jobs that are told what they were told in the last cycle: none of these jobs is looked at.

What is said of a job of a crowd follows from the job itself, from what it was told in the session (``Words``, and which
of its tasks were told something of their own), from the nodes that are wanted for it, and from the advice about it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import NamedTuple

from vsched.framework.crowds import Batch, Crowd, outside
from vsched.framework.jobs import JobView
from vsched.framework.reports.plain import Plain, PlainJobs, Sizes, Standing, Verdict, Words
from vsched.framework.reports.scaling import Asking, AskingRow, ScaleUp, ScaleUps, sizes
from vsched.framework.reports.spans import Spans
from vsched.framework.session import Session
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.likeness import tasks_of

NO_ADVICE: Mapping[str, Advice] = {}


class Stance(NamedTuple):
    """What is said of the jobs of a crowd, with exceptions."""

    words: Words
    apart: tuple[int, ...]
    """Positions of the tasks that were told something of their own, or that found a node."""
    wanted: Spans
    """What is said of the nodes that are wanted for them."""
    but: Set[str]
    """The jobs of which something else is said."""


class Said(NamedTuple):
    """What is said of the nodes that are wanted for jobs of a crowd in a row."""

    start: int
    end: int
    sizes: Sizes


class ToldCrowds:
    """What the last cycle said of the crowds."""

    def __init__(self) -> None:
        self._stances: dict[Crowd, Stance] = {}
        self._again: dict[Crowd, list[Batch]] = {}
        """The batches of which this cycle says what the last one said, but for the nodes that are wanted."""
        self._said: dict[Crowd, list[Said]] = {}
        """What this cycle says of these nodes."""
        self._asking: list[tuple[Batch, AskingRow]] = []
        """Parts of batches whose jobs share what their queue may hold with others."""
        self._advice = NO_ADVICE

    def anew(
        self, session: Session, plain: PlainJobs, scale_ups: ScaleUps, standings: Mapping[str, Standing]
    ) -> Collection[str]:
        """The jobs of crowds to look at; the last cycle said of all others what this one would say.

        Those to look at are told what they were to be told together with others.
        """
        self._again, self._said, self._asking = {}, {}, []
        advised = self._advised(session.snapshot.advice)
        if not plain.answers_by_job:
            self._stances = {}
        # A set of a hundred thousand keys keeps other threads from running while it is made: a first cycle needs none.
        others = {*session.snapshot.changed, *session.fresh, *advised} if self._stances else set[str]()
        anew: list[str] = []
        for batch in session.batches:
            known = self._stances.get(batch.crowd)
            but = frozenset(() if known is None else _within(session, batch, chain(others, known.but)))
            first = None if known is None else _first(batch, but)
            if known is None or first is None or not self._stands(session, plain, batch, known, first):
                session.tell(batch, batch.keys)
                continue
            answer = scale_ups.of_crowd(session.jobs[first], standings[first].outcome)
            found = self._wanted(session, batch, known, but, first, answer)
            if found is None:
                session.tell(batch, batch.keys)
                continue
            self._again.setdefault(batch.crowd, []).append(batch)
            session.tell(batch, found)
            anew += found
        for crowd in session.crowds:
            anew += outside(crowd, self._again.get(crowd, ()))
        return dict.fromkeys(anew)

    def _stands(self, session: Session, plain: PlainJobs, batch: Batch, known: Stance, first: str) -> bool:
        """Whether a batch is told the same as in the last cycle, by one of its jobs."""
        session.tell(batch, (first,))
        view = session.jobs[first]
        told = plain.look(view)
        return told is not None and plain.same(told.words, known.words) and positions(view, told) == known.apart

    def _wanted(
        self, session: Session, batch: Batch, known: Stance, but: Set[str], first: str, answer: ScaleUp | Asking | None
    ) -> list[str] | None:
        """The jobs of a batch to look at; None for all. ``answer``: which nodes are wanted for the first other one."""
        crowd = batch.crowd
        if isinstance(answer, Asking):
            for start, end in _without(session, batch, but):
                self._asking.append((batch, AskingRow(crowd, start, end, answer.least)))
            return [*but]
        found = sizes(session.jobs[first], answer)
        if found is None:
            return None
        self._said.setdefault(crowd, []).append(Said(batch.start, batch.end, found))
        return [*{**dict.fromkeys(but), **dict.fromkeys(known.wanted.differing(crowd, batch.start, batch.end, found))}]

    @property
    def asking(self) -> Iterable[AskingRow]:
        """Rows of jobs that share what their queue may hold with those that are looked at."""
        return [row for _, row in self._asking]

    def answered(self, session: Session, scale_ups: ScaleUps) -> dict[str, ScaleUp]:
        """The rows have their answers: those of their jobs to look at, as other nodes are wanted for them than in the
        last cycle."""
        anew: dict[str, ScaleUp] = {}
        for batch, row in self._asking:
            crowd, wanted = row.crowd, self._stances[row.crowd].wanted
            for answer in row.answers:
                found = sizes(session.jobs[crowd.keys[answer.start]], answer.found)
                if found is None:
                    differ: Iterable[str] = crowd.keys[answer.start : answer.end]
                else:
                    self._said.setdefault(crowd, []).append(Said(answer.start, answer.end, found))
                    differ = wanted.differing(crowd, answer.start, answer.end, found)
                more = {key: scale_ups.like(answer, session.jobs[key]) for key in differ}
                session.tell(batch, [*more])
                anew |= more
        return anew

    def _advised(self, advice: Mapping[str, Advice]) -> Iterable[str]:
        """The jobs about which other advice is given than in the last cycle."""
        before, self._advice = self._advice, advice
        if before is advice:
            return ()
        return [key for key in before.keys() | advice.keys() if before.get(key) != advice.get(key)]

    def turn(self, session: Session, plain: PlainJobs, anew: Iterable[str], verdicts: Mapping[str, Verdict]) -> None:
        """A cycle is over: keep what it said of the crowds. ``anew`` are the jobs that were looked at."""
        largest: dict[Crowd, Batch] = {}
        for batch in session.batches:
            known = largest.get(batch.crowd)
            if known is None or known.end - known.start < batch.end - batch.start:
                largest[batch.crowd] = batch
        looked_at: dict[Crowd | None, list[str]] = {}
        for key in anew:
            looked_at.setdefault(session.crowds.of(key), []).append(key)
        stances: dict[Crowd, Stance] = {}
        for crowd, batch in largest.items():
            if crowd in self._again:
                stance = self._again_of(session, plain, crowd, looked_at.get(crowd, ()), verdicts)
            else:
                stance = _of(session, plain, batch, verdicts)
            if stance is not None:
                stances[crowd] = stance
        self._stances = stances

    def _again_of(
        self, session: Session, plain: PlainJobs, crowd: Crowd, anew: Iterable[str], verdicts: Mapping[str, Verdict]
    ) -> Stance | None:
        """What is said of a crowd that is told what it was told; None where of each job something else is said."""
        wanted = Spans()
        for said in sorted(self._said.get(crowd, ())):
            wanted.add(crowd.ranks[said.start], said.sizes)
        if not wanted:
            return None
        stance = self._stances[crowd]._replace(wanted=wanted)
        return stance._replace(
            but={key for key in anew if not _conforms(session, plain, verdicts.get(key), crowd, stance, key)}
        )


def _of(session: Session, plain: PlainJobs, batch: Batch, verdicts: Mapping[str, Verdict]) -> Stance | None:
    """What is said of a crowd all of whose jobs were looked at; None where something of its own is said of the first of
    a batch."""
    crowd = batch.crowd
    first = verdicts.get(crowd.keys[batch.start])
    if first is None:
        return None
    apart = positions(session.jobs[crowd.keys[batch.start]], first.plain)
    but = set[str]()
    stance = Stance(first.plain.words, apart, Spans(), but)
    for rank, key in zip(crowd.ranks, crowd.keys, strict=True):
        verdict = verdicts.get(key)
        if verdict is not None and _is_told(session, plain, verdict, stance, key):
            stance.wanted.add(rank, verdict.scale_up)
        else:
            but.add(key)
    return stance


def _first(batch: Batch, but: Set[str]) -> str | None:
    """The first job of a batch that is none of some jobs; None where there is none."""
    keys = batch.crowd.keys
    return next((keys[at] for at in range(batch.start, batch.end) if keys[at] not in but), None)


def _without(session: Session, batch: Batch, but: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The rows of a batch, from one position to another, between some of its jobs."""
    at = batch.start
    for one in sorted(found for key in but if (found := session.crowds.at(batch.crowd, key)) is not None):
        if at < one:
            yield at, one
        at = one + 1
    if at < batch.end:
        yield at, batch.end


def _within(session: Session, batch: Batch, keys: Iterable[str]) -> Iterable[str]:
    """Those of some jobs that are in a batch."""
    for key in keys:
        at = session.crowds.at(batch.crowd, key)
        if at is not None and batch.start <= at < batch.end:
            yield key


def _conforms(
    session: Session, plain: PlainJobs, verdict: Verdict | None, crowd: Crowd, stance: Stance, key: str
) -> bool:
    """Whether a stance says what was said of a job of a crowd."""
    at = session.crowds.at(crowd, key)
    if verdict is None or at is None or verdict.scale_up != stance.wanted.at(crowd.ranks[at]):
        return False
    return _is_told(session, plain, verdict, stance, key)


def _is_told(session: Session, plain: PlainJobs, verdict: Verdict, stance: Stance, key: str) -> bool:
    """Whether a stance says what a job was told, whatever nodes are wanted for it."""
    same = plain.same(verdict.plain.words, stance.words)
    return same and positions(session.jobs[key], verdict.plain) == stance.apart


def positions(view: JobView, found: Plain) -> tuple[int, ...]:
    """The positions among a job's tasks of those that are set apart."""
    if not found.apart:
        return ()
    return tuple(at for at, task in enumerate(tasks_of(view.job)) if task.uid in found.apart)

"""Crowds of jobs that are told what they were told in the last cycle: none of these jobs is looked at.

What is said of a job of a crowd follows from the job itself, from what it was told in the session (``Words``, and which
of its tasks were told something of their own), from the nodes that are wanted for it, and from the advice about it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from itertools import chain
from typing import NamedTuple

from vsched.framework.crowds import Batch, Crowd
from vsched.framework.jobs import JobView
from vsched.framework.reports.plain import Plain, PlainJobs, Sizes, Standing, Verdict, Words
from vsched.framework.reports.scaling import ScaleUps, sizes
from vsched.framework.session import Session
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.likeness import tasks_of

NO_ADVICE: Mapping[str, Advice] = {}


class Stance(NamedTuple):
    """What is said of the jobs of a crowd, with exceptions."""

    words: Words
    apart: tuple[int, ...]
    """Positions of the tasks that were told something of their own, or that found a node."""
    sizes: Sizes
    but: Set[str]
    """The jobs of which something else is said."""


class ToldCrowds:
    """What the last cycle said of the crowds."""

    def __init__(self) -> None:
        self._stances: dict[Crowd, Stance] = {}
        self._again: dict[Crowd, list[Batch]] = {}
        """The batches of which this cycle says what the last one said."""
        self._advice = NO_ADVICE

    def anew(
        self, session: Session, plain: PlainJobs, scale_ups: ScaleUps, standings: Mapping[str, Standing]
    ) -> Collection[str]:
        """The jobs of crowds to look at; the last cycle said of all others what this one would say.

        Those to look at are told what they were to be told together with others.
        """
        self._again = {}
        advised = self._advised(session.snapshot.advice)
        others = {*session.snapshot.changed, *session.fresh, *advised}
        if not plain.answers_by_job:
            self._stances = {}
        anew: list[str] = []
        for batch in session.batches:
            known = self._stances.get(batch.crowd)
            but = () if known is None else [*_within(session, batch, chain(others, known.but))]
            if known is not None and self._stands(session, plain, scale_ups, standings, batch, known, frozenset(but)):
                self._again.setdefault(batch.crowd, []).append(batch)
                session.tell(batch, but)
                anew += but
            else:
                session.tell(batch, batch.keys)
        for crowd in session.crowds:
            anew += _outside(crowd, self._again.get(crowd, ()))
        return dict.fromkeys(anew)

    def _stands(
        self,
        session: Session,
        plain: PlainJobs,
        scale_ups: ScaleUps,
        standings: Mapping[str, Standing],
        batch: Batch,
        known: Stance,
        but: Set[str],
    ) -> bool:
        """Whether the same is said of a batch as in the last cycle; one of its jobs is looked at."""
        crowd = batch.crowd
        first = next((crowd.keys[at] for at in range(batch.start, batch.end) if crowd.keys[at] not in but), None)
        if first is None:
            return False
        session.tell(batch, (first,))
        view = session.jobs[first]
        told = plain.look(view)
        if told is None or not plain.same(told.words, known.words) or positions(view, told) != known.apart:
            return False
        return known.sizes == sizes(view, scale_ups.of_crowd(view, standings[first].outcome))

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
            again = self._again.get(crowd)
            if again is not None:
                stance, others = self._stances[crowd], looked_at.get(crowd, [])
            else:
                verdict = verdicts.get(crowd.keys[batch.start])
                if verdict is None:
                    continue
                apart = positions(session.jobs[crowd.keys[batch.start]], verdict.plain)
                stance, others = Stance(verdict.plain.words, apart, verdict.scale_up, frozenset()), crowd.keys
            but = {key for key in others if not _conforms(session, plain, verdicts.get(key), stance, key)}
            stances[crowd] = stance._replace(but=but)
        self._stances = stances


def _within(session: Session, batch: Batch, keys: Iterable[str]) -> Iterable[str]:
    """Those of some jobs that are in a batch."""
    for key in keys:
        at = session.crowds.at(batch.crowd, key)
        if at is not None and batch.start <= at < batch.end:
            yield key


def _outside(crowd: Crowd, batches: Iterable[Batch]) -> Iterable[str]:
    """The jobs of a crowd that are in none of some batches."""
    at = 0
    for batch in sorted(batches, key=lambda batch: batch.start):
        yield from crowd.keys[at : batch.start]
        at = batch.end
    yield from crowd.keys[at:]


def _conforms(session: Session, plain: PlainJobs, verdict: Verdict | None, stance: Stance, key: str) -> bool:
    """Whether a stance says what was said of a job."""
    if verdict is None or verdict.scale_up != stance.sizes or not plain.same(verdict.plain.words, stance.words):
        return False
    return positions(session.jobs[key], verdict.plain) == stance.apart


def positions(view: JobView, found: Plain) -> tuple[int, ...]:
    """The positions among a job's tasks of those that are set apart."""
    if not found.apart:
        return ()
    return tuple(at for at, task in enumerate(tasks_of(view.job)) if task.uid in found.apart)

"""Crowds of jobs that are told what they were told in the last cycle: none of these jobs is looked at.

What is said of a job of a crowd follows from the job itself, from what it was told in the session (``Words``, and which
of its tasks were told something of their own), from the nodes that are wanted for it, and from the advice about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
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
    """What is said of some jobs of a crowd."""

    words: Words
    apart: tuple[int, ...]
    """Positions of the tasks that were told something of their own, or that found a node."""
    sizes: Sizes
    keys: Set[str]
    """The jobs."""


class ToldCrowds:
    """What the last cycle said of the crowds."""

    def __init__(self) -> None:
        self._stances: dict[Crowd, Stance] = {}
        self._advice = NO_ADVICE

    def again(
        self, session: Session, plain: PlainJobs, scale_ups: ScaleUps, standings: Mapping[str, Standing]
    ) -> Set[str]:
        """The jobs of which the last cycle said what this one would say."""
        if not self._stances or not plain.answers_by_job:
            return frozenset()
        found: set[str] = set()
        others = {*session.snapshot.changed, *session.fresh, *self._advised(session.snapshot.advice)}
        for batch in session.batches:
            known = self._stances.get(batch.crowd)
            if known is None:
                continue
            keys = set(batch.keys).intersection(known.keys) - others
            first = next((key for key in batch.keys if key in keys), None)
            if first is None:
                continue
            view = session.jobs[first]
            told, outcome = plain.look(view), standings[first].outcome
            if told is None or not plain.same(told.words, known.words) or positions(view, told) != known.apart:
                continue
            if known.sizes == sizes(view, scale_ups.of_crowd(view, outcome)):
                found |= keys
        return found

    def _advised(self, advice: Mapping[str, Advice]) -> Iterable[str]:
        """The jobs about which other advice is given than in the last cycle."""
        before, self._advice = self._advice, advice
        if before is advice:
            return ()
        return [key for key in before.keys() | advice.keys() if before.get(key) != advice.get(key)]

    def turn(self, session: Session, plain: PlainJobs, again: Set[str], verdicts: Mapping[str, Verdict]) -> None:
        """A cycle is over: keep what it said of the crowds. ``again`` are the jobs that ``again`` found."""
        stances: dict[Crowd, Stance] = {}
        for batch in session.batches:
            found = self._stance(session, plain, batch, again, verdicts)
            known = stances.get(batch.crowd)
            if found is not None and (known is None or len(known.keys) < len(found.keys)):
                stances[batch.crowd] = found
        self._stances = stances

    def _stance(
        self, session: Session, plain: PlainJobs, batch: Batch, again: Set[str], verdicts: Mapping[str, Verdict]
    ) -> Stance | None:
        keys = set(batch.keys).intersection(again)
        known = self._stances[batch.crowd] if keys else None
        for key in set(batch.keys).difference(keys):
            verdict = verdicts.get(key)
            if verdict is None:
                continue
            if known is None:
                apart = positions(session.jobs[key], verdict.plain)
                known = Stance(verdict.plain.words, apart, verdict.scale_up, frozenset())
            # Which tasks are set apart is the same for all jobs of a batch.
            if verdict.scale_up == known.sizes and plain.same(verdict.plain.words, known.words):
                keys.add(key)
        return None if known is None else known._replace(keys=keys)


def positions(view: JobView, found: Plain) -> tuple[int, ...]:
    """The positions among a job's tasks of those that are set apart."""
    if not found.apart:
        return ()
    return tuple(at for at, task in enumerate(tasks_of(view.job)) if task.uid in found.apart)

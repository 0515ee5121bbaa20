"""What the last cycle said of spans of jobs, so that a job of which the same is said again is not looked at.

What is said of a job of a span follows from the job itself, from what was said of it in the session (``PlainWords``,
and which of its tasks were told something of their own), from the nodes that are wanted for it, and from the advice
about it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from vsched.framework.classes import JobClass, Row, Span
from vsched.framework.combine.orders import OrderKey
from vsched.framework.jobs import JobView
from vsched.framework.reports.plain import Plain, PlainJobs, PlainVerdict, PlainWords, Sizes
from vsched.framework.reports.scaling import Asking, ScaleUp, ScaleUps, sizes
from vsched.framework.session import Session
from vsched.framework.waiting import Said
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.likeness import tasks_of
from vsched.model.plan import JobOutcome

NO_ADVICE: Mapping[str, Advice] = {}


class Text(NamedTuple):
    """What a report says of a job, but for what follows from the job itself."""

    words: PlainWords
    apart: tuple[int, ...]
    """Positions of the tasks that were told something of their own, or that found a node."""
    wanted: Sizes
    """What is said of the nodes that are wanted for it."""


class Texts:
    """What a report says of the jobs of a class, by their sort keys: positions change as others come and go."""

    def __init__(self, found: Iterable[tuple[OrderKey, Text | None]]) -> None:
        """Of the jobs from each sort key on, in order; None where it is not known."""
        self._firsts: list[OrderKey] = []
        self._texts: list[Text | None] = []
        for first, text in found:
            if not self._texts or self._texts[-1] != text:
                self._firsts.append(first)
                self._texts.append(text)

    def differing(self, span: Span[Text], plain: PlainJobs) -> Iterator[str]:
        """The keys of the jobs of a span of which something else was said."""
        ranks, at = span.job_class.ranks, span.start
        while at < span.end:
            number = bisect_right(self._firsts, ranks[at]) - 1
            last = number + 1 == len(self._firsts)
            end = span.end if last else bisect_left(ranks, self._firsts[number + 1], at, span.end)
            if number < 0 or not _same(plain, span.value, self._texts[number]):
                yield from span.job_class.keys[at:end]
            at = end


def _same(plain: PlainJobs, text: Text, before: Text | None) -> bool:
    if before is None or text.apart != before.apart or text.wanted != before.wanted:
        return False
    return plain.same(text.words, before.words)


class PreviousTexts:
    """What the last cycle said of spans, and what the one under way says of them."""

    def __init__(self) -> None:
        self._before: dict[JobClass, Texts] = {}
        self._now: list[Span[Text]] = []
        self._rows: list[tuple[Row, Span[Said], Plain]] = []
        """Jobs that share what their queue may hold with others, their span, and what is said of them."""
        self._each: list[str] = []
        """The jobs of spans of which something different may be said of each."""
        self._advice = NO_ADVICE

    def anew(
        self, session: Session, plain: PlainJobs, scale_ups: ScaleUps, outcome_of: Callable[[JobView], JobOutcome]
    ) -> Iterable[str]:
        """The jobs of spans to look at; the last cycle said of all others what this one would say.

        What is said of their span is said of those to look at by themselves.
        """
        self._now, self._rows, self._each = [], [], []
        changed: dict[JobClass, list[int]] = {}
        for key in {*session.snapshot.changed, *session.opened.fresh, *self._advised(session.snapshot.advice)}:
            found = session.waiting.classes.of(key)
            if found in self._before and (at := session.waiting.classes.at(found, key)) is not None:
                changed.setdefault(found, []).append(at)
        anew: dict[str, None] = {}
        for span in session.waiting.spans:
            own = sorted({span.start, *(at for at in changed.get(span.job_class, ()) if span.start < at < span.end)})
            tell(session, span, [span.job_class.keys[at] for at in own])
            seen = self._seen(session, plain, scale_ups, span, own, outcome_of)
            if seen is None:
                self._each += span.keys
                tell(session, span, span.keys)
                anew |= dict.fromkeys(span.keys)
            else:
                tell(session, span, seen)
                anew |= dict.fromkeys([*(span.job_class.keys[at] for at in own), *seen])
        return anew

    def _seen(
        self,
        session: Session,
        plain: PlainJobs,
        scale_ups: ScaleUps,
        span: Span[Said],
        own: Sequence[int],
        outcome_of: Callable[[JobView], JobOutcome],
    ) -> list[str] | None:
        """The jobs of a span of which something else was said; None where each of its jobs is looked at.

        ``own`` are the positions of those that are looked at anyway, with the first one.
        """
        before = self._before.get(span.job_class)
        if before is None or not plain.answers_by_job:
            return None
        view = session.jobs[span.first]
        found = plain.look(view)
        answer = None if found is None else scale_ups.of_span(view, outcome_of(view))
        if found is None or answer is None:
            return None
        if isinstance(answer, Asking):
            for start, end in pairwise([*own, span.end]):
                self._rows.append((Row(Span(span.job_class, start + 1, end, answer.least)), span, found))
            self._each += [span.job_class.keys[at] for at in own]
            return []
        wanted = sizes(view, answer)
        if wanted is None:
            return None
        text = Text(found.words, positions(view, found), wanted)
        self._now.append(Span(span.job_class, span.start, span.end, text))
        return [*before.differing(self._now[-1], plain)]

    @property
    def rows(self) -> list[Row]:
        """Rows of jobs that share what their queue may hold with those that are looked at."""
        return [row for row, _, _ in self._rows if row]

    def answered(self, session: Session, plain: PlainJobs, scale_ups: ScaleUps) -> dict[str, ScaleUp]:
        """The rows have their answers: those of their jobs to look at, as other nodes are wanted for them than in the
        last cycle."""
        anew: dict[str, ScaleUp] = {}
        for row, of_row, found in self._rows:
            for span in row.passed:
                view, keys = session.jobs[span.first], span.keys
                wanted = sizes(view, span.value)
                if wanted is None:
                    self._each += keys
                else:
                    text = Text(found.words, positions(view, found), wanted)
                    self._now.append(Span(span.job_class, span.start, span.end, text))
                    keys = [*self._before[span.job_class].differing(self._now[-1], plain)]
                tell(session, of_row, keys)
                anew |= {key: scale_ups.like(span, row.waiting.value, session.jobs[key]) for key in keys}
        return anew

    def _advised(self, advice: Mapping[str, Advice]) -> Iterable[str]:
        """The jobs about which other advice is given than in the last cycle."""
        before, self._advice = self._advice, advice
        if before is advice:
            return ()
        return [key for key in before.keys() | advice.keys() if before.get(key) != advice.get(key)]

    def turn(self, session: Session, verdicts: Mapping[str, PlainVerdict]) -> None:
        """A cycle is over: keep what it said of classes with more than one job."""
        found: dict[JobClass, list[Span[Any]]] = {}
        for span in self._now:
            found.setdefault(span.job_class, []).append(span)
        for key in chain(session.waiting.keys_alone(), self._each):
            own = session.waiting.classes.of(key)
            at = None if own is None or len(own.keys) == 1 else session.waiting.classes.at(own, key)
            if own is not None and at is not None:
                text = _text(session.jobs[key], verdicts.get(key))
                found.setdefault(own, []).append(Span(own, at, at + 1, text))
        self._before = {
            own: Texts((own.ranks[span.start], span.value) for span in sorted(spans, key=attrgetter("start")))
            for own, spans in found.items()
        }


def _text(view: JobView, verdict: PlainVerdict | None) -> Text | None:
    return None if verdict is None else Text(verdict.plain.words, positions(view, verdict.plain), verdict.scale_up)


def tell(session: Session, span: Span[Said], keys: Iterable[str]) -> None:
    """Say of some jobs of a span by themselves what is said of it."""
    for key in keys:
        session.refused.tell(session.jobs[key], span.value)


def positions(view: JobView, found: Plain) -> tuple[int, ...]:
    """The positions among a job's tasks of those that are set apart."""
    if not found.apart:
        return ()
    return tuple(at for at, task in enumerate(tasks_of(view.job)) if task.uid in found.apart)

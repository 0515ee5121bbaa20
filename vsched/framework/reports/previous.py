"""What the last cycle reported on spans of jobs, so that jobs whose report is the same are not examined.

The report on a job of a span follows from the job itself, from its refusals in the session (``PlainReason``, and which
of its tasks have refusals of their own), from the nodes that are wanted for it, and from the advice about it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from vsched.framework.classes import JobClass, Segment, Span
from vsched.framework.combine.orders import OrderKey
from vsched.framework.jobs import JobView
from vsched.framework.reports.plain import Plain, PlainJobs, PlainReason, PlainVerdict, Sizes
from vsched.framework.reports.scaling import Asking, ScaleUp, ScaleUps, sizes
from vsched.framework.session import Session
from vsched.framework.waiting import JobRefusals
from vsched.model.jobs.advice import Advice
from vsched.model.plan import JobOutcome

NO_ADVICE: Mapping[str, Advice] = {}


class Text(NamedTuple):
    """What a report says of a job, but for what follows from the job itself."""

    reason: PlainReason
    apart: tuple[int, ...]
    """Positions of the tasks that have refusals of their own, or found a node."""
    wanted: Sizes
    """What verdicts read of the nodes that are wanted for it."""


class Texts:
    """What a report says of the jobs of a class, by sort key, because positions change as other jobs come and go."""

    def __init__(self, found: Iterable[tuple[OrderKey, Text | None]]) -> None:
        """``found`` has the text of the jobs from each sort key on, in order; None where it is not known."""
        self._firsts: list[OrderKey] = []
        self._texts: list[Text | None] = []
        for first, text in found:
            if not self._texts or self._texts[-1] != text:
                self._firsts.append(first)
                self._texts.append(text)

    def differing(self, span: Span[Text], plain: PlainJobs) -> Iterator[str]:
        """The keys of the jobs of a span that had another text."""
        ranks, at = span.job_class.ranks, span.start
        while at < span.end:
            number = bisect_right(self._firsts, ranks[at]) - 1
            last = number + 1 == len(self._firsts)
            end = span.end if last else bisect_left(ranks, self._firsts[number + 1], at, span.end)
            if number < 0 or not _same(plain, span.value, self._texts[number]):
                yield from span.job_class.keys(at, end)
            at = end


def _same(plain: PlainJobs, text: Text, before: Text | None) -> bool:
    if before is None or text.apart != before.apart or text.wanted != before.wanted:
        return False
    return plain.same(text.reason, before.reason)


class PreviousTexts:
    """The texts of spans in the last cycle and in the current one."""

    def __init__(self) -> None:
        self._before: dict[JobClass, Texts] = {}
        self._now: list[Span[Text]] = []
        self._segments: list[tuple[Segment, Span[JobRefusals], Plain]] = []
        """Jobs that compete with others for what their queue may hold, their span, and their reason."""
        self._each: list[str] = []
        """The jobs of spans whose reports may differ from each other."""
        self._advice = NO_ADVICE

    def changed(
        self, session: Session, plain: PlainJobs, scale_ups: ScaleUps, outcome_of: Callable[[JobView], JobOutcome]
    ) -> Iterable[str]:
        """The jobs of spans to report on; the last report holds for all others.

        The jobs to report on get the refusals of their spans.
        """
        self._now, self._segments, self._each = [], [], []
        own_changes: dict[JobClass, list[int]] = {}
        advised = self._advised(session.snapshot.advice)
        for key in {*session.snapshot.changed, *session.opened.fresh, *advised} if self._before else ():
            found = session.waiting.classes.of(key)
            if found in self._before and (at := session.waiting.classes.at(found, key)) is not None:
                own_changes.setdefault(found, []).append(at)
        keys: dict[str, None] = {}
        for span in session.waiting.spans:
            own = sorted(
                {span.start, *(at for at in own_changes.get(span.job_class, ()) if span.start < at < span.end)}
            )
            record_each(session, span, [span.job_class.key_at(at) for at in own])
            others = self._changed_in(session, plain, scale_ups, span, own, outcome_of)
            if others is None:
                self._each += span.keys
                record_each(session, span, span.keys)
                keys |= dict.fromkeys(span.keys)
            else:
                record_each(session, span, others)
                keys |= dict.fromkeys([*(span.job_class.key_at(at) for at in own), *others])
        return keys

    def _changed_in(
        self,
        session: Session,
        plain: PlainJobs,
        scale_ups: ScaleUps,
        span: Span[JobRefusals],
        own: Sequence[int],
        outcome_of: Callable[[JobView], JobOutcome],
    ) -> list[str] | None:
        """The jobs of a span that had another text; None where each of its jobs has to be reported on.

        ``own`` are the positions of the first job and of those that have changed: they are reported on in any case.
        """
        if span.job_class not in self._before or not plain.answers_by_job:
            return None
        view = session.jobs[span.first]
        found = plain.look(view)
        answer = None if found is None else scale_ups.of_span(view, outcome_of(view))
        if found is None or answer is None:
            return None
        if isinstance(answer, Asking):
            for start, end in pairwise([*own, span.end]):
                self._segments.append((Segment(Span(span.job_class, start + 1, end, answer.least)), span, found))
            self._each += [span.job_class.key_at(at) for at in own]
            return []
        return self._differing(view, plain, Span(span.job_class, span.start, span.end, answer), found)

    def _differing(self, view: JobView, plain: PlainJobs, span: Span[ScaleUp], found: Plain) -> list[str] | None:
        """Note the text of a span, whose first job is ``view``; returns the jobs that had another text.

        None where the answer is for some pods of each job only.
        """
        wanted = sizes(view, span.value)
        if wanted is None:
            return None
        text = Text(found.reason, positions(view, found), wanted)
        self._now.append(Span(span.job_class, span.start, span.end, text))
        return [*self._before[span.job_class].differing(self._now[-1], plain)]

    @property
    def segments(self) -> list[Segment]:
        """Jobs that compete for what their queue may hold with those that are reported on in any case."""
        return [segment for segment, _, _ in self._segments if segment]

    def answered(self, session: Session, plain: PlainJobs, scale_ups: ScaleUps) -> dict[str, ScaleUp]:
        """The jobs of the segments to report on, once these have answers: those that had another text."""
        answers: dict[str, ScaleUp] = {}
        for segment, of_segment, found in self._segments:
            for span in segment.passed:
                keys: Sequence[str] | None = self._differing(session.jobs[span.first], plain, span, found)
                if keys is None:
                    keys = span.keys
                    self._each += keys
                record_each(session, of_segment, keys)
                answers |= {key: scale_ups.like(span, segment.waiting.value, session.jobs[key]) for key in keys}
        return answers

    def _advised(self, advice: Mapping[str, Advice]) -> Iterable[str]:
        """The jobs whose advice differs from that of the last cycle."""
        before, self._advice = self._advice, advice
        if before is advice:
            return ()
        return [key for key in before.keys() | advice.keys() if before.get(key) != advice.get(key)]

    def turn(self, session: Session, verdicts: Mapping[str, PlainVerdict]) -> None:
        """A cycle is over: carry over its texts of classes with more than one job."""
        found: dict[JobClass, list[Span[Any]]] = {}
        for span in self._now:
            found.setdefault(span.job_class, []).append(span)
        for key in chain(session.waiting.left, self._each):
            own = session.waiting.classes.of(key)
            at = None if own is None or len(own) == 1 else session.waiting.classes.at(own, key)
            if own is not None and at is not None:
                text = _text(session.jobs[key], verdicts.get(key))
                found.setdefault(own, []).append(Span(own, at, at + 1, text))
        self._before = {
            own: Texts((own.ranks[span.start], span.value) for span in sorted(spans, key=attrgetter("start")))
            for own, spans in found.items()
        }


def _text(view: JobView, verdict: PlainVerdict | None) -> Text | None:
    return None if verdict is None else Text(verdict.plain.reason, positions(view, verdict.plain), verdict.scale_up)


def record_each(session: Session, span: Span[JobRefusals], keys: Iterable[str]) -> None:
    """Record the refusals of a span for some of its jobs by themselves."""
    for key in keys:
        session.refused.record(session.jobs[key], span.value)


def positions(view: JobView, found: Plain) -> tuple[int, ...]:
    """The positions among a job's tasks of those that are set apart."""
    if not found.apart:
        return ()
    return tuple(at for at, task in enumerate(view.job.tasks_in_order) if task.uid in found.apart)

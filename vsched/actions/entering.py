"""The jobs that wait to be admitted, and what those of crowds are told together.

What one job of a crowd is told, the others are told too, until some job is admitted: they ask for the same, and the
amounts that plugins have admitted jobs for are as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from vsched.actions.turns import QueueLane
from vsched.framework.crowds import Batch, Crowd
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session

T = TypeVar("T", Refusal, int)


class Stretch(NamedTuple, Generic[T]):
    """Jobs of a crowd in a row to which the same happened."""

    start: int
    """The position of the first job."""
    end: int
    """That after the last job."""
    what: T


class Entering:
    """The jobs of a session that wait to be admitted, and what becomes of them."""

    def __init__(self, session: Session) -> None:
        whole = session.crowds_are_whole and not session.batches
        if not whole:
            session.part_crowds()
        self._session = session
        self.crowds = [crowd for crowd in session.crowds if crowd.enters] if whole else []
        self.alone = [job for job in (session.apart if whole else session.jobs.values()) if job.waiting_to_enter]
        """Those that are in none of these crowds."""
        self._admitted: list[str] = []
        self._refused: dict[Crowd, list[Stretch[Refusal]]] = {}
        self._late: dict[Crowd, list[Stretch[int]]] = {}
        """How many jobs had been admitted when those were asked about whose queue could not hold them."""
        self._late_alone: dict[JobView, int] = {}
        """The same for jobs in none of these crowds."""
        self._asked: dict[str, int] = {}
        """The same for all of them, by key, once they have their second turns."""
        self._told: dict[Crowd, Refusal | None] = {}
        """What jobs of crowds are told since the last admission; None: their queue could not hold them now."""

    def refuse(self, job: JobView, refusal: Refusal) -> None:
        """A plugin refuses a job."""
        crowd = self._crowd(job)
        if crowd is None:
            self._session.job_refusals[job.key] = refusal
        else:
            at = self._at(crowd, job.key)
            _extend(self._refused.setdefault(crowd, []), at, at + 1, refusal)
            self._told[crowd] = refusal

    def put_off(self, job: JobView) -> None:
        """A job gets a second turn after all others, as its queue could not hold it now."""
        crowd = self._crowd(job)
        if crowd is None:
            self._late_alone[job] = len(self._admitted)
        else:
            at = self._at(crowd, job.key)
            _extend(self._late.setdefault(crowd, []), at, at + 1, len(self._admitted))
            self._told[crowd] = None

    def admit(self, job: JobView) -> None:
        """A job is admitted, so that others may be told something else."""
        self._admitted.append(job.key)
        self._told.clear()

    def pass_over(self, lane: QueueLane) -> None:
        """Tell the next jobs of a queue what jobs like them were told, if its last turn came to nothing."""
        for part, start, end in lane.pass_over(self._is_told) if lane.idle else ():
            crowd = self._session.crowds.of(part.keys[start])
            assert crowd is not None, "nobody has left it yet"
            at, refusal = self._at(crowd, part.keys[start]), self._told[crowd]
            if refusal is None:
                _extend(self._late.setdefault(crowd, []), at, at + end - start, len(self._admitted))
            else:
                _extend(self._refused.setdefault(crowd, []), at, at + end - start, refusal)

    def late(self) -> tuple[Mapping[JobView, int], list[Crowd]]:
        """The jobs that have second turns: those in no crowd, and the others."""
        self._asked = {job.key: count for job, count in self._late_alone.items()}
        self._told = {crowd: refusal for crowd, refusal in self._told.items() if refusal is not None}
        parts: list[Crowd] = []
        for crowd, stretches in self._late.items():
            for start, end, count in stretches:
                parts.append(crowd.part(start, end))
                self._asked.update(dict.fromkeys(parts[-1].keys, count))
        return self._late_alone, parts

    def is_as_asked(self, job: JobView) -> bool:
        """Whether no job has been admitted since plugins were asked about this one in its first turn."""
        return self._asked.get(job.key) == len(self._admitted)

    def end(self) -> None:
        """All turns are over."""
        session, refused = self._session, self._refused
        batches = [(crowd, crowd.keys[one.start], one) for crowd, found in refused.items() for one in found]
        if self._admitted:
            session.take_out(self._admitted)
        for crowd, first, one in batches:
            at = self._at(crowd, first)
            session.batches.append(Batch(crowd, at, at + one.end - one.start, one.what, (), ()))

    def _is_told(self, job: JobView) -> bool:
        """Whether it is known what a job of a crowd is told at present."""
        return self._session.crowds.of(job.key) in self._told and not self.is_as_asked(job)

    def _crowd(self, job: JobView) -> Crowd | None:
        return self._session.crowds.of(job.key) if self.crowds else None

    def _at(self, crowd: Crowd, key: str) -> int:
        at = self._session.crowds.at(crowd, key)
        assert at is not None, "it is in this crowd"
        return at


def _extend(stretches: list[Stretch[T]], start: int, end: int, what: T) -> None:
    """Add a stretch, as a part of the last one where it goes on there."""
    last = stretches[-1] if stretches else None
    if last is not None and last.end == start and last.what == what:
        stretches[-1] = Stretch(last.start, end, what)
    else:
        stretches.append(Stretch(start, end, what))

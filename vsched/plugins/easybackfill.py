"""easy-backfill: plans the start of the first jobs that find no room, and lets work go before them that ends in time.

A large gang starves where smaller jobs take every node as soon as one is free. With this plugin, the first job that
finds no room gets a planned start: the time at which enough of the running work has ended, as far as that is known. The
room that it takes then is kept for it. Later jobs may use that room only if they end before.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Literal

import msgspec

from vsched.framework.durations import Basis, TimeLeft, left
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.runs import PlannedStarts
from vsched.framework.policy import Seconds
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.task import Task

Trusted = Literal["declared", "learnt", "limit"]
OVERDUE_SECONDS, OVERDUE_GROWTH = 60.0, 1.25
"""Overdue work is taken to run so long in all, or longer by a power of this factor."""
HORIZON_SECONDS, A_MOMENT = 60.0, 1e-3
"""For so long what is known of ends is taken to hold at most, and how long before the end of it that is looked up."""
ALWAYS = frozenset((Basis.LEAVING, Basis.ASKED, Basis.OVERDUE))


class ReserveFor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which jobs get planned starts; a job has to meet all that is given."""

    queues: tuple[str, ...] = ()
    """Jobs of these queues; none for jobs of all queues."""
    least_priority: int | None = msgspec.field(default=None, name="minPriority")
    """Jobs with this priority or a higher one; not given: all."""
    waited: Seconds = 0.0
    """Jobs that have waited for so long since their creation."""


class EasyBackfillArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For how many jobs starts are planned, for which, and how the ends of work are known."""

    depth: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    """How many jobs have a planned start at once."""
    trust: tuple[Trusted, ...] = ("declared", "learnt", "limit")
    """From what the end of work may be known: what it declares, what similar work took, its deadline."""
    reserve_for: ReserveFor = msgspec.field(default=ReserveFor(), name="reserveFor")
    """Which jobs get planned starts."""
    unknown: Seconds | None = msgspec.field(default=None, name="unknownDuration")
    """How long work is taken to run of which nothing is known; not given: without end."""


class EasyBackfill(Plugin[EasyBackfillArgs], PlannedStarts):
    """Keeps room for planned starts."""

    name = "easy-backfill"
    args_type = EasyBackfillArgs

    def open(self, context: SessionContext) -> None:
        """Keep the time, and what is known of run times."""
        self._now = context.snapshot.now
        self._learnt = context.snapshot.learnt
        self._until = inf
        self._bases = ALWAYS | {Basis(name) for name in self.args.trust}

    def planned_starts(self) -> int:
        """As the arguments say."""
        return self.args.depth

    def may_plan(self, job: JobView) -> bool:
        """As the arguments say."""
        wanted = self.args.reserve_for
        if wanted.queues and job.queue not in wanted.queues:
            return False
        if wanted.least_priority is not None and job.priority < wanted.least_priority:
            return False
        if self._now - job.created < wanted.waited:
            self._until = min(self._until, job.created + wanted.waited)
            return False
        return True

    def ends_by(self, spec: JobSpec, task: Task, longest: float) -> float:
        """The latest expected end; as declared, whatever declarations were worth: room is kept from the earliest start
        on that may be."""
        found = self._end_at(spec, task, longest, self._now)
        if task.node and self._until > self._now:
            self._until = min(self._until, self._holds_until(spec, task, longest, found))
        return found

    def lasts_until(self) -> float:
        """As the ends of work and the times that jobs have waited say."""
        return self._until

    def _holds_until(self, spec: JobSpec, task: Task, longest: float, end: float) -> float:
        """Until when a task on a node is taken to end at the same moment, for a minute at most."""
        at = min(end, self._now + HORIZON_SECONDS) - A_MOMENT
        return at if task.started and at > self._now and self._end_at(spec, task, longest, at) == end else self._now

    def _end_at(self, spec: JobSpec, task: Task, longest: float, now: float) -> float:
        """The latest end of a task as it is expected at a time."""
        declared, started = task.expected or spec.expected, task.started or now
        found: TimeLeft = left({} if declared else self._learnt, spec, task, now, longest)
        is_declared = found.basis is Basis.DECLARED
        if found.basis is Basis.OVERDUE or (is_declared and started + declared <= now):
            return later_end(started, now)
        if found.basis in self._bases:
            return min(now + found.most, started + declared) if is_declared else now + found.most
        if self.args.unknown is None:
            return inf
        return max(now, started + self.args.unknown)


def later_end(started: float, now: float) -> float:
    """When work that is overdue is taken to end: a quarter of its time so far later at most, in steps that grow.

    Otherwise a start that was planned for its expected end would be planned for now, again and again. D. Tsafrir et al.
    correct predictions that were too short in such steps: "Backfilling Using System-Generated Predictions Rather than
    User Runtime Estimates" (2007).
    """
    seconds = OVERDUE_SECONDS
    while seconds <= now - started:
        seconds *= OVERDUE_GROWTH
    return started + seconds

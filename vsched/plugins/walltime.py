"""wall-time: ends jobs that have run for as long as they may.

A PodGroup states its wall time by annotation. Its queue, else the nearest queue above that has one, else the policy
states the longest; the policy may also state it for users. Both also hold for jobs that state none. A job that asks for
more does not start. The time counts from the start of the job's first pod. A job that was ended does not start again
until its wall time changes: its PodGroup has the condition ``WallTimeOver``. A pod without a PodGroup is ended if no
controller owns it. Otherwise it is not, because the controller would make the next one, without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Annotated, NamedTuple

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.levers import ArgumentLever, argument_edit
from vsched.framework.points.runs import RunLimit, StartLimit
from vsched.framework.points.terms import JobTerm, QueueTerm
from vsched.framework.refusal import Refusal
from vsched.model.jobs.job import Job
from vsched.model.jobs.runs import WALL_TIME_OVER, wall_time_over
from vsched.model.jobs.spec import Condition
from vsched.model.queues.queue import Queue, exactly
from vsched.plugins.queues.tree import inherited
from vsched.plugins.words import jobs as words

MOST = "maxWallTime"
PER_USER = "maxWallTimePerUser"
EVERY_USER = "*"
"""The entry of users that have none of their own."""
STEPS = 20
"""In how many steps ``explain`` tries longer times, up to twice the present one."""


Length = Annotated[float, msgspec.Meta(gt=0, extra={"duration": True})]


class Longest(NamedTuple):
    """For how long a job may run at most, and who says so."""

    seconds: float
    user: str = ""
    """Whose limit it is; empty where it is that of the queue or of all."""


class WallTimeArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The longest wall time in queues that state none, and that of users."""

    most: Length | None = msgspec.field(default=None, name=MOST)
    """None for no limit."""
    per_user: dict[str, Length] = msgspec.field(default_factory=dict, name=PER_USER)
    """By user, ``*`` for all others; bounds what queues allow. Jobs that name no user are not limited."""

    def allowed(self, queue: str, user: str, queues: Mapping[str, Queue]) -> Longest:
        """For how long a user's job may run in a queue."""
        most = inherited(queue, queues, lambda one: one.limits.wall_time, inf if self.most is None else self.most)
        own = self.per_user.get(user, self.per_user.get(EVERY_USER, inf)) if user else inf
        return Longest(own, user) if own < most else Longest(most)

    def longest_run(self, job: Job, queues: Mapping[str, Queue]) -> float:
        """For how long a job may run; infinite for no limit, and for a job that is not ended."""
        if not _may_end(job):
            return inf
        return min(job.spec.wall_time or inf, self.allowed(job.spec.queue, job.user, queues).seconds)


class WallTime(Plugin[WallTimeArgs], StartLimit, RunLimit):
    """Ends jobs whose wall time is over."""

    name = "wall-time"
    args_type = WallTimeArgs
    terms = frozenset({QueueTerm.WALL_TIME, JobTerm.WALL_TIME})

    def open(self, context: SessionContext) -> None:
        """Find the jobs that have to end now; only the oldest runs of each class are looked at."""
        snapshot = context.snapshot
        self._now, self._queues = snapshot.now, snapshot.queues
        self._allowed_of: dict[tuple[str, str], Longest] = {}
        self._overdue: set[str] = set()
        self._next = inf
        for kind, runs in snapshot.runs.items():
            longest = min(kind.wall_time or inf, self._allowed(kind.queue, kind.user).seconds)
            if longest == inf:
                continue
            for started, key in runs:
                if not _may_end(snapshot.jobs[key]):
                    continue
                if started + longest > self._now:
                    self._next = min(self._next, started + longest)
                    break
                self._overdue.add(key)

    def overdue(self) -> Sequence[str]:
        """The jobs whose wall time is over."""
        return sorted(self._overdue)

    def next_end(self) -> float:
        """When the next job's wall time is over."""
        return self._next

    def lasts_until(self) -> float:
        """Until then."""
        return self._next

    def start_limit(self, job: JobView, *, admitting: bool = False) -> Refusal | None:
        """The refusal of a job that is ended now, was ended before, or asks for more than its queue allows."""
        if job.key in self._overdue or self._is_told(job.job):
            return _refusal(self._ended(job.job), job.queue)
        asked, most = job.spec.wall_time, self._allowed(job.queue, job.job.user)
        if asked > most.seconds and not job.job.allocated_count:
            message = words.asks_for_too_long(exactly(asked), exactly(most.seconds), queue=job.queue, user=most.user)
            return _refusal(message, job.queue)
        return None

    def run_condition(self, job: JobView) -> Condition | None:
        """True from the end of the job on, with its wall time in the message; false once that has changed."""
        if self._is_told(job.job):
            return None
        if job.key in self._overdue:
            return Condition(WALL_TIME_OVER, "True", Code.WALL_TIME.value, self._ended(job.job))
        found = wall_time_over(job.job)
        return Condition(WALL_TIME_OVER, "False", "WallTimeChanged") if found and found.status == "True" else None

    def argument_levers(self) -> Iterator[ArgumentLever]:
        """Longer wall times, up to twice as long."""
        args = self.args
        limits = {f"{PER_USER}.{user}": most for user, most in args.per_user.items()}
        for key, most in {**({} if args.most is None else {MOST: args.most}), **limits}.items():
            yield ArgumentLever(partial(_longer, key, most), STEPS, STEPS)

    def job_notes(self, job: Job) -> Iterable[str]:
        """That the wall time of pods has no effect which a controller would make again."""
        if job.spec.wall_time and not _may_end(job):
            yield words.NOT_ENDED

    def _is_told(self, job: Job) -> bool:
        """Whether the job's condition says already that its present wall time is over."""
        found = wall_time_over(job)
        return found is not None and found.status == "True" and found.message == self._ended(job)

    def _ended(self, job: Job) -> str:
        longest = min(job.spec.wall_time or inf, self._allowed(job.spec.queue, job.user).seconds)
        return "" if longest == inf else words.wall_time_over(exactly(longest))

    def _allowed(self, queue: str, user: str) -> Longest:
        """For how long a user's job may run in a queue."""
        found = self._allowed_of.get((queue, user))
        if found is None:
            found = self._allowed_of[queue, user] = self.args.allowed(queue, user, self._queues)
        return found


def _may_end(job: Job) -> bool:
    """Whether the job stays ended: a PodGroup keeps the condition, or nobody makes its pod again."""
    return not job.spec.implicit or not any(task.owned for task in job.tasks.values())


def _longer(key: str, most: float, step: int) -> dict[str, object]:
    return dict(argument_edit(WallTime.name, key, most + most * step / STEPS))


def _refusal(message: str, queue: str) -> Refusal:
    return Refusal(WALL_TIME_OVER, message, code=Code.WALL_TIME, subject=queue, lasting=True)

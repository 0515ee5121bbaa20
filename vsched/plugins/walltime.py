"""wall-time: ends jobs that have run for as long as they may.

A PodGroup states its wall time by annotation. Its queue, else the nearest queue above that has one, else the policy
states the longest; it also holds for jobs that state none. A job that asks for more does not start. The time counts
from the start of the job's first pod. A job that was ended does not start again until its wall time changes: its
PodGroup has the condition ``WallTimeOver``. Jobs without a PodGroup of Volcano's kind are not ended, because nothing
would keep their pods from starting again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Annotated

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.levers import ArgumentLever, argument_edit
from vsched.framework.points.runs import RunLimit, StartLimit
from vsched.framework.refusal import Refusal
from vsched.model.jobs.job import Condition, Job
from vsched.model.jobs.runs import WALL_TIME_OVER, wall_time_over
from vsched.plugins.queues.inheriting import inherited

MOST = "maxWallTime"
STEPS = 20
"""In how many steps ``explain`` tries longer times, up to twice the present one."""


class WallTimeArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The longest wall time in queues that state none."""

    most: Annotated[float, msgspec.Meta(gt=0, extra={"duration": True})] | None = msgspec.field(default=None, name=MOST)
    """None for no limit."""


class WallTime(Plugin[WallTimeArgs], StartLimit, RunLimit):
    """Ends jobs whose wall time is over."""

    name = "wall-time"
    args_type = WallTimeArgs

    def open(self, context: SessionContext) -> None:
        """Find the jobs that have to end now; only the oldest runs of each class are looked at."""
        snapshot = context.snapshot
        self._now, self._queues = snapshot.now, snapshot.queues
        self._of_queues: dict[str, float] = {}
        self._overdue: set[str] = set()
        self._next = inf
        for kind, runs in snapshot.runs.items():
            longest = min(kind.wall_time or inf, self._most(kind.queue))
            if longest == inf:
                continue
            for started, key in runs:
                if not _is_recorded(snapshot.jobs[key]):
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

    def start_limit(self, job: JobView, *, admitting: bool = False) -> Refusal | None:
        """The refusal of a job that is ended now, was ended before, or asks for more than its queue allows."""
        if job.key in self._overdue or self._is_told(job.job):
            return _refusal(self._ended(job.job), job.queue)
        asked, most = job.spec.wall_time, self._most(job.queue)
        if asked > most and not job.job.allocated_count:
            message = f"asks for {_written(asked)} of wall time, and queue {job.queue} allows {_written(most)}"
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
        """A longer wall time, up to twice as long."""
        most = self.args.most
        if most is not None:
            yield ArgumentLever(lambda step: argument_edit(self.name, MOST, most + most * step / STEPS), STEPS, STEPS)

    def job_notes(self, job: Job) -> Iterable[str]:
        """That the wall time of a job without a PodGroup of Volcano's kind has no effect."""
        if job.spec.wall_time and not _is_recorded(job):
            yield "its wall time does not end it: there is no PodGroup of Volcano's kind to keep it from starting again"

    def _is_told(self, job: Job) -> bool:
        """Whether the job's condition says already that its present wall time is over."""
        found = wall_time_over(job)
        return found is not None and found.status == "True" and found.message == self._ended(job)

    def _ended(self, job: Job) -> str:
        longest = min(job.spec.wall_time or inf, self._most(job.spec.queue))
        return "" if longest == inf else f"its wall time of {_written(longest)} is over"

    def _most(self, name: str) -> float:
        """The longest wall time in a queue; infinite for no limit."""
        found = self._of_queues.get(name)
        if found is None:
            default = inf if self.args.most is None else self.args.most
            found = inherited(name, self._queues, lambda one: one.limits.wall_time, default)
            self._of_queues[name] = found
        return found


def _is_recorded(job: Job) -> bool:
    """Whether the job has a PodGroup that keeps the condition."""
    return not job.spec.implicit and job.spec.native is None


def _refusal(message: str, queue: str) -> Refusal:
    return Refusal(WALL_TIME_OVER, message, code=Code.WALL_TIME, subject=queue)


def _written(seconds: float) -> str:
    """An exact length of time, such as ``1h30m``."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = (f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest:g}s" if rest else "")
    return "".join(parts) or "0s"

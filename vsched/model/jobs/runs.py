"""The running jobs by what limits on them depend on, so that nobody has to look at each job."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import Condition

WALL_TIME_OVER = "WallTimeOver"
"""The condition of a PodGroup whose job was ended because its wall time was over."""


class RunClass(NamedTuple):
    """What limits on a running job depend on."""

    queue: str
    namespace: str
    user: str = ""
    """Empty where the job names none."""
    wall_time: float = 0.0
    """As its spec states it, seconds; 0 where it states none."""


class Run(NamedTuple):
    """A running job."""

    started: float
    """When its first pod started, seconds since the epoch; infinite where none has."""
    job: str


class RunBook:
    """The jobs that hold nodes, by class and sorted by start."""

    def __init__(self) -> None:
        self.by_class: dict[RunClass, list[Run]] = {}
        self._known: dict[str, tuple[RunClass, Run]] = {}

    def adopt(self, by_class: Mapping[RunClass, Sequence[Run]]) -> None:
        """Take over what another one has."""
        self.by_class = {kind: list(runs) for kind, runs in by_class.items()}
        for kind, runs in by_class.items():
            for run in runs:
                self._known[run.job] = kind, run

    def put(self, key: str, job: Job | None) -> None:
        """A job as it is now, None where it is gone."""
        now = None if job is None or not job.allocated_count else (class_of(job), Run(started_of(job), key))
        before = self._known.get(key)
        if before == now:
            return
        if before is not None:
            kind, run = before
            runs = self.by_class[kind]
            del runs[bisect_left(runs, run)]
            if not runs:
                del self.by_class[kind]
        if now is None:
            del self._known[key]
        else:
            self._known[key] = now
            insort(self.by_class.setdefault(now[0], []), now[1])


def class_of(job: Job) -> RunClass:
    """What limits on a job depend on."""
    return RunClass(job.spec.queue, job.spec.namespace, job.user, job.spec.wall_time)


def started_of(job: Job) -> float:
    """When the first of a job's pods started, ended ones included; infinite where none has.

    After its wall time was over once, only pods count that started since.
    """
    over = wall_time_over(job)
    since = 0.0 if over is None else over.since
    return min([task.started for task in job.tasks.values() if task.started and task.started >= since], default=inf)


def wall_time_over(job: Job) -> Condition | None:
    """The condition that says that a job's wall time was over, and whether it still may not start."""
    return over_of(job.spec.conditions)


def over_of(conditions: Iterable[Condition]) -> Condition | None:
    """The one of these conditions that is about the wall time; None where none is."""
    for one in conditions:
        if one.kind == WALL_TIME_OVER:
            return one
    return None


def with_condition(conditions: Iterable[Condition], latest: Condition) -> tuple[Condition, ...]:
    """The conditions with ``latest`` in the place of its type."""
    return (*(one for one in conditions if one.kind != latest.kind), latest)


def runs_of(jobs: Iterable[Job]) -> dict[RunClass, list[Run]]:
    """The running ones among jobs, by class."""
    found = RunBook()
    for job in jobs:
        found.put(job.key, job)
    return found.by_class

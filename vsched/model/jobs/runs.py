"""The running jobs by what limits on them depend on, so that nobody has to look at each job."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from vsched.model.jobs.job import Job


class RunClass(NamedTuple):
    """What limits on a running job depend on."""

    queue: str
    namespace: str
    user: str = ""
    """Empty where the job names none."""


class RunBook:
    """The keys of the jobs that hold nodes, by class and sorted."""

    def __init__(self) -> None:
        self.by_class: dict[RunClass, list[str]] = {}
        self._known: dict[str, RunClass] = {}

    def adopt(self, by_class: Mapping[RunClass, Sequence[str]]) -> None:
        """Take over what another one has."""
        self.by_class = {kind: list(keys) for kind, keys in by_class.items()}
        self._known = {key: kind for kind, keys in by_class.items() for key in keys}

    def put(self, key: str, job: Job | None) -> None:
        """A job as it is now, None where it is gone."""
        now = None if job is None or not job.allocated_count else class_of(job)
        before = self._known.get(key)
        if before == now:
            return
        if before is not None:
            keys = self.by_class[before]
            del keys[bisect_left(keys, key)]
            if not keys:
                del self.by_class[before]
        if now is None:
            del self._known[key]
        else:
            self._known[key] = now
            insort(self.by_class.setdefault(now, []), key)


def class_of(job: Job) -> RunClass:
    """What limits on a job depend on."""
    return RunClass(job.spec.queue, job.spec.namespace, job.user)


def runs_of(jobs: Iterable[Job]) -> dict[RunClass, list[str]]:
    """The running ones among jobs, by class."""
    found = RunBook()
    for job in jobs:
        found.put(job.key, job)
    return found.by_class

"""Jobs that cannot be placed whatever room there is: arbitration does not count their waiting pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

Move = Callable[[Task, Task], None]
"""Called with a pod as it counted, and as it counts now."""


class KeptOut:
    """Counts waiting pods of such jobs as if they were gated."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def counted(self, task: Task | None) -> Task | None:
        """The pod as it counts."""
        return task if task is None or task.job not in self._keys else _gated(task)

    def see(self, key: str, job: Job | None, move: Move) -> None:
        """Take in a job, None where it is gone; if its state has changed, its waiting pods are moved."""
        out = job is not None and job.kept_out
        if out is (key in self._keys):
            return
        waiting: Iterable[Task] = () if job is None else job.pending.values()
        for task in waiting:
            move(*((task, _gated(task)) if out else (_gated(task), task)))
        if out:
            self._keys.add(key)
        else:
            self._keys.remove(key)


def _gated(task: Task) -> Task:
    return task if task.gated or task.status is not Status.PENDING else msgspec.structs.replace(task, gated=True)

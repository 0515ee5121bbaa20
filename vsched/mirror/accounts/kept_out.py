"""Jobs of which nothing is placed, whatever there is room for: their pods ask for no part of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from vsched.model.job import Job
from vsched.model.status import Status
from vsched.model.task import Task

Move = Callable[[Task, Task], None]
"""Told what a pod was counted as, and what it counts as now."""


class KeptOut:
    """Has the waiting pods of such jobs counted as if gates held them back."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def counted(self, task: Task | None) -> Task | None:
        """A pod as it counts."""
        return task if task is None or task.job not in self._keys else _gated(task)

    def see(self, key: str, job: Job | None, move: Move) -> None:
        """A job as it is now, None where it is gone: if it is kept out and was not, or the other way, its pods move."""
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

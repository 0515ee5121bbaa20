"""Vcjobs that restart, and what their queues ask for meanwhile.

Between the deletion of its pods and the creation of the next ones, a job that restarts asks for nothing. What it held
stays its queue's meanwhile: else another job would grow into it, and would be evicted for it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from vsched.mirror.ingest.restarts import Restart
from vsched.model.amounts.resources import Vector, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import QueueUsage


class RestartStore:
    """The vcjobs that restart, by key."""

    def __init__(self, job_of: Callable[[str], Job | None]) -> None:
        """``job_of`` gives a job by the key of its PodGroup."""
        self._job_of = job_of
        self._restarts: dict[str, Restart] = {}
        self._shown: tuple[Mapping[str, Queue], dict[str, Vector], Mapping[str, Queue]] = ({}, {}, {})
        """Queues, what they ask for, and these queues with it, as shown last."""

    def put(self, key: str, restart: Restart | None) -> bool:
        """Set the restart of a vcjob, None where it does not restart; whether that is new."""
        before = self._restarts.pop(key, None)
        if restart is not None:
            self._restarts[key] = restart
        return before != restart

    def columns(self) -> set[int]:
        """Columns of what pods of these jobs ask for."""
        return {column for restart in self._restarts.values() for column, _ in restart.total}

    def asking(self, queues: Mapping[str, Queue], usage: Mapping[str, QueueUsage], now: float) -> Mapping[str, Queue]:
        """The queues, with what those ask for to which pods of restarting jobs come back; the same object where
        nothing has changed."""
        if not self._restarts:
            return queues
        asked: dict[str, Vector] = {}
        for key, restart in sorted(self._restarts.items()):
            if restart.until < now:
                del self._restarts[key]
            elif restart.queue in queues and (lacking := self._lacking(restart)):
                add(asked.setdefault(restart.queue, {}), lacking.items())
        for name, amounts in asked.items():
            if name in usage:
                add(amounts, usage[name].allocated.items())
                add(amounts, usage[name].pending.items())
        if not asked:
            return queues
        if self._shown[0] is not queues or self._shown[1] != asked:
            shown = {name: replace(queues[name], asked=tuple(sorted(asked[name].items()))) for name in asked}
            self._shown = queues, asked, {**queues, **shown}
        return self._shown[2]

    def _lacking(self, restart: Restart) -> Vector:
        """What the pods of a job ask for that are not there yet; nothing once all are there."""
        job = self._job_of(restart.group)
        lacking = dict(restart.total)
        there = [] if job is None else [task for task in job.tasks.values() if task.status is not Status.RELEASING]
        if len(there) >= restart.pods:
            return {}
        for task in there:
            subtract(lacking, task.shape.request)
        return {column: amount for column, amount in lacking.items() if amount > 0}

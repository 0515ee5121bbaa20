"""Room in a queue that is reserved for pods whose scheduling gate was removed and that have no node yet.

vsched removes the gate of a pod when its queue has room for it. A node for it may come much
later, because an autoscaler may have to add one first. Until the pod is placed, no other job of the queue gets that
room. While the pod's own job is worked on, its reservation is lifted, so that the job can use the room. Nothing is
reserved that the queue may not hold beside what it holds: where limits have become lower, pods wait like others.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Reserving
from vsched.model.amounts.resources import NOTHING, Amounts, plus
from vsched.model.jobs.job import Job
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above
from vsched.model.snapshot import Snapshot

NOTHING_RESERVED = nullcontext()


class JobReservation(NamedTuple):
    """What is reserved for one job."""

    amounts: Amounts = NOTHING
    claiming: tuple[Task, ...] = ()
    """The tasks with ResourceClaims, for which devices are reserved."""

    def plus(self, task: Task) -> JobReservation:
        """The same with one more task."""
        claims = task.claims is not None and task.claims.devices
        return JobReservation(
            plus(self.amounts, task.shape.request), (*self.claiming, task) if claims else self.claiming
        )


class Reservations:
    """The amounts reserved for each job in a cycle. It reports changes to the plugins that limit queues."""

    def __init__(self, snapshot: Snapshot, plugins: PluginSet) -> None:
        self._queues = snapshot.queues
        self._plugins = plugins
        self._listeners = plugins.taking_part(Reserving)
        self._reserved: dict[str, JobReservation] = {}
        """By job."""
        self._queue_of: dict[str, str] = {}
        self._ungated: set[str] = set()
        """Uids of tasks whose gate this cycle removes."""
        for key in snapshot.reserving:
            job = snapshot.jobs[key]
            queue = self._queues.get(job.spec.queue)
            if queue is not None:
                self._reserve_for(queue, job, ())

    def add(self, queue: Queue, task: Task) -> None:
        """Reserve room for a task whose gate is removed."""
        self._ungated.add(task.uid)
        self._reserve(queue, task.job, JobReservation().plus(task))

    def of(self, queue: str) -> list[str]:
        """The keys of the jobs that room is reserved for in a queue or below it, sorted."""
        reserved = {key for key, found in self._reserved.items() if found.amounts or found.claiming}
        below = ((key, self._queues[key_queue]) for key, key_queue in self._queue_of.items() if key in reserved)
        return sorted(key for key, one in below if queue in self._path(one))

    def _path(self, queue: Queue) -> set[str]:
        """The names of a queue and all queues above it."""
        return {queue.name, *(one.name for one in above(queue, self._queues.get))}

    def lifted(self, job: JobView) -> AbstractContextManager[None]:
        """A context that lifts the job's reservation; at its end, room is reserved for tasks still without a place."""
        return self._lifted(job) if job.key in self._reserved else NOTHING_RESERVED

    @contextmanager
    def _lifted(self, job: JobView) -> Iterator[None]:
        queue = self._queues[job.queue]
        self._report(queue, self._reserved.pop(job.key), -1)
        try:
            yield
        finally:
            self._reserve_for(queue, job.job, job.moved)

    def _reserve(self, queue: Queue, key: str, more: JobReservation) -> None:
        self._queue_of[key] = queue.name
        before = self._reserved.get(key, JobReservation())
        self._reserved[key] = JobReservation(plus(before.amounts, more.amounts), (*before.claiming, *more.claiming))
        self._report(queue, more, 1)

    def _report(self, queue: Queue, reserved: JobReservation, sign: int) -> None:
        for listener in self._listeners:
            listener.reserve(queue, reserved.amounts, sign)
            if reserved.claiming:
                listener.reserve_claims(queue, reserved.claiming, sign)

    def _reserve_for(self, queue: Queue, job: Job, placed: Container[str]) -> None:
        """Reserve what the job's tasks ask for whose gate was removed and that have no place, the older first."""
        for task in sorted(job.pending.values(), key=lambda task: (task.created, task.name)):
            waits = (task.reserves or task.uid in self._ungated) and task.uid not in placed
            if waits and self._plugins.grantable(queue, task) is None:
                self._reserve(queue, job.key, JobReservation().plus(task))

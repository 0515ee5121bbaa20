"""Room in a queue, and in a namespace, that is reserved for pods that have no node yet.

It is reserved for two kinds of pods. vsched removes the gate of a pod when its queue has room for it; a node for it may
come much later, because an autoscaler may have to add one first. And a gang that has nodes for only a part of its
minimum, because a binding failed or pods were lost for instance, is to get the rest, so that it does not stay partial.
Until these pods are placed, no other job gets that room, whichever daemon decides about it. While the pod's own job is
worked on, its reservation is lifted, so that the job can use the room. Room that was freed for nominated pods is theirs
before any gang's: else those that left for them would have left in vain. Nothing is reserved that may not be held
beside what is held: where limits have become lower, pods wait like others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Reserving
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above
from vsched.model.snapshot import Snapshot

NOTHING_RESERVED = nullcontext()


class Reservations:
    """The tasks that room is reserved for in a cycle, by job. It reports changes to the plugins that limit amounts."""

    def __init__(self, snapshot: Snapshot, plugins: PluginSet, view: Callable[[str], JobView | None]) -> None:
        """``view`` returns the session's view of a job by key.

        Room is reserved for pods whose gate was removed; for gangs only from ``complete_gangs`` on.
        """
        self._queues = snapshot.queues
        self._plugins = plugins
        self._listeners = plugins.taking_part(Reserving)
        self._reserved: dict[str, list[Task]] = {}
        self._queue_of: dict[str, str] = {}
        self._ungated: set[str] = set()
        """Uids of tasks whose gate this cycle removes."""
        found = map(view, snapshot.reserving if self._listeners else ())
        self._jobs = [job for job in found if job is not None and job.queue in self._queues]
        self._completes = False
        """Whether room is reserved for gangs as well that have a part of their minimum."""
        for job in self._jobs:
            self._reserve_for(self._queues[job.queue], job)

    def complete_gangs(self) -> None:
        """From now on, reserve room for gangs that have a part of their minimum, too."""
        self._completes = True
        for job in self._jobs:
            queue = self._queues[job.queue]
            self._report(queue, self._reserved.pop(job.key, []), -1)
            self._reserve_for(queue, job)

    def add(self, queue: Queue, task: Task) -> None:
        """Reserve room for a task whose gate is removed."""
        self._ungated.add(task.uid)
        self._reserve(queue, task)

    def of(self, queue: str) -> list[str]:
        """The keys of the jobs that room is reserved for in a queue or below it, sorted."""
        below = ((key, self._queues[key_queue]) for key, key_queue in self._queue_of.items() if key in self._reserved)
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
            self._reserve_for(queue, job)

    def _reserve(self, queue: Queue, task: Task) -> None:
        self._queue_of[task.job] = queue.name
        self._reserved.setdefault(task.job, []).append(task)
        self._report(queue, [task], 1)

    def _report(self, queue: Queue, tasks: list[Task], sign: int) -> None:
        for listener in self._listeners:
            for task in tasks:
                listener.reserve(queue, task, sign)

    def _reserve_for(self, queue: Queue, job: JobView) -> None:
        """Reserve what the job's tasks without a place ask for whose gate was removed, or that its minimum needs."""
        for task in self._to_reserve(job):
            if self._plugins.grantable(queue, task) is None:
                self._reserve(queue, task)

    def _to_reserve(self, job: JobView) -> list[Task]:
        left = [task for task in job.job.pending.values() if task.uid not in job.moved]
        found = [task for task in left if task.reserves or task.uid in self._ungated]
        found.sort(key=lambda task: (task.created, task.name))
        if not (self._completes and job.job.may_be_partial) or self._plugins.job_valid(job) is not None:
            return found  # none of its minimum is there, or too few pods for all of it
        able = self._plugins.ordered_tasks(task for task in left if not task.unsupported and not task.gated)
        needed = job.needed(able, self._plugins.tasks_missing(job) - job.waiting, waiting=True)
        return list({task.uid: task for task in (*found, *needed)}.values())

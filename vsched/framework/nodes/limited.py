"""The queues and namespaces whose limits apply to a planned start: its queue, those above it, and its namespace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vsched.model.jobs.job import Job
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import above


class Limited(NamedTuple):
    """A queue or a namespace whose limit counts."""

    queue: str = ""
    namespace: str = ""


Left = Mapping[Limited, Mapping[int | str, int]]
"""What may be held besides a planned job, by column, and of limits of pods by name; what is missing has no limit."""


class LimitsOf:
    """Finds the queues and namespaces whose limits count for a task. It does not refer to the session."""

    def __init__(self, queues: Mapping[str, Queue], jobs: Mapping[str, Job]) -> None:
        self._queues = queues
        self._jobs = jobs
        self._found: dict[tuple[str, str], tuple[Limited, ...]] = {}

    def __call__(self, task: Task) -> tuple[Limited, ...]:
        """The task's queue, those above it, nearest first, and its namespace."""
        key = self._jobs[task.job].spec.queue, task.namespace
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(self._limits(*key))
        return found

    def _limits(self, name: str, namespace: str) -> Iterator[Limited]:
        yield Limited(queue=name)
        queue = self._queues.get(name)
        for one in above(queue, self._queues.get, rooted=True) if queue is not None else ():
            yield Limited(queue=one.name)
        yield Limited(namespace=namespace)


def asked(limited: Limited, task: Task) -> Iterator[tuple[int | str, int]]:
    """What of a task counts for a limit: its requests, and for a namespace its limits as well."""
    yield from task.shape.request
    if limited.namespace:
        yield from task.shape.limits

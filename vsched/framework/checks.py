"""What is asked about a job again and again in a session; of a job without changes, plugins are asked once."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.framework.combine.orders import OrderKey
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.model.amounts.resources import NOTHING
from vsched.model.queues.queue import Queue


class JobChecks:
    """Whether jobs are valid, whether their queues accept any, and whose turn is first among those that take."""

    def __init__(self, plugins: PluginSet, queues: Mapping[str, Queue]) -> None:
        self._plugins, self._queues = plugins, queues
        self._shut: dict[str, Refusal | None] = {}
        self._valid: set[str] = set()
        """Keys of jobs without changes that plugins have found valid."""
        self._keys: dict[str, OrderKey] = {}
        """Sort keys of jobs without changes."""

    def taking_key(self, job: JobView) -> tuple[bool, OrderKey]:
        """The sort key of a job among those of its queue that take from others; gangs that lost pods go first."""
        if job.moved:
            return not job.has_lost_pods, self._plugins.job_key(job)
        key = self._keys.get(job.key)
        if key is None:
            key = self._keys[job.key] = self._plugins.job_key(job)
        return not job.has_lost_pods, key

    def valid(self, job: JobView) -> Refusal | None:
        """Why a job is not valid; None where it is valid. A job without changes is looked at once."""
        if job.moved:
            return self._plugins.job_valid(job)
        refusal = None if job.key in self._valid else self._plugins.job_valid(job)
        if refusal is None:
            self._valid.add(job.key)
        return refusal

    def shut(self, job: JobView) -> Refusal | None:
        """Why the job's queue accepts no job at all (for instance, it is closed); None where it accepts jobs."""
        if job.queue not in self._shut:
            refusal = self._plugins.allocatable(self._queues[job.queue], NOTHING)
            self._shut[job.queue] = refusal if refusal is not None and not refusal.rank else None
        return self._shut[job.queue]

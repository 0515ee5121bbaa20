"""Writes the domain of jobs that ask for closeness to their PodGroups, as an annotation.

It is for people and tools: the daemon itself goes by the nodes of the pods, and never reads the annotation back. A job
that has no pods with a node any more keeps the last one.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from cachetools import LRUCache

from vsched.clock import Clock
from vsched.model.plan import JobOutcome
from vsched.model.snapshot import Snapshot
from vsched.writes.bodies import domain_write
from vsched.writes.limits import Attempts
from vsched.writes.status.nominations import FINAL
from vsched.writes.status.writer import FIRST_RETRY_SECONDS, Failures
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Writer

ALLOCATED_HYPERNODE = "volcano.sh/job-allocated-hypernode"


class DomainSettings(msgspec.Struct, frozen=True):
    """When the annotation is written."""

    grace_seconds: float = 1.0
    """A change waits this long for further changes."""
    repeat_seconds: float = 30.0
    """The watch has this long to show the annotation before it is written again."""
    retry_seconds: float = FIRST_RETRY_SECONDS
    """The wait after a failure; it doubles up to the ceiling."""
    retry_ceiling_seconds: float = 60.0
    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=100.0, burst=200.0)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)
    remembered: int = 50_000


class _Due(NamedTuple):
    uid: str
    """Of the PodGroup: another one of its name is not in this domain."""
    domain: str


class JobDomains:
    """Compares the domain that PodGroups show with the one that their jobs are in, and writes the differences."""

    def __init__(self, writer: Writer, settings: DomainSettings, clock: Clock) -> None:
        self._writer = writer
        self._settings = settings
        self._clock = clock
        self._asked: LRUCache[str, tuple[str, float]] = LRUCache(settings.remembered)
        """The domain last put in the workqueue for a job, and when by the monotonic clock."""
        self._failures: Failures[str] = Failures(settings.retry_ceiling_seconds, settings.retry_seconds)
        self.workqueue: Workqueue[str, _Due] = Workqueue(settings.workqueue, self._write)

    def submit(self, snapshot: Snapshot, outcome: JobOutcome) -> None:
        """Take note of the domain of a job; only PodGroup objects of Volcano's kind show it."""
        key, job = outcome.key, snapshot.jobs.get(outcome.key)
        if not outcome.domain or job is None or job.spec.implicit or job.spec.native is not None:
            return
        if (ALLOCATED_HYPERNODE, outcome.domain) in job.spec.annotations:
            self.workqueue.discard(key)
            self._asked.pop(key, None)
            return
        now, asked = self._clock.monotonic(), self._asked.get(key)
        if asked is not None and asked[0] == outcome.domain and now < asked[1] + self._settings.repeat_seconds:
            return
        self._asked[key] = (outcome.domain, now)
        self._failures.forget(key)
        self.workqueue.put(key, _Due(job.spec.uid, outcome.domain), self._settings.grace_seconds)

    def forget(self, key: str) -> None:
        """This job is gone."""
        self.workqueue.discard(key)
        self._asked.pop(key, None)
        self._failures.forget(key)

    async def _write(self, key: str, due: _Due) -> None:
        write = domain_write(key, due.uid, ALLOCATED_HYPERNODE, due.domain)
        answer = await self._writer.send(write, self._settings.attempts)
        if answer.done or answer.code in FINAL:
            self._failures.forget(key)
            return
        self._failures.count(key)
        self.workqueue.retry(key, due, self._failures.wait_seconds(key))

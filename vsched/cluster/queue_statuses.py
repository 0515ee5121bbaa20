"""Queue statuses on their way to the API server: what a queue holds and how many PodGroups it has in which phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from vsched.cluster.bodies import queue_write
from vsched.cluster.job_statuses import Told, version_of
from vsched.cluster.lane import Lane, LaneSettings
from vsched.cluster.limits import Attempts
from vsched.cluster.served import Served
from vsched.cluster.writer import Answer, Writer
from vsched.errors import VschedError
from vsched.model.plan import CycleReport, QueueOutcome
from vsched.model.snapshot import Snapshot
from vsched.model.status import Phase

COUNTED = (Phase.PENDING, Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)
"""Phases that a queue's status counts PodGroups of, under their names in lower case."""


class QueueStatusSettings(msgspec.Struct, frozen=True):
    """When a Queue's status is written."""

    grace_seconds: float = 1.0
    """Changes wait this long for more of the same."""
    retry_ceiling_seconds: float = 60.0
    lane: LaneSettings = LaneSettings(workers=4, per_second=100.0, burst=200.0)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)


class QueueContent(NamedTuple):
    """What of a queue reaches its object."""

    allocated: tuple[tuple[str, int], ...]
    counts: tuple[int, ...]
    state: str
    """What to set the state to; empty to leave it alone."""


class PhaseCounts:
    """How many PodGroups of each queue are in which phase; follows the reports, so its cost follows what changed."""

    def __init__(self) -> None:
        self._placed: dict[str, tuple[str, str]] = {}
        self._counts: dict[str, Counter[str]] = {}

    def put(self, key: str, queue: str, phase: str) -> None:
        """A PodGroup is in a phase, in a queue."""
        before = self._placed.get(key)
        if before != (queue, phase):
            self.drop(key)
            self._placed[key] = (queue, phase)
            self._counts.setdefault(queue, Counter())[phase] += 1

    def drop(self, key: str) -> None:
        """A PodGroup is gone."""
        before = self._placed.pop(key, None)
        if before is not None:
            counts = self._counts[before[0]]
            counts[before[1]] -= 1
            if not counts[before[1]]:
                del counts[before[1]]
            if not counts:
                del self._counts[before[0]]

    def of(self, queue: str) -> tuple[int, ...]:
        """Counts of a queue in the order of ``COUNTED``."""
        counts = self._counts.get(queue)
        return tuple(counts[phase] for phase in COUNTED) if counts else (0,) * len(COUNTED)


class QueueStatuses:
    """Coalesces and writes the statuses of Queues."""

    def __init__(self, writer: Writer, served: Served, settings: QueueStatusSettings, told: Told) -> None:
        self._writer = writer
        self._served = served
        self._settings = settings
        self._told = told
        self._counts = PhaseCounts()
        self._asked: dict[str, QueueContent] = {}
        """What was last put in the lane for each queue; bounded by the queues there are."""
        self._written: dict[str, QueueContent] = {}
        self._failures: Counter[str] = Counter()
        self.lane: Lane[str, tuple[QueueOutcome, QueueContent]] = Lane(settings.lane, self._write)

    def submit(self, snapshot: Snapshot, report: CycleReport, stateless: Callable[[str], bool]) -> None:
        """Take note of what each queue holds; ``stateless`` says which have no state yet."""
        self._count(snapshot, report)
        for name, outcome in report.queues.items():
            if not snapshot.queues[name].uid:
                continue  # made up by the mirror: there is no object to write to
            content = QueueContent(
                tuple(outcome.allocated.items()), self._counts.of(name), "Open" if stateless(name) else ""
            )
            if self._asked.get(name) != content:
                self._asked[name] = content
                wait_seconds = self._settings.grace_seconds
                if self._failures[name]:
                    wait_seconds = min(self._settings.retry_ceiling_seconds, 2.0 ** self._failures[name])
                self.lane.put(name, (outcome, content), wait_seconds)
        for name in self._asked.keys() - report.queues.keys():
            self._forget(name)

    def _count(self, snapshot: Snapshot, report: CycleReport) -> None:
        for key, job in report.jobs.items():
            if not job.implicit:
                self._counts.put(key, job.queue, job.phase)
        for key in snapshot.changed:
            if key not in snapshot.jobs:
                self._counts.drop(key)

    def _forget(self, name: str) -> None:
        self.lane.discard(name)
        self._asked.pop(name, None)
        self._written.pop(name, None)
        del self._failures[name]

    async def _write(self, name: str, due: tuple[QueueOutcome, QueueContent]) -> None:
        outcome, content = due
        answer = await self._send(outcome, content)
        if answer.done:
            del self._failures[name]
            self._written[name] = content
        else:
            if answer.code == 404:
                # The object is gone, or its definition has changed under us.
                self._served.forget()
            self._failures[name] = min(10, self._failures[name] + 1)
            self._asked.pop(name, None)
        self._told("Queue", name, version_of(answer))

    async def _send(self, outcome: QueueOutcome, content: QueueContent) -> Answer:
        try:
            subresource = await self._served.has("queues/status")
        except VschedError as error:
            return Answer(0, str(error))
        written = self._written.get(outcome.name)
        before = [resource for resource, _ in written.allocated] if written else []
        counts = {phase.lower(): count for phase, count in zip(COUNTED, content.counts, strict=True)}
        return await self._writer.send(
            queue_write(outcome, before, counts, content.state, subresource), self._settings.attempts
        )

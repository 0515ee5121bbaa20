"""Writes the statuses of Queues: allocated resources, PodGroups by phase, and a condition where something is wrong.

``vsched.controllers`` writes the state of a queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from operator import is_
from typing import NamedTuple

import msgspec

from vsched.api.resources import QUEUES
from vsched.clock import Clock
from vsched.errors import UNREADABLE
from vsched.kube.times import time_stamp
from vsched.model.maps import news
from vsched.model.plan import CycleReport, JobOutcome, QueueOutcome
from vsched.model.pods.status import Phase
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.snapshot import Snapshot
from vsched.writes.bodies import queue_reference, queue_write
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.precedence import Precedence
from vsched.writes.status.writer import OnStatusWritten, ServedResources, StatusWriter
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Writer, WriteResult

MISCONFIGURED = "Misconfigured"
"""The condition of a queue with which something is wrong; there is none while all is well."""
COUNTED = (Phase.PENDING, Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)
"""Phases that a queue's status counts PodGroups of, under their names in lower case."""


class QueueStatusSettings(msgspec.Struct, frozen=True):
    """When a Queue's status is written."""

    grace_seconds: float = 1.0
    """Changes wait this long for further changes."""
    retry_ceiling_seconds: float = 60.0
    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=100.0, burst=200.0)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)


class QueueContent(NamedTuple):
    """The part of a queue's outcome that is written to its object."""

    allocated: tuple[tuple[str, int], ...]
    counts: tuple[int, ...]
    problem: tuple[str, str]
    """Reason and message, empty while all is well."""


class _WrittenStatus(msgspec.Struct):
    allocated: dict[str, object] | None = None


class _Written(msgspec.Struct):
    """The answer to a write. The status of a queue is an object; in a ``Status`` answer it is text."""

    status: _WrittenStatus | str | None = None


class PhaseCounts:
    """How many PodGroups of each queue are in each phase. The cost of an update follows what changed."""

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


class Submitted(NamedTuple):
    """What statuses follow from; nothing is new where all are the same objects."""

    jobs: Mapping[str, JobOutcome]
    outcomes: Mapping[str, QueueOutcome]
    queues: Mapping[str, Queue]


class QueueStatuses:
    """Coalesces and writes the statuses of Queues."""

    def __init__(
        self,
        writer: Writer,
        served: ServedResources,
        events: EventRecorder,
        settings: QueueStatusSettings,
        clock: Clock,
        on_written: OnStatusWritten,
        precedence: Precedence | None,
    ) -> None:
        self._statuses = StatusWriter(
            "Queue", QUEUES, writer, served, settings.attempts, settings.retry_ceiling_seconds, on_written
        )
        self._events = events
        self._settings = settings
        self._clock = clock
        self._counts = PhaseCounts()
        self._counted: Mapping[str, JobOutcome] = {}
        """The outcomes whose phases were counted last."""
        self._submitted: Submitted | None = None
        """What was submitted last; None where some of it is to be looked at again."""
        self._asked: dict[str, QueueContent] = {}
        """What was last put in the workqueue for each queue; bounded by the number of queues."""
        self._shown: dict[str, set[str]] = {}
        """The resources in each object's ``status.allocated``."""
        self._problems: dict[str, tuple[tuple[str, str], float]] = {}
        """The problem of each queue, and since when it exists."""
        self._held: dict[str, dict[str, int]] = {}
        self._queues: Mapping[str, Queue] = {}
        """What ``_sums`` were worked out from."""
        self._sums: dict[str, tuple[tuple[str, int], ...]] = {}
        self.workqueue: Workqueue[str, QueueContent] = Workqueue(settings.workqueue, self._write, precedence=precedence)

    def submitting(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """Queue the statuses that changed, in steps."""
        submitted = Submitted(report.jobs, report.queues, snapshot.queues)
        if self._submitted is not None and all(map(is_, submitted, self._submitted)):
            return
        self._submitted = submitted
        yield from self._counting(snapshot, report)
        allocated = self._allocated_by(
            {name: found.allocated for name, found in report.queues.items()}, snapshot.queues
        )
        for name, outcome in report.queues.items():
            uid = snapshot.queues[name].uid
            if not uid:
                continue  # the default queue of the mirror: there is no object to write to
            problem = (outcome.problem_reason, outcome.problem)
            self._note_problem(name, uid, problem)
            content = QueueContent(allocated[name], self._counts.of(name), problem)
            if self._asked.get(name) != content:
                self._asked[name] = content
                wait_seconds = self._statuses.wait_seconds(name, self._settings.grace_seconds)
                self.workqueue.put(name, content, wait_seconds, yields=True)
        for name in self._asked.keys() - report.queues.keys():
            self._forget(name)

    def _allocated_by(
        self, held: dict[str, dict[str, int]], queues: Mapping[str, Queue]
    ) -> Mapping[str, tuple[tuple[str, int], ...]]:
        """What each queue and its children hold; computed again when something changed."""
        if held != self._held or queues is not self._queues:
            self._held, self._queues = held, queues
            self._sums = {name: tuple(sorted(sums.items())) for name, sums in with_ancestors(held, queues).items()}
        return self._sums

    def _counting(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        before, self._counted = self._counted, report.jobs
        for some in news(before, report.jobs):
            for key, job in some.items():
                if not job.implicit:
                    self._counts.put(key, job.queue, job.phase)
            yield
        for key in snapshot.elsewhere:
            spec = snapshot.jobs[key].spec
            if not spec.implicit:
                self._counts.put(key, spec.queue, spec.phase)
            yield
        for key in snapshot.changed:
            if key not in snapshot.jobs:
                self._counts.drop(key)
            yield

    def _note_problem(self, name: str, uid: str, problem: tuple[str, str]) -> None:
        """Record an Event for a problem that is new or has changed."""
        reason, message = problem
        before = self._problems.get(name)
        if not reason:
            self._problems.pop(name, None)
        elif before is None or before[0] != problem:
            began = before[1] if before is not None else self._clock.now()
            self._problems[name] = (problem, began)
            self._events.record(queue_reference(name, uid), WARNING, reason, message)

    def _forget(self, name: str) -> None:
        self.workqueue.discard(name)
        self._asked.pop(name, None)
        self._shown.pop(name, None)
        self._problems.pop(name, None)
        self._statuses.forget(name)

    async def _write(self, name: str, content: QueueContent) -> None:
        answer = await self._send(name, content)
        held = {resource for resource, _ in content.allocated}
        if answer.done and not _resources_in(answer) <= held:
            # An earlier scheduler left resources there.
            self._shown[name] = _resources_in(answer)
            answer = await self._send(name, content)
        if answer.done:
            self._shown[name] = held
        else:
            self._asked.pop(name, None)
            self._submitted = None
        self._statuses.answered(name, answer)

    async def _send(self, name: str, content: QueueContent) -> WriteResult:
        counts = {phase.lower(): count for phase, count in zip(COUNTED, content.counts, strict=True)}
        amounts, before = dict(content.allocated), sorted(self._shown.get(name, ()))
        conditions = self._conditions(name, content)
        return await self._statuses.send(
            lambda subresource: queue_write(name, amounts, before, counts, conditions, subresource)
        )

    def _conditions(self, name: str, content: QueueContent) -> list[dict[str, str]]:
        reason, message = content.problem
        if not reason:
            return []
        known = self._problems.get(name)
        since = known[1] if known is not None else self._clock.now()
        condition = {"type": MISCONFIGURED, "status": "True", "reason": reason, "message": message}
        return [condition | {"lastTransitionTime": time_stamp(since)}]


def _resources_in(answer: WriteResult) -> set[str]:
    """The resources that a queue is said to hold in the answer to a write."""
    try:
        status = msgspec.json.decode(answer.body, type=_Written).status
    except UNREADABLE:
        return set()
    return set(status.allocated or ()) if isinstance(status, _WrittenStatus) else set()


def with_ancestors(held: Mapping[str, dict[str, int]], queues: Mapping[str, Queue]) -> dict[str, dict[str, int]]:
    """What each queue and its children hold, where there is a root; base units by resource."""
    if ROOT not in queues:
        return dict(held)
    sums = {name: dict(amounts) for name, amounts in held.items()}
    for name, amounts in held.items():
        if not amounts:
            continue
        seen, above = {name}, parent_of(name, queues)
        while above not in seen and above in sums:
            for resource, value in amounts.items():
                sums[above][resource] = sums[above].get(resource, 0) + value
            seen.add(above)
            above = parent_of(above, queues)
    return sums


def parent_of(name: str, queues: Mapping[str, Queue]) -> str:
    """The queue above another: the root where none is named; the root is its own."""
    return ROOT if name == ROOT else queues[name].parent or ROOT

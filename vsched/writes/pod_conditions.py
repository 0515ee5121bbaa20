"""Why pods wait, written on the pods: ``PodScheduled=False`` and a FailedScheduling Event.

A pod that is placed within the grace costs nothing. A reason that only changes its numbers is written seldom.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from cachetools import LRUCache

from vsched.clock import Clock
from vsched.model.advice import about
from vsched.model.plan import CycleReport, Unschedulable
from vsched.model.snapshot import Snapshot
from vsched.model.task import Task
from vsched.writes.bodies import pod_condition_write, pod_reference
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import RETRIED, Writer


class PodConditionSettings(msgspec.Struct, frozen=True):
    """When a pod is told why it waits."""

    grace_seconds: float = 1.0
    """A pod must have been unschedulable for this long."""
    reword_seconds: float = 30.0
    """A message that changes while its reason stays is written this seldom."""
    rewords_per_second: float = 50.0
    """Of all pods together: where many wait, each is reworded more seldom, and what is new is not kept waiting."""
    repeat_seconds: float = 3.0
    """The same condition is not written again before the watch had this long to show it."""
    lane: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=100.0, burst=200.0)
    """A status patch costs the API server two bindings, so a long backlog is told slowly."""
    attempts: Attempts = Attempts(2, first_seconds=0.2, ceiling_seconds=2.0)
    remembered: int = 100_000


class Written(NamedTuple):
    """The condition written last, and when (by the monotonic clock)."""

    reason: str
    message: str
    at: float


class Due(NamedTuple):
    """What a pod is to be told."""

    verdict: Unschedulable
    again: bool
    """Whether it says so already, but for numbers."""


class PodConditions:
    """Coalesces and writes what pods are told."""

    def __init__(
        self,
        writer: Writer,
        events: EventRecorder,
        settings: PodConditionSettings,
        clock: Clock,
    ) -> None:
        self._writer = writer
        self._events = events
        self._settings = settings
        self._clock = clock
        self._written: LRUCache[str, Written] = LRUCache(settings.remembered)
        self._waiting: dict[str, dict[str, Unschedulable]] = {}
        """By job, then uid: the verdicts that were last looked at. Bounded by the pods that wait."""
        self.lane: Workqueue[str, Due] = Workqueue(settings.lane, self._write)

    def submit(self, snapshot: Snapshot, report: CycleReport) -> None:
        """Take note of which pods wait and why, and of those that no longer do."""
        waiting: dict[str, dict[str, Unschedulable]] = {}
        for verdict in report.unschedulable.values():
            waiting.setdefault(verdict.job, {})[verdict.uid] = verdict
        for key in {*report.jobs, *snapshot.changed, *snapshot.strays}:
            self._compare(snapshot, key, self._waiting.pop(key, {}), waiting.get(key, {}))
        self._waiting |= waiting

    def placed(self, uid: str) -> None:
        """The pod waits no more: what it was told last is of no use."""
        self._written.pop(uid, None)

    def _compare(
        self, snapshot: Snapshot, key: str, before: dict[str, Unschedulable], waiting: dict[str, Unschedulable]
    ) -> None:
        for uid in before.keys() - waiting.keys():
            self.lane.discard(uid)
        job = snapshot.jobs.get(key) or snapshot.strays.get(key)
        if job is None:
            return
        for uid, verdict in waiting.items():
            earlier = before.get(uid)
            if earlier is None or earlier.message != verdict.message or earlier.reason != verdict.reason:
                self._put(verdict, job.tasks[uid])

    def _put(self, verdict: Unschedulable, task: Task) -> None:
        said = condition_text(verdict.reason, verdict.message)
        if task.condition == said:
            self.lane.discard(verdict.uid)
            return
        reword_seconds = max(self._settings.reword_seconds, len(self.lane) / self._settings.rewords_per_second)
        written, wait_seconds = self._written.get(verdict.uid), self._settings.grace_seconds
        same_reason = task.condition.startswith(condition_text(verdict.reason, ""))
        if written is not None:
            since_seconds = self._clock.monotonic() - written.at
            if written[:2] == (verdict.reason, verdict.message) and since_seconds < self._settings.repeat_seconds:
                return
            same_reason = written.reason == verdict.reason
            if same_reason:
                wait_seconds = max(wait_seconds, reword_seconds - since_seconds)
        elif same_reason:
            wait_seconds = reword_seconds
        self.lane.put(verdict.uid, Due(verdict, about(task.condition) == about(said)), wait_seconds)

    async def _write(self, key: str, due: Due) -> None:
        what = due.verdict
        write = pod_condition_write(what.namespace, what.name, what.uid, what.reason, what.message, self._clock.now())
        answer = await self._writer.send(write, self._settings.attempts)
        if answer.done:
            self._written[key] = Written(what.reason, what.message, self._clock.monotonic())
            pod = pod_reference(what.namespace, what.name, what.uid)
            self._events.record(pod, WARNING, "FailedScheduling", what.message, cause=cause_of(what), again=due.again)
            return
        if answer.code in RETRIED:
            # Told again at the next opportunity: the verdict is no longer known, so it counts as new.
            self._waiting.get(what.job, {}).pop(what.uid, None)


def cause_of(what: Unschedulable) -> str:
    """Why a pod waits in a word or two that stay while the numbers change: what most nodes have against it."""
    return min(what.reasons, key=lambda reason: (-what.reasons[reason], reason), default=what.reason)


def condition_text(reason: str, message: str) -> str:
    """Reason and message as a task's ``condition`` holds them."""
    return f"{reason}: {message}"

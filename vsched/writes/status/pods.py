"""Writes on pods why they wait: the condition ``PodScheduled=False`` and a FailedScheduling Event.

A pod that is placed within the grace period costs no write, and neither does one whose gang is still being made. A
reason in which only numbers change is written seldom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import msgspec
from cachetools import LRUCache

from vsched.clock import Clock
from vsched.model.jobs.advice import about
from vsched.model.maps import gone, news
from vsched.model.plan import CycleReport, JobOutcome, Unschedulable, by_job
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.writes.bodies import ObjectReference, pod_condition_write, pod_reference
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.status.growing import GROWING_SECONDS, has_new_pods, is_growing
from vsched.writes.status.writer import Failures
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import NOT_PERMITTED, Writer

FAILED = "FailedScheduling"
"""The reason of the Event."""
PUT_OFF_MAX = 10
"""How often the reason of a pod may wait for the rest of its gang."""


class PodConditionSettings(msgspec.Struct, frozen=True):
    """When a pod's condition is written."""

    grace_seconds: float = 1.0
    """A pod must have been unschedulable for this long."""
    reword_seconds: float = 30.0
    """The least time between writes of a message whose reason stays the same."""
    rewords_per_second: float = 50.0
    """Rewritten messages of all pods together, so that new reasons do not wait behind them."""
    repeat_seconds: float = 3.0
    """The watch has this long to show a condition before it is written again."""
    retry_ceiling_seconds: float = 60.0
    """The longest wait after failures; it doubles with each."""
    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=100.0, burst=200.0)
    """A status patch costs the API server as much as two bindings, so the rate is low."""
    attempts: Attempts = Attempts(2, first_seconds=0.2, ceiling_seconds=2.0)
    remembered: int = 100_000


class WrittenCondition(NamedTuple):
    """The condition written last, and when (by the monotonic clock)."""

    reason: str
    message: str
    at: float
    cause: str
    """Of the Event that was recorded."""


class DueCondition(NamedTuple):
    """A condition to write."""

    verdict: Unschedulable
    again: bool
    """Whether the pod already says the same but for numbers."""
    put_off: int = 0
    """How often it waited for the rest of its gang."""


class PodConditions:
    """Coalesces and writes the conditions of pods."""

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
        self._written: LRUCache[str, WrittenCondition] = LRUCache(settings.remembered)
        self._outcomes: Mapping[str, JobOutcome] = {}
        """The outcomes in the last report."""
        self._waiting: Mapping[str, Mapping[str, Unschedulable]] = {}
        """By job: the reasons in the last report."""
        self._aside: dict[str, Mapping[str, Unschedulable]] = {}
        """The same of jobs that later reports say nothing of."""
        self._forgotten: dict[str, set[str]] = {}
        """By job: uids of pods whose reasons are to be taken for new. Bounded by the pods that wait."""
        self._failures: Failures[str] = Failures(settings.retry_ceiling_seconds)
        self._growing: set[str] = set()
        """Those of these jobs whose pods are still being made."""
        self.workqueue: Workqueue[str, DueCondition] = Workqueue(settings.workqueue, self._write)

    def submitting(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """Queue the reasons why pods wait, and drop those of pods that no longer wait: a job a step."""
        self._growing = {
            key for key in self._growing if key in snapshot.jobs and has_new_pods(snapshot.jobs[key], snapshot.now)
        }
        outcomes, waiting, seen = report.jobs, by_job(report.unschedulable), set[str]()
        left, changed = dict[str, Mapping[str, Unschedulable]](), frozenset(snapshot.changed)
        for keys in gone(self._waiting, waiting):
            left.update((key, self._waiting[key]) for key in keys)
            yield
        self._aside |= left
        for some in chain[Iterable[str]](
            ([key for key in self._forgotten if key in waiting],),
            news(self._waiting, waiting),
            news(self._outcomes, outcomes),
            ([key for key in left if key in outcomes], snapshot.changed),
        ):
            for key in some:
                if key not in seen:
                    seen.add(key)
                    self._look(snapshot, outcomes.get(key), key, waiting.get(key, {}), changed=key in changed)
                yield
            yield
        self._outcomes, self._waiting = outcomes, waiting

    def placed(self, about: ObjectReference) -> None:
        """The pod is bound: forget what was last written, and say no more why it waits."""
        written = self._written.pop(about.uid, None)
        if written is not None:
            self._events.withdraw(about, FAILED, written.cause)

    def _look(
        self,
        snapshot: Snapshot,
        outcome: JobOutcome | None,
        key: str,
        waiting: Mapping[str, Unschedulable],
        *,
        changed: bool,
    ) -> None:
        """``changed``: its pods may not say any more what they did, as where the server was restored."""
        job = snapshot.jobs.get(key)
        if job is not None and outcome is not None and waiting and is_growing(job, outcome, snapshot.now):
            self._growing.add(key)
        else:
            self._growing.discard(key)
        known = self._aside.pop(key, None) or self._waiting.get(key, {})
        before = {found.uid: found for found in known.values()}
        for uid in before.keys() - {found.uid for found in waiting.values()}:
            self.workqueue.discard(uid)
        forgotten, job = self._forgotten.pop(key, ()), snapshot.jobs.get(key) or snapshot.strays.get(key)
        if job is None:
            return
        for verdict in waiting.values():
            earlier, task = None if verdict.uid in forgotten else before.get(verdict.uid), job.tasks[verdict.uid]
            same = earlier is verdict or (earlier is not None and _says(earlier) == _says(verdict))
            if not same or (changed and task.condition != _says(verdict)):
                self._put(verdict, task)

    def _put(self, verdict: Unschedulable, task: Task) -> None:
        said = _says(verdict)
        if task.condition == said:
            self.workqueue.discard(verdict.uid)
            return
        reword_seconds = max(self._settings.reword_seconds, len(self.workqueue) / self._settings.rewords_per_second)
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
        wait_seconds = self._failures.wait_seconds(verdict.uid, wait_seconds)
        self.workqueue.put(verdict.uid, DueCondition(verdict, about(task.condition) == about(said)), wait_seconds)

    async def _write(self, key: str, due: DueCondition) -> None:
        what = due.verdict
        if what.job in self._growing and due.put_off < PUT_OFF_MAX:
            self.workqueue.retry(key, due._replace(put_off=due.put_off + 1), GROWING_SECONDS)
            return
        write = pod_condition_write(what.namespace, what.name, what.uid, what.reason, what.message, self._clock.now())
        answer = await self._writer.send(write, self._settings.attempts)
        if answer.done:
            self._failures.forget(key)
            cause = cause_of(what)
            self._written[key] = WrittenCondition(what.reason, what.message, self._clock.monotonic(), cause)
            pod = pod_reference(what.namespace, what.name, what.uid)
            self._events.record(pod, WARNING, FAILED, what.message, cause=cause, again=due.again)
            return
        if answer.code not in (NOT_PERMITTED, 404):
            # Forgotten, so that the next report counts as new and is written.
            self._failures.count(key)
            self._forgotten.setdefault(what.job, set()).add(what.uid)


def cause_of(what: Unschedulable) -> str:
    """The reason that most nodes have: it stays the same while numbers in the message change."""
    return min(what.reasons, key=lambda reason: (-what.reasons[reason], reason), default=what.reason)


def _says(verdict: Unschedulable) -> str:
    return condition_text(verdict.reason, verdict.message)


def condition_text(reason: str, message: str) -> str:
    """Reason and message as a task's ``condition`` holds them."""
    return f"{reason}: {message}"

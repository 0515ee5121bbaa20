"""Writes the conditions of native PodGroups as kube-scheduler does, with our reasons: one write for many changes.

A group that was scheduled once stays so, whatever becomes of its pods. Groups without pods of ours are left alone: the
mirror does not show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from cachetools import LRUCache

from vsched.clock import Clock
from vsched.framework.codes import Code
from vsched.kube.times import time_stamp
from vsched.model.claims.plan import NOT_HAD
from vsched.model.jobs.advice import WOULD_START, is_overtaken
from vsched.model.jobs.job import Job
from vsched.model.jobs.native import OLDEST_VERSION, ChildGroup, NativeGroup, native_key
from vsched.model.jobs.runs import WALL_TIME_OVER, over_of
from vsched.model.maps import news
from vsched.model.plan import CycleReport, JobOutcome
from vsched.model.pods.status import SCHEDULED
from vsched.model.snapshot import Snapshot
from vsched.writes import words
from vsched.writes.bodies import cause_of_eviction, native_condition_write, podgroup_reference
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.status.writer import Failures
from vsched.writes.workqueue import Workqueue
from vsched.writes.writer import Writer

SCHEDULED_REASON, UNSCHEDULABLE, INVALID = "Scheduled", "Unschedulable", "Invalid"
SCHEDULER_ERROR = "SchedulerError"
"""A binding or a reservation failed, or the session ended in an error: it is no lack of room that keeps the group."""
DISRUPTED, PREEMPTION = "DisruptionTarget", "PreemptionByScheduler"


class GroupCondition(msgspec.Struct, frozen=True):
    """A condition that a group is to have, and what identifies the group."""

    key: str
    """Of the job that the group would be by itself."""
    uid: str
    version: str
    generation: int
    kind: str
    met: bool
    reason: str
    message: str
    since: float = 0.0
    """When it began; 0 for now."""
    code: str = ""
    """Why the job waits, as a code."""

    @property
    def content(self) -> tuple[bool, str, str]:
        """The part that changes."""
        return self.met, self.reason, self.message


class Written(NamedTuple):
    """What was last written of a condition."""

    uid: str
    content: tuple[bool, str, str]


def condition_type(version: str, *, composite: bool) -> str:
    """The type of the condition that says whether a group was scheduled."""
    if composite:
        return "CompositePodGroupInitiallyScheduled"
    return "PodGroupScheduled" if version == OLDEST_VERSION else "PodGroupInitiallyScheduled"


Due = tuple[GroupCondition, tuple[bool, str, str] | None]
"""A condition, with the content that the group's object has; None where it has none."""


def conditions_of(job: Job, outcome: JobOutcome) -> Iterator[Due]:
    """The conditions of a job's groups.

    Groups that were scheduled once need none, and neither do those that are on their way.
    """
    waits = next((one for one in outcome.conditions if one.kind == UNSCHEDULABLE and one.status == "True"), None)
    failed = outcome.code == Code.BINDING or outcome.message.startswith(NOT_HAD)
    message = waits.message if waits is not None and not failed else outcome.message
    return _conditions(job, message, SCHEDULER_ERROR if failed else UNSCHEDULABLE, outcome.code)


def ended_of(job: Job, outcome: JobOutcome) -> Iterator[Due]:
    """The condition that the wall time of a job is over, or is no more, where it changes."""
    spec, native = job.spec, job.spec.native
    assert native is not None, job.key
    said, due = over_of(spec.conditions), over_of(outcome.conditions)
    if due is None or due == said:
        return
    before = None if said is None else (said.status == "True", said.reason, said.message)
    yield (
        GroupCondition(
            job.key,
            spec.uid,
            native.version,
            native.generation,
            WALL_TIME_OVER,
            due.status == "True",
            due.reason,
            due.message,
            due.since,
            outcome.code,
        ),
        before,
    )


def failures_of(job: Job, error: str) -> Iterator[Due]:
    """The conditions of a job's groups that are not scheduled yet, after a session that ended in an error."""
    return (due for due in _conditions(job, error, SCHEDULER_ERROR, "") if not due[0].met)


def _conditions(job: Job, message: str, unmet: str, code: str) -> Iterator[Due]:
    spec, native = job.spec, job.spec.native
    assert native is not None, job.key
    said = spec.scheduling_condition
    root = ChildGroup(
        spec.name,
        spec.uid,
        native.version,
        native.generation,
        native.minimum,
        native.started,
        native.composite,
        "",
        *((said.reason, said.message, said.since) if said is not None else ()),
    )
    scheduled = _scheduled_of(job, root, native)
    for group in (root, *native.children):
        met = (group.composite, group.name) in scheduled
        if group.started or not (met or message):
            continue
        reason = SCHEDULED_REASON if met else INVALID if native.invalid and group.composite else unmet
        before = (False, group.reason, group.message) if group.reason else None
        yield (
            GroupCondition(
                native_key(spec.namespace, group.name, composite=group.composite),
                group.uid,
                group.version,
                group.generation,
                condition_type(group.version, composite=group.composite),
                met,
                reason,
                "" if met else message,
                0.0 if met else group.since,
                code,
            ),
            before,
        )


def _scheduled_of(job: Job, root: ChildGroup, native: NativeGroup) -> set[tuple[bool, str]]:
    """The groups of a job that have their minimum on nodes, as (composite, name)."""
    if not native.composite:
        placed = sum(job.counts[status] for status in SCHEDULED)
        return {(False, root.name)} if placed >= root.minimum else set()
    pods = Counter(task.group for task in job.tasks.values() if task.status in SCHEDULED)
    groups: Counter[str] = Counter()
    found: set[tuple[bool, str]] = set()
    for group in (*reversed(native.children), root):  # children before their parents
        if (groups if group.composite else pods)[group.name] >= group.minimum:
            found.add((group.composite, group.name))
            groups[group.parent] += 1
    return found


class NativeStatuses:
    """Coalesces and writes the conditions of native PodGroups."""

    def __init__(self, writer: Writer, events: EventRecorder, settings: JobStatusSettings, clock: Clock) -> None:
        self._writer = writer
        self._events = events
        self._settings = settings
        self._clock = clock
        self._written: LRUCache[tuple[str, str], Written] = LRUCache(settings.remembered)
        self._failures: Failures[tuple[str, str]] = Failures(settings.retry_ceiling_seconds)
        self._submitted: Mapping[str, JobOutcome] = {}
        """The outcomes in the last report."""
        self.workqueue: Workqueue[tuple[str, str], GroupCondition] = Workqueue(settings.workqueue, self._write)

    def submitting(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """Take note of what the conditions of native PodGroups should be: a job a step."""
        before, self._submitted = self._submitted, report.jobs
        for some in news(before, report.jobs):
            for key, outcome in some.items():
                job = snapshot.jobs.get(key)
                if job is not None and job.spec.native is not None:
                    for due, said in (*conditions_of(job, outcome), *ended_of(job, outcome)):
                        self._submit(due, said)
                yield
            yield
        for eviction in report.evictions:
            job = snapshot.jobs.get(eviction.job)
            native = None if job is None else job.spec.native
            if job is not None and native is not None and native.whole:
                message = cause_of_eviction(eviction)
                self._submit(
                    GroupCondition(
                        job.key,
                        job.spec.uid,
                        native.version,
                        native.generation,
                        DISRUPTED,
                        True,
                        PREEMPTION,
                        message,
                    ),
                    None,
                )

    def session_failed(self, snapshot: Snapshot, error: str) -> None:
        """Take note that the session which was to place these groups ended in an error."""
        self._submitted = {}
        for key in snapshot.active:
            job = snapshot.jobs[key]
            if job.spec.native is not None and job.pending:
                for due, before in failures_of(job, error):
                    self._submit(due, before)

    def _submit(self, due: GroupCondition, before: tuple[bool, str, str] | None) -> None:
        key = due.key, due.kind
        written = self._written.get(key)
        if written is not None and written.uid == due.uid:
            before = written.content
        if due.content == before:
            self.workqueue.discard(key)
            return
        self.workqueue.put(key, due, self._wait_seconds(due, before))

    def _wait_seconds(self, due: GroupCondition, before: tuple[bool, str, str] | None) -> float:
        if due.met:
            return self._settings.phase_seconds
        if before is None or before[:2] != due.content[:2]:
            return self._settings.grace_seconds
        old, new = before[2], due.message
        is_soon = is_overtaken(old, new) or WOULD_START in new
        return self._settings.grace_seconds if is_soon else self._settings.reword_seconds

    async def _write(self, key: tuple[str, str], due: GroupCondition) -> None:
        condition = {
            "type": due.kind,
            "status": "True" if due.met else "False",
            "reason": due.reason,
            "message": due.message,
            "observedGeneration": due.generation,
            "lastTransitionTime": time_stamp(due.since or self._clock.now()),
        }
        write = native_condition_write(due.key, due.uid, due.version, condition)
        answer = await self._writer.send(write, self._settings.attempts)
        if answer.done:
            self._failures.forget(key)
            self._say(due, self._written.get(key))
            self._written[key] = Written(due.uid, due.content)
        elif answer.code not in (404, 409):  # it is gone, or another one has its name
            self._failures.count(key)
            self.workqueue.retry(key, due, self._failures.wait_seconds(key))

    def _say(self, due: GroupCondition, before: Written | None) -> None:
        """Record an Event, unless the condition only counts otherwise than before."""
        if due.kind == DISRUPTED or (due.kind == WALL_TIME_OVER and not due.met):
            return
        severity = NORMAL if due.met and due.kind != WALL_TIME_OVER else WARNING
        message = due.message or words.MINIMUM_IS_PLACED
        again = before is not None and before.uid == due.uid and before.content[:2] == due.content[:2]
        about_group = podgroup_reference(due.key, due.uid)
        self._events.record(about_group, severity, due.reason, message, cause=due.code, again=again)

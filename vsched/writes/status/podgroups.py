"""Writes the statuses of PodGroups (phase, counts, conditions): one write for many changes."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

import msgspec
from cachetools import LRUCache
from msgspec.structs import replace

from vsched.api.resources import PODGROUPS
from vsched.clock import Clock
from vsched.framework.reports.closing import NOTICE
from vsched.model.jobs.advice import WOULD_START, about, headline_of, is_overtaken
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import Condition, JobSpec
from vsched.model.plan import JobOutcome
from vsched.model.pods.status import Phase
from vsched.model.snapshot import Snapshot
from vsched.randomness import hexadecimal
from vsched.writes.bodies import podgroup_conditions, podgroup_reference, podgroup_write
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.precedence import Precedence
from vsched.writes.status.growing import is_growing
from vsched.writes.status.writer import OnStatusWritten, ServedResources, StatusWriter
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Writer

UNSCHEDULABLE = "Unschedulable"
SCHEDULED = "Scheduled"
SAYS = {UNSCHEDULABLE: WARNING, SCHEDULED: NORMAL, NOTICE: WARNING}
"""Condition types that are also recorded as an Event, with its severity."""


class JobStatusSettings(msgspec.Struct, frozen=True):
    """When a PodGroup's status is written."""

    phase_seconds: float = 0.1
    """A change of phase waits this long for further changes."""
    grace_seconds: float = 1.0
    """Counts and conditions wait this long, because in a burst they change again at once."""
    reword_seconds: float = 30.0
    """The least time between writes where only numbers change: messages count nodes, and these change often."""
    overtaken_seconds: float = 5.0
    """The same where the reason is another one, or where advice no longer holds."""
    rewords_per_second: float = 50.0
    """Rewritten messages of all objects together."""
    inherited_seconds: float = 600.0
    """Advice that another daemon wrote stays this long, while this one searches for its own."""
    repeat_seconds: float = 3.0
    """The watch has this long to show a status before it is written again."""
    retry_ceiling_seconds: float = 60.0
    """The longest wait after repeated failures for one object."""
    workqueue: WorkqueueSettings = WorkqueueSettings(workers=8, per_second=500.0, burst=500.0)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)
    remembered: int = 50_000


class StatusContent(NamedTuple):
    """The part of an outcome that is written to the object."""

    phase: str
    running: int
    succeeded: int
    failed: int
    conditions: tuple[Condition, ...]

    def without_messages(self) -> tuple[object, ...]:
        """The content without the messages of its conditions."""
        return (*self[:4], tuple((c.kind, c.status, c.reason) for c in self.conditions))


class WrittenStatus(NamedTuple):
    """What was last written, when (by the monotonic clock), and to which object."""

    content: StatusContent
    at: float
    uid: str


class DueStatus(msgspec.Struct, frozen=True):
    """An outcome with the identity of its object."""

    outcome: JobOutcome
    uid: str
    known: tuple[Condition, ...]
    """The conditions the object has, as far as the mirror knows."""
    alone: bool = False
    """Whether the object only stands for one pod, which has Events of its own."""


def content_of(outcome: JobOutcome) -> StatusContent:
    return StatusContent(outcome.phase, outcome.running, outcome.succeeded, outcome.failed, outcome.conditions)


def spoken_by(spec: JobSpec) -> StatusContent:
    """The content an object has, as far as the mirror knows."""
    return StatusContent(spec.phase, spec.running, spec.succeeded, spec.failed, spec.conditions)


def _changed_messages(content: StatusContent, before: StatusContent) -> list[tuple[str, str]]:
    """The new and the old messages of conditions of the same kinds, where they differ."""
    pairs = zip(content.conditions, before.conditions, strict=True)
    return [(new.message, old.message) for new, old in pairs if new.message != old.message]


def _adds_advice(content: StatusContent, before: StatusContent) -> bool:
    """Whether nothing but advice is new, numbers aside: advice is written soon."""
    changed = _changed_messages(content, before)
    return bool(changed) and all(
        WOULD_START in new and WOULD_START not in old and about(headline_of(new)) == about(old) for new, old in changed
    )


def _gives_old_advice(content: StatusContent, before: StatusContent) -> bool:
    """Whether the object advises what may no longer be enough."""
    return any(WOULD_START in old for _, old in _changed_messages(content, before))


def _gives_other_reason(content: StatusContent, before: StatusContent) -> bool:
    """Whether the object gives another reason, numbers aside."""
    return any(is_overtaken(old, new) for new, old in _changed_messages(content, before))


def _loses_advice(content: StatusContent, before: StatusContent) -> bool:
    """Whether nothing is new but that the advice is missing."""
    if content.without_messages() != before.without_messages():
        return False
    changed = _changed_messages(content, before)
    return all(WOULD_START in old and headline_of(old) == new for new, old in changed)


def _says_again(condition: Condition, known: Iterable[Condition]) -> bool:
    """Whether the object already says the same, numbers and advice aside."""
    return any(
        (one.kind, one.status, one.reason) == (condition.kind, condition.status, condition.reason)
        and about(headline_of(one.message)) == about(headline_of(condition.message))
        for one in known
    )


def _on_its_way(outcome: JobOutcome) -> bool:
    """Whether the gang's pods are placed and are only to start: a moment later one write says what two would say now.

    The status of a gang that was admitted is written at once, because controllers then create its pods.
    """
    placed = 0 < outcome.min_member <= outcome.ready
    return placed and outcome.phase in (Phase.INQUEUE, Phase.RUNNING) and outcome.running < outcome.ready


def _only_tells(outcome: JobOutcome, before: StatusContent) -> bool:
    """Whether nobody waits for this status, so that it may wait for bindings.

    Controllers create a gang's pods once its phase says that it was admitted: that must not wait. Where the gang's pods
    are placed or run, they have been created. Other phases are rare, and may be what somebody waits for.
    """
    return outcome.phase in (before.phase, Phase.RUNNING) or _on_its_way(outcome)


def _is_unconfirmed(job: Job, outcome: JobOutcome, before: StatusContent) -> bool:
    """Whether it would say that the gang is scheduled while bindings of its minimum may be refused yet."""
    if outcome.ready < outcome.min_member or job.confirmed >= outcome.min_member:
        return False
    return _says_scheduled(outcome.conditions) and not _says_scheduled(before.conditions)


def _says_scheduled(conditions: Iterable[Condition]) -> bool:
    return any(one.kind == SCHEDULED and one.status == "True" for one in conditions)


class JobStatuses:
    """Coalesces and writes the statuses of PodGroups."""

    def __init__(
        self,
        writer: Writer,
        served: ServedResources,
        events: EventRecorder,
        settings: JobStatusSettings,
        clock: Clock,
        on_written: OnStatusWritten,
        precedence: Precedence | None,
    ) -> None:
        self._statuses = StatusWriter(
            "PodGroup", PODGROUPS, writer, served, settings.attempts, settings.retry_ceiling_seconds, on_written
        )
        self._events = events
        self._settings = settings
        self._clock = clock
        self._written: LRUCache[str, WrittenStatus] = LRUCache(settings.remembered)
        self._began: float | None = None
        """When statuses were submitted first, by the monotonic clock."""
        self.unsettled: dict[str, None] = {}
        """Jobs to submit again in the next session: their objects may not say what they should, and no write waits."""
        self.workqueue: Workqueue[str, DueStatus] = Workqueue(settings.workqueue, self._write, precedence=precedence)

    def submit(self, snapshot: Snapshot, outcome: JobOutcome) -> None:
        """Take note of what a job's status should be."""
        key = outcome.key
        self.unsettled.pop(key, None)
        if not self._is_settled(snapshot, key, outcome):
            self.unsettled[key] = None

    def _is_settled(self, snapshot: Snapshot, key: str, outcome: JobOutcome) -> bool:
        """Queue the status of a job where one is to be written; False where that may be so later."""
        job = snapshot.jobs.get(key)
        if not outcome.changed or job is None or job.spec.implicit or job.spec.native is not None:
            self.workqueue.discard(key)
            return True
        growing = is_growing(job, outcome, snapshot.now)
        if growing:
            outcome = replace(outcome, conditions=tuple(c for c in outcome.conditions if c.kind != UNSCHEDULABLE))
        written = self._written.get(key)
        if written is not None and written.uid != job.spec.uid:
            self.forget(key)  # another PodGroup has taken the name, as where a vcjob is restarted
            written = None
        before = written.content if written is not None else spoken_by(job.spec)
        unconfirmed = _is_unconfirmed(job, outcome, before)
        if unconfirmed:
            outcome = replace(outcome, conditions=before.conditions)
        content = content_of(outcome)
        if (
            written is not None
            and written.content == content
            and self._clock.monotonic() < written.at + self._settings.repeat_seconds
        ):
            self.workqueue.discard(key)
            return False
        if growing and content.phase == before.phase:
            return False  # what it lacks is said once no more pods come
        on_its_way = _on_its_way(outcome)
        waiting = self.workqueue.get(key)
        if unconfirmed and waiting is None and content.phase == before.phase:
            return False  # that it is scheduled is said once that is certain
        # What waits already may be a phase, which the mirror takes for written: that is never called back.
        if waiting is None and written is None and self._may_look_yet() and _loses_advice(content, before):
            return False
        if on_its_way and waiting is not None and not _on_its_way(waiting.outcome):
            self.workqueue.discard(key)  # once only: what is on its way already keeps its place
        since_seconds = inf if written is None else self._clock.monotonic() - written.at
        wait_seconds = self._wait_seconds(content, before, since_seconds, on_its_way=on_its_way)
        wait_seconds = self._statuses.wait_seconds(key, wait_seconds)
        alone = job.spec.made and len(job.tasks) == 1
        due = DueStatus(outcome, job.spec.uid, job.spec.conditions, alone)
        return self.workqueue.put(key, due, wait_seconds, yields=_only_tells(outcome, before))

    def forget(self, key: str) -> None:
        """This job is gone: nothing is to be written of it, and nothing to be known."""
        self.unsettled.pop(key, None)
        self.workqueue.discard(key)
        self._written.pop(key, None)
        self._statuses.forget(key)

    def _may_look_yet(self) -> bool:
        """Whether this daemon, new as it is, may only not have found again what would help."""
        if self._began is None:
            self._began = self._clock.monotonic()
        return self._clock.monotonic() < self._began + self._settings.inherited_seconds

    def _wait_seconds(
        self, content: StatusContent, before: StatusContent, since_seconds: float, *, on_its_way: bool
    ) -> float:
        """How long a status waits for further changes; the object was written ``since_seconds`` ago."""
        settings = self._settings
        if content.phase != before.phase and not on_its_way:
            return settings.phase_seconds
        if content.without_messages() != before.without_messages() or _adds_advice(content, before):
            return settings.grace_seconds
        soon_seconds = max(settings.grace_seconds, settings.overtaken_seconds - since_seconds)
        spread_seconds = len(self.workqueue) / settings.rewords_per_second
        if _gives_old_advice(content, before):
            return soon_seconds  # only of so many jobs as changes are searched for
        if _gives_other_reason(content, before):
            return max(soon_seconds, spread_seconds)
        return max(settings.reword_seconds, spread_seconds)

    async def _write(self, key: str, due: DueStatus) -> None:
        outcome = due.outcome
        conditions = podgroup_conditions(outcome.conditions, self._clock.now(), hexadecimal(32))
        try:
            answer = await self._statuses.send(
                lambda subresource: podgroup_write(outcome, due.uid, conditions, subresource)
            )
        finally:
            self.unsettled[key] = None
        if answer.done:
            self._written[key] = WrittenStatus(content_of(outcome), self._clock.monotonic(), due.uid)
            self._say(due)
        self._events.refused(podgroup_reference(key, due.uid), "status", answer)
        self._statuses.answered(key, answer)

    def _say(self, due: DueStatus) -> None:
        reference = podgroup_reference(due.outcome.key, due.uid)
        for condition in due.outcome.conditions:
            severity = SAYS.get(condition.kind)
            if severity is None or (severity == NORMAL and due.alone):
                continue
            if condition.status == "True" and condition not in due.known:
                message = condition.message or condition.reason
                self._events.record(
                    reference,
                    severity,
                    condition.kind,
                    message,
                    cause=due.outcome.code,
                    again=_says_again(condition, due.known),
                )

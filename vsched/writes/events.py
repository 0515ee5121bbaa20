"""Events on objects, within a budget. An Event that happens again raises the count of the first one.

An Event costs the API server as much as a binding, so Events are dropped first under load. Normal Events have the
smaller part of the budget. Dropped Events are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import msgspec
from cachetools import LRUCache

from vsched.clock import Clock
from vsched.handlers import Handlers
from vsched.kube.paths import is_name
from vsched.randomness import hexadecimal
from vsched.writes.bodies import ObjectReference, event_count, event_create
from vsched.writes.limits import Attempts, TokenBucket
from vsched.writes.precedence import Precedence
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Writer, WriteResult, refusal_of

NORMAL, WARNING = "Normal", "Warning"
_FAILED = {"POST": "FailedCreate", "DELETE": "FailedDelete"}
_NUMBER = re.compile(r"\d+")


class EventSettings(msgspec.Struct, frozen=True):
    """The budget of Events."""

    component: str = "vsched"
    """The Event's source."""
    per_second: float = 50.0
    burst: float = 200.0
    workers: int = 4
    limit: int = 5_000
    """How many Events may wait."""
    repeat_seconds: float = 10.0
    """Repeats of a known Event are gathered for so long before its count is written."""
    reword_seconds: float = 300.0
    """An Event with a cause is updated with its count and newest message at this interval, so that it never expires."""
    remembered: int = 10_000
    """How many Events are remembered; a repeat of an older one creates a new Event."""
    attempts: Attempts = Attempts(2, first_seconds=0.2, ceiling_seconds=2.0)


class EventKey(NamedTuple):
    """Two Events with the same key are one Event that happened twice."""

    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    cause: str
    """The message, or a word that stays the same while numbers in the message change."""


class Occurrence(msgspec.Struct, frozen=True):
    """What to write, and how often it happened since the last write."""

    about: ObjectReference
    severity: str
    message: str
    times: int = 1
    once: bool = False


class KnownEvent(NamedTuple):
    """An Event that exists, with its count and message as last written."""

    name: str
    times: int
    message: str
    at: float
    """When it was last written, by the monotonic clock."""
    unsaid: int = 0
    """How often it has happened since."""


def without_numbers(message: str) -> str:
    """The cause of an Event whose messages differ in numbers alone."""
    return _NUMBER.sub("", message)


class EventRecorder:
    """Accepts Events at any rate and writes them within the budget."""

    def __init__(
        self, writer: Writer, settings: EventSettings, clock: Clock, precedence: Precedence | None = None
    ) -> None:
        self._writer = writer
        self._settings = settings
        self._clock = clock
        self._known: LRUCache[EventKey, KnownEvent] = LRUCache(settings.remembered)
        self._spare = TokenBucket(settings.per_second / 2, settings.burst / 4)
        bounds = WorkqueueSettings(settings.workers, settings.per_second, settings.burst, settings.limit)
        self.workqueue: Workqueue[EventKey, Occurrence] = Workqueue(bounds, self._write, precedence=precedence)
        self.dropped: Counter[str] = Counter()
        """Events that were not written, by reason."""
        self.on_refused: Handlers[...] = Handlers()
        """Called with a warning about a write that was refused: a sentence, and fields."""

    def record(
        self,
        about: ObjectReference,
        severity: str,
        reason: str,
        message: str,
        *,
        cause: str = "",
        once: bool = False,
        again: bool = False,
    ) -> None:
        """Record an Event about an object, within the budget; one that can happen only ``once`` is not remembered.

        Events with the same ``cause`` and other words are one Event, which is updated now and then. ``again`` says
        that the object's condition already says the same but for numbers: the daemon before this one made the Event.
        """
        if about.namespace and not is_name(about.namespace):  # nor could an Event be in it
            self.dropped[reason] += 1
            return
        if severity == NORMAL and not self._spare.try_take():
            self.dropped[reason] += 1
            return
        key = EventKey(about.kind, about.namespace, about.name, about.uid, reason, cause or message)
        waiting, known = self.workqueue.get(key), self._known.get(key)
        if again and waiting is None and known is None:
            return
        if cause and known and self._clock.monotonic() - known.at < self._settings.reword_seconds:
            self._known[key] = known._replace(unsaid=known.unsaid + 1)
            return
        occurrence = Occurrence(about, severity, message, 1 if waiting is None else waiting.times + 1, once)
        wait_seconds = self._settings.repeat_seconds if known else 0.0
        if not self.workqueue.put(key, occurrence, wait_seconds, yields=True):
            self.dropped[reason] += 1

    def refused(self, about: ObjectReference, what: str, answer: WriteResult, method: str = "PATCH") -> None:
        """Record on the object that waits for a write of ``what`` (kind, name) why that came to nothing, if it did."""
        why = refusal_of(answer, method)
        if not why:
            return
        reason = _FAILED.get(method, "FailedUpdate")
        cause = f"{what.partition(' ')[0]}: {without_numbers(why)}"
        key = EventKey(about.kind, about.namespace, about.name, about.uid, reason, cause)
        if key not in self._known and self.workqueue.get(key) is None:
            waits = f"{about.kind} {about.namespace}/{about.name}".replace(" /", " ")
            self.on_refused("write refused", what=what, waits=waits, code=answer.code, problem=why)
        self.record(about, WARNING, reason, f"{what}: {why}", cause=cause)

    def withdraw(self, about: ObjectReference, reason: str, cause: str) -> None:
        """What an Event was to say is no longer so: if it still waits, nobody needs it."""
        key = EventKey(about.kind, about.namespace, about.name, about.uid, reason, cause)
        waiting = self.workqueue.get(key)
        if waiting is not None:
            self.workqueue.discard(key)
            self.dropped[reason] += waiting.times

    async def _write(self, key: EventKey, occurrence: Occurrence) -> None:
        if self._writer.is_leaving(key.namespace):
            self.dropped[key.reason] += occurrence.times
            return
        known = self._known.get(key)
        if known is not None and await self._count(key, known, occurrence):
            return
        about = key.name[:230] if is_name(key.name) else "unnamed"
        name = f"{about}.{hexadecimal(16)}"
        write = event_create(
            occurrence.about,
            name,
            occurrence.severity,
            key.reason,
            occurrence.message,
            self._settings.component,
            occurrence.times,
            self._clock.now(),
        )
        answer = await self._writer.send(write, self._settings.attempts)
        if answer.done:
            if not occurrence.once:
                self._known[key] = KnownEvent(name, occurrence.times, occurrence.message, self._clock.monotonic())
        else:
            self.dropped[key.reason] += occurrence.times

    async def _count(self, key: EventKey, known: KnownEvent, occurrence: Occurrence) -> bool:
        """Raise the count of an Event that exists, with the newest message; False where it has expired."""
        count = known.times + known.unsaid + occurrence.times
        news = occurrence.message if occurrence.message != known.message else None
        write = event_count(key.namespace, known.name, count, self._clock.now(), news)
        answer = await self._writer.send(write, self._settings.attempts)
        if answer.done:
            self._known[key] = KnownEvent(known.name, count, occurrence.message, self._clock.monotonic())
            return True
        self._known.pop(key, None)
        return answer.code != 404

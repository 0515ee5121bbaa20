"""Carries out the effects of arbitration: creates, updates and deletes Consumers, Allocations and Bucket statuses.

It is level-triggered: every round states all effects again, from what the watch shows. So a write that is refused
because of a newer version is dropped, and the next round decides on that version. Until the watch shows a write, rounds
still decide on the old version. This is recognised by the version, so nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from cachetools import LRUCache, TTLCache

from vsched.arbitrator.effects import DropAllocation, Effect, MakeConsumer, Remark, WriteAllocation, WriteStatus
from vsched.clock import monotonic
from vsched.controllers import words
from vsched.controllers.allocation_bodies import (
    ALLOCATION,
    CONSUMER,
    about,
    allocation_create,
    allocation_delete,
    consumer_create,
    spec_write,
    status_write,
)
from vsched.kube.backoff import BackOff, BackOffSettings
from vsched.model.arbitration.records import DEFAULT_CONSUMER, Arbitration
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import NOT_PERMITTED, Writer, WriteResult

Key = tuple[str, str, str]
"""Kind, namespace, name."""
Change = MakeConsumer | WriteAllocation | DropAllocation | WriteStatus
"""An effect that changes an object."""
Worry = Callable[..., None]
"""Logs a warning: a sentence, and fields."""


class AllocationSettings(msgspec.Struct, frozen=True):
    """Limits and backoff of writes about Consumers, Allocations and Buckets."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=8, per_second=100.0, burst=200.0)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)
    retry: BackOffSettings = BackOffSettings(first_seconds=0.5, ceiling_seconds=60.0)
    """Backoff after writes that failed for other reasons than an outdated version."""
    unseen_seconds: float = 2.0
    """How long the watch may take to show a write before it is sent again, which is harmless."""
    remembered: int = 50_000
    """For how many objects the last write is remembered."""


class AllocationWriter:
    """Takes effects in every round and writes each object once, with the latest content."""

    def __init__(
        self,
        writer: Writer,
        events: EventRecorder,
        worry: Worry,
        settings: AllocationSettings | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._writer = writer
        self._events = events
        self._worry = worry
        self._settings = settings or AllocationSettings()
        self._clock = clock
        self._sent: TTLCache[Key, str] = TTLCache(self._settings.remembered, self._settings.unseen_seconds, clock)
        """The version that each recent write was decided on (``mark_of``); the watch may not show the write yet."""
        self._made: set[Key] = set()
        """Objects that were created and that no round has seen yet."""
        self._said: LRUCache[tuple[Key, str], tuple[str, str]] = LRUCache(self._settings.remembered)
        """The last Event by object and reason: the version it was decided on, and its message."""
        self._back_offs: LRUCache[Key, tuple[BackOff, float]] = LRUCache(self._settings.remembered)
        """Backoff of objects with failed writes, with the time of the next attempt."""
        self._worried: set[tuple[str, int]] = set()
        """Failures already logged, as (kind, code), until a write of that kind succeeds."""
        self.workqueue: Workqueue[Key, Change] = Workqueue(self._settings.workqueue, self._write, clock)

    async def run(self) -> None:
        """Write submitted effects until cancelled."""
        await self.workqueue.run()

    async def drain(self, deadline_seconds: float) -> int:
        """Write what is queued now; returns how many writes are left at the deadline."""
        return await self.workqueue.drain(deadline_seconds)

    def submit(self, effects: Iterable[Effect], arbitration: Arbitration) -> None:
        """Queue the effects of one round, which was decided on ``arbitration``."""
        self._look_for_made(arbitration)
        marks: dict[Key, str] = {}
        remarks: list[Remark] = []
        for effect in effects:
            if isinstance(effect, Remark):
                remarks.append(effect)
                continue
            key, mark = key_of(effect), mark_of(effect)
            marks[key] = mark
            if not self._is_under_way(key, mark) and not self._is_held_off(key):
                self.workqueue.put(key, effect)
        for remark in remarks:
            self._say(remark, marks.get((remark.kind, remark.namespace, remark.name), ""))

    def _look_for_made(self, arbitration: Arbitration) -> None:
        """Forget created objects once the round has seen them, so that later changes to them are written again."""
        for key in [key for key in self._made if _is_seen(key, arbitration)]:
            self._made.discard(key)
            if self._sent.get(key) == "":
                self._sent.pop(key, None)

    def _is_under_way(self, key: Key, mark: str) -> bool:
        """Whether a write decided on the same version was sent already and is not shown by the watch yet."""
        return self._sent.get(key) == mark

    def _is_held_off(self, key: Key) -> bool:
        failed = self._back_offs.get(key)
        return failed is not None and self._clock() < failed[1]

    def _say(self, remark: Remark, mark: str) -> None:
        """Record an Event, only once for all rounds that see the same version of the object."""
        key = (remark.kind, remark.namespace, remark.name)
        said = (mark, remark.message)
        if mark and self._said.get((key, remark.reason)) == said:
            return
        self._said[key, remark.reason] = said
        severity = WARNING if remark.warning else NORMAL
        self._events.record(about(*key, remark.uid), severity, remark.reason, remark.message)

    # -- writing

    async def _write(self, key: Key, change: Change) -> None:
        mark = mark_of(change)
        if self._is_under_way(key, mark):
            return  # asked for again while it was being written
        answer = await self._carry_out(change)
        if answer.code == NOT_PERMITTED:
            return
        if answer.done or _is_old_news(answer):
            self._back_offs.pop(key, None)
            self._sent[key] = mark
            if not mark and answer.code != 404:
                self._made.add(key)
            self._worried = {failure for failure in self._worried if failure[0] != key[0]}
        else:
            self._failed(key, answer)

    async def _carry_out(self, change: Change) -> WriteResult:
        attempts = self._settings.attempts
        match change:
            case MakeConsumer():
                return await self._writer.send(consumer_create(change), attempts)
            case DropAllocation():
                return await self._writer.send(allocation_delete(change), attempts)
            case WriteStatus():
                write = status_write(change.kind, change.namespace, change.name, change.version, change.status)
                return await self._writer.send(write, attempts)
            case WriteAllocation():
                return await self._write_allocation(change)

    async def _write_allocation(self, change: WriteAllocation) -> WriteResult:
        """Write the spec, then the status over the version that results."""
        attempts, version = self._settings.attempts, change.version
        target = (ALLOCATION, change.namespace, change.name)
        answer = WriteResult(200)
        if change.spec is not None:
            write = spec_write(*target, version, change.spec) if change.uid else allocation_create(change)
            answer = await self._writer.send(write, attempts)
            if not answer.done:
                return answer
            version = answer.resource_version or ""
        if change.status is not None:
            answer = await self._writer.send(status_write(*target, version, change.status), attempts)
        return answer

    def _failed(self, key: Key, answer: WriteResult) -> None:
        """Back off from the object, and log the failure once."""
        back_off, _ = self._back_offs.get(key) or (BackOff(self._settings.retry), 0.0)
        self._back_offs[key] = (back_off, self._clock() + back_off.next_seconds(answer.asked_seconds))
        kind, namespace, name = key
        if (kind, answer.code) not in self._worried:
            self._worried.add((kind, answer.code))
            where = f"{namespace}/{name}" if namespace else name
            self._worry(words.CANNOT_BE_WRITTEN, kind=kind, name=where, code=answer.code, problem=answer.message)


def key_of(change: Change) -> Key:
    """The object that an effect is about."""
    match change:
        case MakeConsumer():
            return (CONSUMER, change.namespace, DEFAULT_CONSUMER)
        case WriteStatus():
            return (change.kind, change.namespace, change.name)
        case _:
            return (ALLOCATION, change.namespace, change.name)


def mark_of(change: Change) -> str:
    """The version of the object that an effect was decided on; empty if the object is to be created."""
    match change:
        case MakeConsumer():
            return ""
        case DropAllocation():
            return f"without {change.uid}"
        case _:
            return change.version


def _is_old_news(answer: WriteResult) -> bool:
    """Whether an answer means that the object has changed, exists already or is gone, or that its namespace is."""
    return answer.code in (404, 409) or answer.namespace_ends


def _is_seen(key: Key, arbitration: Arbitration) -> bool:
    """Whether a created object has been seen, or its namespace is gone."""
    kind, namespace, name = key
    party = arbitration.parties.get(namespace)
    if party is None:
        return True
    if kind == ALLOCATION:
        return any(record.name == name for record in party.allocations)
    claims = (party.claim, *party.idle_claims)
    return any(claim is not None and claim.name == name for claim in claims)

"""Bindings that lock their node before: of those of one node, each waits until the device plugin has served the last.

Device plugins look for the pod that is about to start on their node. Where there are two, a plugin may give the devices
of one to the other. So whoever binds a pod locks its node before, as Volcano and HAMi do it: by an annotation with the
time. The device plugin removes it once the pod has its devices. A lock that is five minutes old counts no more.

Where a binding fails, its lock is removed at once. A pod that waits for too long is not bound, so that it may go
elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
import orjson

from vsched.api.base import ApiObject
from vsched.api.resources import NODES
from vsched.clock import Clock
from vsched.errors import UNREADABLE, Unavailable
from vsched.kube.client import MERGE_PATCH, ApiClient
from vsched.kube.errors import ApiError
from vsched.kube.lease.record import micro_time
from vsched.model.deviceshare.records import NPU_LOCK
from vsched.model.plan import Bind
from vsched.together import together
from vsched.writes import words
from vsched.writes.bindings import BindOutcome, Dispatcher, DispatchSettings, Notes, Outcome, no_notes
from vsched.writes.limits import Attempts
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import NOT_PERMITTED, Write, Writer

ONCE = Attempts(1)


class LockSettings(msgspec.Struct, frozen=True):
    """Bounds of waiting for locks."""

    patience_seconds: float = 60.0
    """How long a pod waits for its turn before its binding fails, so that it may go elsewhere."""
    look_seconds: float = 0.25
    """How long after a look the next one follows; it doubles as long as nothing changes."""
    look_most_seconds: float = 2.0
    nodes_at_once: int = 16


class WaitingBinding(NamedTuple):
    """A binding that waits for its turn."""

    bind: Bind
    since: float
    """On the steady clock."""


class LockingDispatcher(Dispatcher):
    """Sends bindings; those that lock their node go in the order in which they came, node by node."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        on_outcome: Callable[[Outcome], None],
        settings: DispatchSettings,
        clock: Clock,
        notes: Notes = no_notes,
        locks: LockSettings | None = None,
    ) -> None:
        super().__init__(client, writer, on_outcome, settings, notes)
        self._clock = clock
        self._locks = locks or LockSettings()
        self._turns: Workqueue[str, float] = Workqueue(WorkqueueSettings(self._locks.nodes_at_once), self._turn)
        """By node: how long to wait after the next look in vain."""
        self._waiting: dict[str, dict[str, WaitingBinding]] = {}
        """By node, then by uid."""
        self._node_of: dict[str, str] = {}
        """By uid."""

    def _submit(self, item: Bind) -> None:
        self._forget(item.uid)
        if item.lock and not self._closed:
            self._open[item.uid] = item
            self._waiting.setdefault(item.node, {})[item.uid] = WaitingBinding(item, self._clock.monotonic())
            self._node_of[item.uid] = item.node
            self._turns.put(item.node, self._locks.look_seconds)
        else:
            super()._submit(item)

    @property
    def depth(self) -> int:
        """How many wait for a worker, or for their turn."""
        return super().depth + len(self._node_of)

    @property
    def in_flight(self) -> int:
        """How many are at work."""
        return super().in_flight + self._turns.in_flight

    @property
    def busy(self) -> bool:
        """Whether anything waits or is in flight."""
        return super().busy or bool(self._node_of or self._turns.in_flight)

    async def run(self) -> None:
        """Send what is submitted, until cancelled."""
        await together(super().run(), self._turns.run())

    async def drain(self, deadline_seconds: float) -> int:
        """Take nothing new, and wait for what is queued and in flight; what waits for its turn is dropped."""
        waiting = [one.bind for some in self._waiting.values() for one in some.values()]
        self._waiting.clear()
        self._node_of.clear()
        for bind in waiting:
            self._drop(bind, words.STOPPING)
        return sum(await together(super().drain(deadline_seconds), self._turns.drain(deadline_seconds)))

    def _forget(self, uid: str) -> None:
        """A pod waits no more."""
        node = self._node_of.pop(uid, None)
        if node is not None:
            some = self._waiting[node]
            del some[uid]
            if not some:
                del self._waiting[node]

    async def _turn(self, node: str, wait_seconds: float) -> None:
        """Bind the first pod that waits for a node, if its lock can be had."""
        first = next(iter(self._waiting.get(node, {}).values()), None)
        if first is None:
            return
        bind, settings = first.bind, self._locks
        value = lock_value(bind, self._clock.now())
        why = await self._taken(bind, value)
        if why is None:
            if self._node_of.get(bind.uid) != node:  # it was taken back in the meantime
                await self._release(bind, value)
            else:
                self._forget(bind.uid)
                if not await self._bind(bind):
                    await self._release(bind, value)
            wait_seconds = settings.look_seconds
        elif self._node_of.get(bind.uid) == node and self._clock.monotonic() - first.since > settings.patience_seconds:
            self._forget(bind.uid)
            self._on_outcome(Outcome(bind, BindOutcome.REFUSED, message=why))
        if node in self._waiting:
            self._turns.retry(node, min(2 * wait_seconds, settings.look_most_seconds), wait_seconds)

    async def _taken(self, bind: Bind, value: str) -> str | None:
        """Take the lock; returns why that cannot be done now."""
        why = ""
        for _ in range(self._attempts.count):
            found = await self._read(bind.node, bind.lock)
            if isinstance(found, str):
                return found
            if why and found.value == value:  # it was written, and the answer was lost
                return None
            if not found.is_free(self._clock.now()):
                return words.node_is_locked(bind.lock, found.value)
            answer = await self._writer.send(lock_write(bind.node, bind.lock, value, found.version), ONCE)
            if answer.done or answer.code == NOT_PERMITTED:  # without a permit, the binding is not sent either
                return None
            why = words.node_cannot_be_locked(answer.message)
        return why

    async def _release(self, bind: Bind, value: str) -> None:
        """Remove a lock that was taken in vain. Where that fails, it ends by itself."""
        for _ in range(self._attempts.count):
            found = await self._read(bind.node, bind.lock)
            if not isinstance(found, str):
                if found.value != value:
                    return
                answer = await self._writer.send(lock_write(bind.node, bind.lock, None, found.version), ONCE)
                if answer.done or answer.code == NOT_PERMITTED:
                    return
            await asyncio.sleep(self._locks.look_seconds)

    async def _read(self, node: str, lock: str) -> NodeLock | str:
        """The lock as it is; or why it cannot be read."""
        try:
            answer = await self._client.request("GET", NODES.path(name=node))
            return lock_in(answer.body, lock)
        except (ApiError, Unavailable) as error:
            return words.node_cannot_be_read(error)
        except UNREADABLE:
            return words.NO_NODE


LOCK_SECONDS = 300.0
"""How long a lock counts, as in Volcano and HAMi."""


class NodeLock(msgspec.Struct, frozen=True):
    """A lock of a node as it was read."""

    version: str
    """The resourceVersion of the node."""
    value: str = ""
    """Empty where nobody holds it."""

    def is_free(self, now: float) -> bool:
        """Whether it may be taken: nobody holds it, it is too old, or it says no time that can be."""
        since = _time_of(self.value)
        return since is None or abs(now - since) > LOCK_SECONDS


def _time_of(value: str) -> float | None:
    """When a lock was taken; None where that cannot be read."""
    try:
        found = datetime.fromisoformat(value.partition(",")[0])
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def lock_value(bind: Bind, now: float) -> str:
    """What the annotation says: the time, and for HAMi's lock the pod."""
    stamp = micro_time(datetime.fromtimestamp(now, UTC))
    return f"{stamp},{bind.namespace},{bind.name}" if bind.lock == NPU_LOCK else stamp


def lock_write(node: str, lock: str, value: str | None, version: str) -> Write:
    """Take a lock, or remove it (``value`` is None), if the node is still as it was read."""
    body = {"metadata": {"resourceVersion": version, "annotations": {lock: value}}}
    return Write("node", "PATCH", NODES.path(name=node), orjson.dumps(body), MERGE_PATCH)


def lock_in(node: bytes, lock: str) -> NodeLock:
    """A lock of a node as the API server answers; raises one of ``UNREADABLE``."""
    metadata = msgspec.json.decode(node, type=ApiObject).metadata
    return NodeLock(metadata.resource_version, (metadata.annotations or {}).get(lock, ""))

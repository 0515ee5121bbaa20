"""Writes the statuses of HyperNodes: how many nodes they have, and whether their tree can be used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from vsched.api.resources import HYPERNODES
from vsched.clock import Clock
from vsched.kernels.topology.standing import Standing, standings
from vsched.kube.times import time_stamp
from vsched.mirror.ingest.hypernodes import ShownStatus
from vsched.model.nodes.table import NodeStatics
from vsched.model.snapshot import Snapshot
from vsched.model.topology.hypernodes import TopologyCatalogue
from vsched.writes import words
from vsched.writes.bodies import ObjectReference, hypernode_write
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.status.writer import OnStatusWritten, StatusWriter
from vsched.writes.unexpected import Unexpected
from vsched.writes.workqueue import Workqueue, WorkqueueSettings
from vsched.writes.writer import Writer

READY = "Ready"
"""The type of the condition."""
USABLE, BROKEN = "TreeUsable", "TreeBroken"
"""Its reasons. ``BROKEN`` is also that of the Event."""
MESSAGE_MAX = 1024


class HyperNodeStatusSettings(msgspec.Struct, frozen=True):
    """When a HyperNode's status is written."""

    grace_seconds: float = 1.0
    """Changes wait this long for further changes."""
    repeat_seconds: float = 30.0
    """The same status is written again after this time at the earliest, where the object shows another one."""
    retry_ceiling_seconds: float = 60.0
    workqueue: WorkqueueSettings = WorkqueueSettings(workers=4, per_second=50.0, burst=100.0)
    attempts: Attempts = Attempts(4, first_seconds=0.1, ceiling_seconds=2.0)


class HyperNodeContent(NamedTuple):
    """What is written to one object."""

    nodes: int | None
    """None where nobody can say: the object then shows no number."""
    usable: bool
    message: str


class _Noted(NamedTuple):
    """What a session saw."""

    catalogue: TopologyCatalogue
    statics: NodeStatics
    statuses_seen: int


class HyperNodeMirror(Protocol):
    """What is asked of the mirror."""

    uids: dict[str, str]
    statuses_seen: int

    @property
    def shown(self) -> Mapping[str, ShownStatus]: ...


class HyperNodeStatuses:
    """Compares what HyperNodes show with what they should show, beside the cycle, and writes the differences."""

    def __init__(
        self,
        writer: Writer,
        events: EventRecorder,
        settings: HyperNodeStatusSettings,
        clock: Clock,
        on_written: OnStatusWritten,
        mirror: HyperNodeMirror,
    ) -> None:
        self._statuses = StatusWriter(
            "HyperNode", HYPERNODES, writer, None, settings.attempts, settings.retry_ceiling_seconds, on_written
        )
        self._events = events
        self._settings = settings
        self._clock = clock
        self._mirror = mirror
        self._latest: _Noted | None = None
        self._due = asyncio.Event()
        self._asked: dict[str, tuple[HyperNodeContent, float]] = {}
        """What was last put in the workqueue for each HyperNode, and when by the monotonic clock."""
        self.workqueue: Workqueue[str, HyperNodeContent] = Workqueue(settings.workqueue, self._write)

    def submit(self, snapshot: Snapshot) -> None:
        """Note the HyperNodes and nodes of a session; it costs nothing while none of them changes."""
        if not self._mirror.uids and not self._asked:
            return
        latest = _Noted(snapshot.topology, snapshot.nodes.statics, self._mirror.statuses_seen)
        if self._latest is None or latest != self._latest:  # the first two are compared by identity
            self._due.set()
        self._latest = latest

    async def run(self) -> None:
        """Look at what was noted, until cancelled; not more often than once in ``grace_seconds``."""
        while True:
            await self._due.wait()
            await asyncio.sleep(self._settings.grace_seconds)
            self._due.clear()
            with Unexpected(words.HYPERNODES_CANNOT_BE_WRITTEN):
                await self._look()

    async def _look(self) -> None:
        latest = self._latest
        if latest is None:
            return
        found = await asyncio.to_thread(standings, latest.catalogue, latest.statics)
        for name, standing in found.items():
            if name in self._mirror.uids:
                self._compare(name, content_of(standing))
        for name in self._asked.keys() - found.keys():
            self._forget(name)

    def _compare(self, name: str, content: HyperNodeContent) -> None:
        if says(self._mirror.shown.get(name, ShownStatus()), content):
            self.workqueue.discard(name)
            return
        now = self._clock.monotonic()
        asked = self._asked.get(name)
        wait_seconds = self._statuses.wait_seconds(name)
        if asked is not None and asked[0] == content:
            if self.workqueue.get(name) is not None:
                return
            wait_seconds = max(wait_seconds, asked[1] + self._settings.repeat_seconds - now)
        elif not content.usable and not _said_before(self._mirror.shown.get(name), content):
            about = ObjectReference(HYPERNODES.api_version, "HyperNode", "", name, self._mirror.uids[name])
            self._events.record(about, WARNING, BROKEN, content.message)
        self._asked[name] = (content, now)
        self.workqueue.put(name, content, max(0.0, wait_seconds))

    def _forget(self, name: str) -> None:
        self.workqueue.discard(name)
        self._asked.pop(name, None)
        self._statuses.forget(name)

    async def _write(self, name: str, content: HyperNodeContent) -> None:
        shown, uid = self._mirror.shown.get(name), self._mirror.uids.get(name)
        if shown is None or uid is None or says(shown, content):
            return
        conditions = conditions_of(shown, content, self._clock.now())
        answer = await self._statuses.send(lambda _: hypernode_write(name, uid, content.nodes, conditions))
        self._statuses.answered(name, answer)
        if not answer.done:
            self.workqueue.retry(name, content, self._statuses.wait_seconds(name))


def content_of(standing: Standing) -> HyperNodeContent:
    """What the status of a HyperNode should say."""
    message = standing.problem or standing.missing
    if len(message) > MESSAGE_MAX:
        message = f"{message[: MESSAGE_MAX - 1]}…"
    return HyperNodeContent(standing.nodes, not standing.problem, message)


def says(shown: ShownStatus, content: HyperNodeContent) -> bool:
    """Whether an object already shows this."""
    ready = _ready_in(shown)
    return (
        ready is not None
        and shown.nodes == content.nodes
        and (ready.get("status"), ready.get("reason"), ready.get("message")) == _words(content)
    )


def conditions_of(shown: ShownStatus, content: HyperNodeContent, now: float) -> list[dict[str, Any]]:
    """The conditions of an object with ours among them; those of others stay as they are."""
    status, reason, message = _words(content)
    before = _ready_in(shown) or {}
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    ready = {
        "type": READY,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or time_stamp(now),
    }
    return [*(each for each in shown.conditions if each.get("type") != READY), ready]


def _words(content: HyperNodeContent) -> tuple[str, str, str]:
    return ("True", USABLE, content.message) if content.usable else ("False", BROKEN, content.message)


def _ready_in(shown: ShownStatus) -> dict[str, Any] | None:
    return next((each for each in shown.conditions if each.get("type") == READY), None)


def _said_before(shown: ShownStatus | None, content: HyperNodeContent) -> bool:
    """Whether the object shows the same fault, so that an earlier daemon has told of it."""
    ready = None if shown is None else _ready_in(shown)
    return ready is not None and ready.get("status") == "False" and ready.get("message") == content.message

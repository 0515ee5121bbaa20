"""Tells the owners of objects that cannot be used: an Event on the object, and a condition where it is a PodGroup.

An object that is left out stops nothing else; without this, nobody would know why it is ignored. Where only an
annotation cannot be used, the Event says what follows from that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from cachetools import LRUCache

from vsched.clock import Clock
from vsched.kube.paths import is_name
from vsched.mirror.problems import Broken
from vsched.mirror.resources import PODGROUPS, RESOURCES
from vsched.writes.bodies import Reference, podgroup_complaint
from vsched.writes.unexpected import tell
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.served_resources import Served
from vsched.writes.status_writer import StatusWriter
from vsched.writes.writer import Writer

LOOK_SECONDS = 1.0
ATTEMPTS = Attempts(2, first_seconds=0.2, ceiling_seconds=2.0)


class Complaints:
    """Says once of each broken object what is wrong with it, and again when that changes."""

    def __init__(
        self,
        broken: Callable[[], Iterable[Broken]],
        writer: Writer,
        served: Served,
        events: EventRecorder,
        clock: Clock,
    ) -> None:
        self._broken = broken
        self._statuses = StatusWriter("PodGroup", PODGROUPS, writer, served, ATTEMPTS)
        self._events = events
        self._clock = clock
        self._told: LRUCache[tuple[str, str, str, str], str] = LRUCache(10_000)

    async def run(self) -> None:
        """Look for new ones now and then, until cancelled."""
        while True:
            for broken in list(self._broken()):
                try:
                    await self._tell(broken)
                except Exception as error:  # of one object: the owners of all others are to hear as well
                    tell(error, f"nobody is told what is wrong with {broken.kind} {broken.name[:60]!a}")
            await asyncio.sleep(LOOK_SECONDS)

    async def _tell(self, broken: Broken) -> None:
        identity = (broken.kind, broken.namespace, broken.name, broken.uid)
        if not broken.name or self._told.get(identity) == broken.message:
            return
        self._told[identity] = broken.message
        about = Reference(RESOURCES[broken.kind].api_version, broken.kind, broken.namespace, broken.name, broken.uid)
        self._events.record(about, WARNING, broken.reason, broken.message)
        can_be_written = is_name(broken.name) and is_name(broken.namespace)
        if broken.kind == "PodGroup" and broken.left_out and can_be_written:
            await self._mark(broken)

    async def _mark(self, broken: Broken) -> None:
        key, now = f"{broken.namespace}/{broken.name}", self._clock.now()
        # Where that fails, the Event says the same.
        await self._statuses.send(
            lambda subresource: podgroup_complaint(key, broken.reason, broken.message, now, subresource)
        )

"""Events on objects that cannot be used, and a condition where the object is a PodGroup.

The mirror leaves such an object out and goes on; the Event tells its owner why. Where only an annotation cannot be
used, the Event says what follows from that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from cachetools import LRUCache

from vsched.api.resources import PODGROUPS
from vsched.clock import Clock
from vsched.kube.paths import is_name
from vsched.mirror.problems import Problem
from vsched.writes import words
from vsched.writes.bodies import ObjectReference, podgroup_unusable
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.status.writer import ServedResources, StatusWriter
from vsched.writes.unexpected import Unexpected
from vsched.writes.writer import Writer

LOOK_SECONDS = 1.0
ATTEMPTS = Attempts(2, first_seconds=0.2, ceiling_seconds=2.0)


class ObjectEvents:
    """Reports each problem once, and again when it changes."""

    def __init__(
        self,
        problem: Callable[[], Iterable[Problem]],
        writer: Writer,
        served: ServedResources,
        events: EventRecorder,
        clock: Clock,
        api_version: Callable[[str], str],
    ) -> None:
        """``api_version`` gives that of a kind by its name in the mirror."""
        self._problems = problem
        self._statuses = StatusWriter("PodGroup", PODGROUPS, writer, served, ATTEMPTS)
        self._events = events
        self._clock = clock
        self._api_version = api_version
        self._reported: LRUCache[tuple[str, ...], str] = LRUCache(10_000)

    async def run(self) -> None:
        """Look for new problems every second, until cancelled."""
        while True:
            for problem in list(self._problems()):
                with Unexpected(words.no_event(problem.kind, problem.name[:60])):
                    await self._report(problem)
            await asyncio.sleep(LOOK_SECONDS)

    async def _report(self, problem: Problem) -> None:
        identity = (problem.kind, problem.namespace, problem.name, problem.uid, problem.reason)
        if not problem.name or self._reported.get(identity) == problem.message:
            return
        self._reported[identity] = problem.message
        kind = problem.kind.partition(".")[0]  # the name of a kind with a group after it
        about = ObjectReference(self._api_version(problem.kind), kind, problem.namespace, problem.name, problem.uid)
        self._events.record(about, WARNING, problem.reason, problem.message)
        can_be_written = is_name(problem.name) and is_name(problem.namespace)
        if problem.kind == "PodGroup" and problem.left_out and can_be_written:
            await self._mark(problem)

    async def _mark(self, problem: Problem) -> None:
        key, now = f"{problem.namespace}/{problem.name}", self._clock.now()
        # Where that fails, the Event says the same.
        await self._statuses.send(
            lambda subresource: podgroup_unusable(key, problem.uid, problem.reason, problem.message, now, subresource)
        )

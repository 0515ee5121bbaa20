"""Carries placements out: one POST of a binding a pod, many in flight, and the outcome back by callback.

Decides nothing and keeps no copy of the mirror. A success is only confirmed by the watch; every other outcome tells
the mirror to forget the placement.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum

import msgspec
import orjson

from vsched.errors import why_unreadable
from vsched.mirror.resources import PODS
from vsched.model.plan import Bind
from vsched.writes.containment import tell
from vsched.writes.limits import Attempts
from vsched.writes.writer import NO_ANSWER, NOT_PERMITTED, RETRIED, UNSENT, Write, Writer, WriteResult

_ASSIGNED = re.compile(r'is already assigned to node "([^"]*)"')


class BindOutcome(StrEnum):
    """What became of a placement."""

    BOUND = "bound"
    GONE = "gone"
    """The pod is no more."""
    REFUSED = "refused"
    """The API server will not have it: another node, another uid, a gate, bad content."""
    GAVE_UP = "gave-up"
    """No usable answer after all attempts."""
    DROPPED = "dropped"
    """Never sent: the queue was full, or the process is on its way out or may not write."""


class Outcome(msgspec.Struct, frozen=True):
    """A placement and what became of it."""

    bind: Bind
    verdict: BindOutcome
    code: int = NO_ANSWER
    message: str = ""
    seconds: float = 0.0
    found_done: bool = False
    """The first thing the API server said was that the pod has this node already."""

    @property
    def bound(self) -> bool:
        return self.verdict is BindOutcome.BOUND


class DispatchSettings(msgspec.Struct, frozen=True):
    """Bounds of the dispatcher."""

    max_in_flight: int = 32
    """Requests on the wire at once; beyond 64 one client process only gets slower."""
    queue_limit: int = 100_000
    """Placements waiting to be sent; what a cycle decides beyond it is forgotten and decided again."""
    attempts: Attempts = Attempts(4, first_seconds=0.05, ceiling_seconds=1.0)


def binding_write(bind: Bind) -> Write:
    """The request that binds a pod; the uid keeps it from binding a newer pod of the same name."""
    body = orjson.dumps(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": bind.name, "namespace": bind.namespace, "uid": bind.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
        }
    )
    return Write("binding", "POST", PODS.path(bind.namespace, bind.name, "binding"), body)


def judge(bind: Bind, answer: WriteResult) -> BindOutcome:
    """What an answer means for a placement."""
    if answer.done:
        return BindOutcome.BOUND
    if answer.code == 409:
        # A repeat after a lost answer finds its own work done.
        assigned = _ASSIGNED.search(answer.message)
        return BindOutcome.BOUND if assigned and assigned[1] == bind.node else BindOutcome.REFUSED
    if answer.code == 404:
        return BindOutcome.GONE
    if answer.code == NOT_PERMITTED:
        return BindOutcome.DROPPED
    return BindOutcome.GAVE_UP if answer.code in RETRIED else BindOutcome.REFUSED


class Dispatcher:
    """A bounded queue of placements and the workers that send them."""

    def __init__(self, writer: Writer, on_outcome: Callable[[Outcome], None], settings: DispatchSettings) -> None:
        self._writer = writer
        self._on_outcome = on_outcome
        self._settings = settings
        self._queue: deque[Bind] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self.in_flight = 0
        """Placements a worker has in hand, waits between attempts included."""

    @property
    def depth(self) -> int:
        """Placements waiting for a worker."""
        return len(self._queue)

    @property
    def busy(self) -> bool:
        """Whether anything is queued or in flight."""
        return bool(self._queue or self.in_flight)

    def submit(self, binds: Iterable[Bind]) -> None:
        """Queue placements in order; those that find no room are dropped at once, with an outcome."""
        for bind in binds:
            if self._closed or len(self._queue) >= self._settings.queue_limit:
                self._on_outcome(Outcome(bind, BindOutcome.DROPPED, message="the queue of bindings is full or closed"))
            else:
                self._queue.append(bind)
        if self._queue:
            self._idle.clear()
            self._wake.set()

    async def run(self) -> None:
        """Send what is submitted, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._settings.max_in_flight):
                group.create_task(self._work(), name=f"bind-{number}")

    async def _work(self) -> None:
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            await self._carry_out(self._queue.popleft())

    async def _carry_out(self, bind: Bind) -> None:
        self.in_flight += 1
        try:
            answer = await self._writer.send(binding_write(bind), self._settings.attempts)
        except Exception as error:  # what one pod holds must not keep all the others from being placed
            tell(error, f"the binding of {bind.namespace}/{bind.name} is dropped")
            answer = WriteResult(UNSENT, f"not sent: {why_unreadable(error)}")
        finally:
            self.in_flight -= 1
        verdict = judge(bind, answer)
        found_done = verdict is BindOutcome.BOUND and not answer.done and answer.attempts == 1
        self._on_outcome(Outcome(bind, verdict, answer.code, answer.message, answer.seconds, found_done))
        if not self.busy:
            self._idle.set()

    async def drain(self, deadline_seconds: float) -> int:
        """Take nothing new, wait for what is queued and in flight; drops and counts what is left at the deadline."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_seconds):
                await self._idle.wait()
        left = list(self._queue)
        self._queue.clear()
        for bind in left:
            self._on_outcome(Outcome(bind, BindOutcome.DROPPED, message="the scheduler is stopping"))
        return len(left) + self.in_flight

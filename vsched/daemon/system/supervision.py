"""Reports to a service manager that the daemon is ready and alive, and its status.

Signs of life come from the event loop, so there are none while the loop or the sessions are stuck.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from vsched.clock import Clock
from vsched.daemon.system.notify import LONGEST_STATUS, Notifier
from vsched.daemon.words import log as words

BEAT_SECONDS = 1.0
STATUS_SECONDS = 5.0
"""Between two updates of the status line."""
PATIENCE_SECONDS = 30.0
"""The extension of the start-up limit that a daemon asks for while it is not ready."""
RELOAD_SECONDS = 2.0
"""A reload counts as finished after this long, even without a new reading."""
QUICK_BEAT_SECONDS = 0.05
"""Between beats while the service manager waits for readiness or for a reload."""


class Watched(NamedTuple):
    """Questions about a daemon; each must be answered at once."""

    ready: Callable[[], bool]
    alive: Callable[[], bool]
    status: Callable[[], str]
    reading: Callable[[], object]
    """The last reading of the policy: a new object for each reading."""


class Supervision:
    """Reports to a service manager as long as the daemon runs."""

    def __init__(self, notifier: Notifier, watched: Watched, clock: Clock, worry: Callable[..., None]) -> None:
        self._notifier = notifier
        self._watched = watched
        self._clock = clock
        self._worry = worry
        self._ready = self._stopping = False
        self._status = ""
        self._status_due = 0.0
        self._reload_until: float | None = None
        self._reading: object = None
        self._problem = ""
        self._hurry = asyncio.Event()
        watchdog_seconds = notifier.watchdog_seconds
        self._calm_seconds = min(BEAT_SECONDS, watchdog_seconds / 4) if watchdog_seconds else BEAT_SECONDS
        self._sign_due = 0.0

    async def run(self) -> None:
        """Beat until cancelled; returns at once without a service manager."""
        while self._notifier.listens:
            self.beat()
            waited_for = not self._ready or self._reload_until is not None
            with suppress(TimeoutError):
                async with asyncio.timeout(QUICK_BEAT_SECONDS if waited_for else self._calm_seconds):
                    await self._hurry.wait()
            self._hurry.clear()

    def beat(self) -> None:
        """Report what is due."""
        facts: dict[str, object] = {}
        if self._reload_until is not None:
            facts |= self._reloaded()
        elif not self._ready and self._watched.ready():
            self._ready = True
            # A one-file executable has a process that unpacks and one that works; signals are for the latter.
            facts |= {"READY": 1, "MAINPID": os.getpid()}
            self._status_due = 0.0
        self._tell(**facts, **self._signs(), **self._news())

    def reloading(self) -> None:
        """The policy is about to be read again; the service manager waits for that."""
        if not self._ready or self._stopping:
            return
        self._reading = self._watched.reading()
        self._reload_until = self._clock.monotonic() + RELOAD_SECONDS
        self._hurry.set()
        self._tell(RELOADING=1, MONOTONIC_USEC=int(self._clock.monotonic() * 1e6))

    def stopping(self) -> None:
        """The daemon is about to end."""
        if not self._stopping:
            self._stopping = True
            self._reload_until = None
            self._tell(STOPPING=1, STATUS="stopping")

    def _reloaded(self) -> dict[str, object]:
        assert self._reload_until is not None
        over = self._clock.monotonic() >= self._reload_until
        if not over and self._watched.reading() is self._reading:
            return {}
        self._reload_until = None
        self._status_due = 0.0
        return {"READY": 1}

    def _signs(self) -> dict[str, object]:
        """A sign of life, if it is time for one."""
        now = self._clock.monotonic()
        if now < self._sign_due or not self._watched.alive():
            return {}
        # Half the interval of beats, so that a beat that comes a moment early still has a sign of life.
        self._sign_due = now + self._calm_seconds / 2
        signs: dict[str, object] = {}
        if not self._ready and not self._stopping:
            signs["EXTEND_TIMEOUT_USEC"] = int(PATIENCE_SECONDS * 1e6)
        if self._notifier.watchdog_seconds:
            signs["WATCHDOG"] = 1
        return signs

    def _news(self) -> dict[str, object]:
        """The status line, if it is time and it has changed."""
        now = self._clock.monotonic()
        if now < self._status_due or self._stopping:
            return {}
        self._status_due = now + STATUS_SECONDS
        status = self._watched.status()[:LONGEST_STATUS]
        if status == self._status:
            return {}
        self._status = status
        return {"STATUS": status}

    def _tell(self, **facts: object) -> None:
        if not facts:
            return
        problem = self._notifier.tell(**facts)
        if problem and problem != self._problem:
            self._worry(words.CANNOT_NOTIFY, problem=problem)
        self._problem = problem


@asynccontextmanager
async def supervised(supervision: Supervision) -> AsyncIterator[Supervision]:
    """Report while the block runs, and then that it stops."""
    beating = asyncio.create_task(supervision.run(), name="service manager")
    try:
        yield supervision
    finally:
        supervision.stopping()
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating

"""The snapshot service: freezes the next session for those who ask. It costs nothing while nobody asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from vsched.daemon.words import states as words
from vsched.errors import Unavailable
from vsched.framework.policy import Policy
from vsched.model.dump.cycle import ExternalCall
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.snapshots import DECIDING, LEADER, STARTING, FrozenSnapshot, idle_of

PATIENCE_SECONDS = 10.0
"""How long to wait for a session: long ones take a second, and one may be under way."""


class SnapshotService:
    """Gives the next session to everybody who waits for one."""

    def __init__(
        self,
        pull: Callable[[], None],
        role: Callable[[], str] = lambda: LEADER,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._pull = pull
        """Starts a session soon."""
        self._role = role
        """The role of this daemon: one that is not the leader has no sessions, so nobody waits for one."""
        self._patience_seconds = patience_seconds
        self._waiting: list[asyncio.Future[FrozenSnapshot]] = []
        self._number = 0
        self._heard: tuple[tuple[ExternalCall, ...], int] = ((), 0)
        self._fails = False
        """Whether the last session ended in an error."""
        self.at_rest = threading.Event()
        """Set while no session is under way. Other threads with long work wait for it now and then."""
        self.at_rest.set()

    @property
    def number(self) -> int:
        """The number of the session that started last, from 1 on."""
        return self._number

    @property
    def waiting(self) -> int:
        """How many wait for a session to start."""
        return len(self._waiting)

    async def look(self, *, urgent: bool = True) -> FrozenSnapshot:
        """The next session that starts, at once if ``urgent``; raises Unavailable where none ends in time."""
        if self._role() not in (*DECIDING, STARTING):
            raise Unavailable(idle_of(self._role()))
        awaited: asyncio.Future[FrozenSnapshot] = asyncio.get_running_loop().create_future()
        self._waiting.append(awaited)
        if urgent:
            self._pull()
        try:
            async with asyncio.timeout(self._patience_seconds):
                return await awaited
        except TimeoutError:
            raise Unavailable(self._why_none()) from None
        finally:
            if awaited in self._waiting:
                self._waiting.remove(awaited)

    def _why_none(self) -> str:
        if idle := idle_of(self._role()):
            return idle
        why = words.SESSIONS_FAIL if self._fails else words.SESSION_IS_SLOW
        return words.no_session(self._patience_seconds, why)

    def begin(self) -> list[asyncio.Future[FrozenSnapshot]]:
        """A session starts; returns those who wait for it."""
        self._number += 1
        self._heard = ((), 0)
        self.at_rest.clear()
        asked, self._waiting = self._waiting, []
        return asked

    async def end(
        self, asked: list[asyncio.Future[FrozenSnapshot]], snapshot: Snapshot, policy: Policy, report: CycleReport
    ) -> None:
        """The session has decided. Await this before the mirror makes its next snapshot."""
        self.at_rest.set()
        self._fails = False
        if not asked:
            return
        frozen = await self.capture(snapshot, policy, report)
        for awaited in asked:
            if not awaited.done():
                awaited.set_result(frozen)

    async def capture(self, snapshot: Snapshot, policy: Policy, report: CycleReport) -> FrozenSnapshot:
        """The session that has just decided. Await this before the mirror makes its next snapshot."""
        frozen = await asyncio.to_thread(freeze, snapshot)
        return FrozenSnapshot(frozen, policy, report, self._number, *self._heard)

    def hear(self, calls: tuple[ExternalCall, ...], unrecorded: int) -> None:
        """Answers of external services during the session, and how many more there were that are not kept."""
        self._heard = (calls, unrecorded)

    def fail(self, asked: list[asyncio.Future[FrozenSnapshot]]) -> None:
        """The session ended in an error: those who wait for it get the next one."""
        self.at_rest.set()
        self._fails = True
        left = [awaited for awaited in asked if not awaited.done()]
        if left:
            self._waiting += left
            self._pull()

"""Sights of sessions for those who ask: the next session is frozen for them, and nobody pays while nobody asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from vsched.errors import Unavailable
from vsched.framework.policy import Policy
from vsched.model.dump import Call
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.snapshots import LEADER, STARTING, FrozenSnapshot, idle_of

PATIENCE_SECONDS = 10.0
"""How long is waited for a session: long ones take a second, and one may be under way."""


class SnapshotService:
    """Hands the next session to everybody who waits for one."""

    def __init__(
        self,
        pull: Callable[[], None],
        role: Callable[[], str] = lambda: LEADER,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._pull = pull
        """Has a session start soon."""
        self._role = role
        """What this daemon is: where others decide, nobody is made to wait for a session that never comes."""
        self._patience_seconds = patience_seconds
        self._waiting: list[asyncio.Future[FrozenSnapshot]] = []
        self._number = 0
        self._heard: tuple[tuple[Call, ...], int] = ((), 0)
        self._fails = False
        """Whether the last session that ended came to nothing."""
        self.at_rest = threading.Event()
        """Set while no session is under way: other threads that take long wait for it now and then."""
        self.at_rest.set()

    @property
    def waiting(self) -> int:
        """How many wait for a session to start."""
        return len(self._waiting)

    async def look(self, *, urgent: bool = True) -> FrozenSnapshot:
        """A session that starts from now on, at once where it is urgent; raises Unavailable where none ends in time."""
        if self._role() not in (LEADER, STARTING):
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
        why = "its sessions end in errors: see its log" if self._fails else "one takes long: see its log"
        return f"no session within {self._patience_seconds:g} s ({why})"

    def begin(self) -> list[asyncio.Future[FrozenSnapshot]]:
        """A session starts: those who have asked until now are to have it."""
        self._number += 1
        self._heard = ((), 0)
        self.at_rest.clear()
        asked, self._waiting = self._waiting, []
        return asked

    async def end(
        self, asked: list[asyncio.Future[FrozenSnapshot]], snapshot: Snapshot, policy: Policy, report: CycleReport
    ) -> None:
        """The session has decided; to be awaited before the mirror makes its next snapshot."""
        self.at_rest.set()
        self._fails = False
        if not asked:
            return
        sight = self.sight(await asyncio.to_thread(freeze, snapshot), policy, report)
        for awaited in asked:
            if not awaited.done():
                awaited.set_result(sight)

    def sight(self, frozen: Snapshot, policy: Policy, report: CycleReport) -> FrozenSnapshot:
        """The session that has just decided."""
        return FrozenSnapshot(frozen, policy, report, self._number, *self._heard)

    def hear(self, calls: tuple[Call, ...], unrecorded: int) -> None:
        """What services outside answered in the course of the session, and how many answers are not among these."""
        self._heard = (calls, unrecorded)

    def fail(self, asked: list[asyncio.Future[FrozenSnapshot]]) -> None:
        """The session came to nothing: they are to have the next one."""
        self.at_rest.set()
        self._fails = True
        left = [awaited for awaited in asked if not awaited.done()]
        if left:
            self._waiting += left
            self._pull()

"""Records cycles in which something looked wrong, so that people can fetch them and run them again.

Recorded are errors, wasted evictions, sessions without progress, and decisions that violate a rule. Otherwise only
sessions that evict have a cost: their snapshots are kept in memory until it is known whether the beneficiaries were
placed.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from vsched.clock import Clock
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.stalling import TRIES, Stalling
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.words import log as words
from vsched.daemon.words import states as states_words
from vsched.framework.policy import Policy
from vsched.model.dump.cycle import Recording, pack
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.metrics.counters import KEPT
from vsched.web.pages.recording import Whose, error_text, recording_of
from vsched.web.pages.recording_ring import RecordingRing, StoredRecording
from vsched.web.snapshots import FrozenSnapshot

EXCEPTION, NO_PROGRESS, USELESS, LOOP, VIOLATION = KEPT
REST_SECONDS = 60.0
"""Between two recordings for the same reason."""
MOST_HELD = 8
"""How many evicting sessions are kept in memory while it is open whether their evictions were wasted."""
GIVE_WAY_SECONDS = 0.05
"""Packing gives way to a session for so long at most, before each piece."""
MOST_WAITING = 4
"""How many recordings may wait to be packed."""


class EvictingSession(NamedTuple):
    """A session that evicted, with its beneficiaries."""

    frozen: FrozenSnapshot
    takings: frozenset[tuple[str, str]]
    """Pairs of a beneficiary and a node that pods were evicted from for it."""


class Recorder:
    """Decides what is recorded, and packs it between sessions."""

    def __init__(
        self,
        most: int,
        snapshots: SnapshotService,
        whose: Whose,
        clock: Clock,
        telemetry: Telemetry,
        binding_tries: int = TRIES,
    ) -> None:
        self.ring = RecordingRing(most)
        self._on = most > 0
        self._snapshots = snapshots
        self._whose = whose
        self._clock = clock
        self._telemetry = telemetry
        self._stalling = Stalling(binding_tries)
        self._held: list[EvictingSession] = []
        self._rest_until: dict[str, float] = {}
        """By reason: the monotonic time before which nothing more is recorded for it."""
        self._early: list[tuple[str, str]] = []
        """Loops told while their session was still being handed over: who took, and what is said of it."""
        self._packing: asyncio.Queue[Recording] = asyncio.Queue(MOST_WAITING)
        telemetry.on_useless.add(self.useless)
        telemetry.on_loop.add(self.looped)

    @property
    def held(self) -> int:
        """How many evicting sessions are kept in memory."""
        return len(self._held)

    async def died(self, snapshot: Snapshot, policy: Policy, error: Exception) -> None:
        """A cycle ended in an error. Await this before the mirror makes its next snapshot."""
        text = error_text(error)
        if self._wants(EXCEPTION, text):
            frozen = await self._snapshots.capture(snapshot, policy, CycleReport())
            self._keep(frozen, EXCEPTION, text, error=text)

    async def decided(self, snapshot: Snapshot, policy: Policy, report: CycleReport) -> None:
        """A session has decided. Await this before the mirror makes its next snapshot."""
        if not self._on:
            return
        if self._held:
            self._held = [held for held in self._held if self._is_open(held)]
        says = self._stalling.see(report, self._clock.monotonic())
        stalled = bool(says) and self._wants(NO_PROGRESS, says)
        takings = (
            frozenset((one.beneficiary, one.node) for one in report.evictions) if report.evictions else frozenset()
        )
        followed = any(self._telemetry.follows(beneficiary) for beneficiary, _ in takings)
        early, self._early = self._early, []
        if not stalled and not (followed and len(self._held) < MOST_HELD):
            return
        frozen = await self._snapshots.capture(snapshot, policy, report)
        if stalled:
            self._keep(frozen, NO_PROGRESS, says)
        if followed and len(self._held) < MOST_HELD:
            self._held.append(EvictingSession(frozen, takings))
            for taker, says in (*early, *self._early):
                self._loop(taker, says)

    def useless(self, beneficiary: str, node: str) -> None:
        """Evictions from this node for this beneficiary were wasted."""
        says = states_words.left_for_nothing(node, beneficiary)
        found = next((held for held in self._held if (beneficiary, node) in held.takings), None)
        if found is not None and self._wants(USELESS, says):
            self._keep(found.frozen, USELESS, says)

    def violated(self, frozen: FrozenSnapshot, says: str) -> None:
        """A session decided something that violates a rule."""
        if self._wants(VIOLATION, says):
            self._keep(frozen, VIOLATION, says)

    def looped(self, taker: str, victim: str) -> None:
        """A job took from one that had taken from it before."""
        says = states_words.evict_each_other(taker, victim)
        if not self._loop(taker, says) and len(self._early) < MOST_HELD:
            self._early.append((taker, says))

    def _loop(self, taker: str, says: str) -> bool:
        """Record the last session in which the job took something; whether there is one."""
        holds = (held for held in reversed(self._held) if any(beneficiary == taker for beneficiary, _ in held.takings))
        found = next(holds, None)
        if found is not None and self._wants(LOOP, says):
            self._keep(found.frozen, LOOP, says)
        return found is not None

    async def run(self) -> None:
        """Pack recordings, one at a time, until cancelled."""
        while True:
            recording = await self._packing.get()
            try:
                data = await asyncio.to_thread(pack, recording, self._give_way)
            except Exception as error:  # scheduling goes on without the recording
                self._telemetry.worry(words.NOT_RECORDED, number=recording.head.number, problem=error_text(error))
                continue
            if self.ring.put(StoredRecording(recording.head, data)):
                self._telemetry.kept(recording.head, len(data))
            else:
                self._telemetry.worry(words.TOO_LARGE, number=recording.head.number, bytes=len(data))

    def _give_way(self) -> None:
        """Wait a little while for a session that is under way."""
        self._snapshots.at_rest.wait(GIVE_WAY_SECONDS)

    def _is_open(self, held: EvictingSession) -> bool:
        """Whether evictions of the session are still followed."""
        return any(self._telemetry.follows(beneficiary) for beneficiary, _ in held.takings)

    def _wants(self, why: str, says: str) -> bool:
        """Whether to record: not the same again, and not too soon after another for the same reason."""
        now = self._clock.monotonic()
        if not self._on or self.ring.again(why, says, self._clock.now()) or now < self._rest_until.get(why, now):
            return False
        return not self._packing.full()

    def _keep(self, frozen: FrozenSnapshot, why: str, says: str, error: str = "") -> None:
        self._rest_until[why] = self._clock.monotonic() + REST_SECONDS
        self._packing.put_nowait(recording_of(frozen, self._whose, why=why, says=says, error=error))

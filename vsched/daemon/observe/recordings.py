"""Keeps cycles in which something looked wrong, to be fetched and run again.

What does: an error, evictions in vain, and sessions that decide and come to nothing. While nothing does, only sessions
that evict cost anything: their snapshots are held until it is known whether whoever they evicted for was placed.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from vsched.clock import Clock
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.stalling import TRIES, Stalling
from vsched.daemon.observe.telemetry import Telemetry
from vsched.framework.policy import Policy
from vsched.model.dump import Recording, pack
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.metrics.counters import KEPT
from vsched.web.pages.recording import Whose, error_text, recording_of
from vsched.web.pages.recording_ring import Kept, Ring
from vsched.web.snapshots import FrozenSnapshot

EXCEPTION, NO_PROGRESS, USELESS = KEPT
REST_SECONDS = 60.0
"""Between two cycles that are kept for the same reason: one tells most of what a thousand would."""
MOST_HELD = 8
"""Sessions that evicted and are held; further ones are not, until one of these is known to have been right."""
GIVE_WAY_SECONDS = 0.05
"""Each piece of a recording waits for sessions so long at most."""
MOST_WAITING = 4
"""Cycles that wait to be packed."""


class Held(NamedTuple):
    """A session that evicted, and whom for."""

    sight: FrozenSnapshot
    takings: frozenset[tuple[str, str]]
    """Beneficiaries, and the nodes that pods were to leave for them."""


class Recorder:
    """Decides what is kept, and packs it between other work."""

    def __init__(
        self,
        most: int,
        lookout: SnapshotService,
        whose: Whose,
        clock: Clock,
        telemetry: Telemetry,
        binding_tries: int = TRIES,
    ) -> None:
        self.ring = Ring(most)
        self._on = most > 0
        self._lookout = lookout
        self._whose = whose
        self._clock = clock
        self._telemetry = telemetry
        self._stalling = Stalling(binding_tries)
        self._held: list[Held] = []
        self._rest_until: dict[str, float] = {}
        """By reason, on the steady clock."""
        self._packing: asyncio.Queue[Recording] = asyncio.Queue(MOST_WAITING)
        telemetry.on_useless = self.useless

    @property
    def held(self) -> int:
        """How many sessions are held for now."""
        return len(self._held)

    async def died(self, snapshot: Snapshot, policy: Policy, error: Exception) -> None:
        """Deciding ended in an error; to be awaited before the mirror makes its next snapshot."""
        text = error_text(error)
        if self._wants(EXCEPTION, text):
            sight = await self._sight(snapshot, policy, CycleReport())
            self._keep(sight, EXCEPTION, text, error=text)

    async def decided(self, snapshot: Snapshot, policy: Policy, report: CycleReport) -> None:
        """A session has decided and was told of; to be awaited before the mirror makes its next snapshot."""
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
        if not stalled and not (followed and len(self._held) < MOST_HELD):
            return
        sight = await self._sight(snapshot, policy, report)
        if stalled:
            self._keep(sight, NO_PROGRESS, says)
        if followed and len(self._held) < MOST_HELD:
            self._held.append(Held(sight, takings))

    def useless(self, beneficiary: str, node: str) -> None:
        """Pods left this node for somebody who was not placed."""
        says = f"pods left node {node} for {beneficiary}, which was not placed"
        found = next((held for held in self._held if (beneficiary, node) in held.takings), None)
        if found is not None and self._wants(USELESS, says):
            self._keep(found.sight, USELESS, says)

    async def run(self) -> None:
        """Pack what is to be kept, one at a time, until cancelled."""
        while True:
            recording = await self._packing.get()
            try:
                data = await asyncio.to_thread(pack, recording, self._give_way)
            except Exception as error:  # what is kept to find faults must not be one: scheduling goes on without it
                self._telemetry.worry("cycle not kept", number=recording.head.number, problem=error_text(error))
                continue
            if self.ring.put(Kept(recording.head, data)):
                self._telemetry.kept(recording.head, len(data))
            else:
                self._telemetry.worry("cycle not kept: too large", number=recording.head.number, bytes=len(data))

    def _give_way(self) -> None:
        """Let a session go first that is under way, for a little while."""
        self._lookout.at_rest.wait(GIVE_WAY_SECONDS)

    def _is_open(self, held: Held) -> bool:
        """Whether it is not known yet what became of all whom it evicted for."""
        return any(self._telemetry.follows(beneficiary) for beneficiary, _ in held.takings)

    def _wants(self, why: str, says: str) -> bool:
        """Whether it is to be kept; what is kept already, and what comes right after, is not."""
        now = self._clock.monotonic()
        if not self._on or self.ring.again(why, says, self._clock.now()) or now < self._rest_until.get(why, now):
            return False
        return not self._packing.full()

    async def _sight(self, snapshot: Snapshot, policy: Policy, report: CycleReport) -> FrozenSnapshot:
        return self._lookout.sight(await asyncio.to_thread(freeze, snapshot), policy, report)

    def _keep(self, sight: FrozenSnapshot, why: str, says: str, error: str = "") -> None:
        self._rest_until[why] = self._clock.monotonic() + REST_SECONDS
        self._packing.put_nowait(recording_of(sight, self._whose, why=why, says=says, error=error))

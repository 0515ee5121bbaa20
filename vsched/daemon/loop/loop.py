"""The spine: one session after another, and the order of everything in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from vsched.clock import Clock
from vsched.controllers.gates import GateKeeper
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry, Timing
from vsched.daemon.triggers import Reason, Trigger
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.kube.backoff import doubled
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.snapshots import FrozenSnapshot
from vsched.writes.bindings import Dispatcher
from vsched.writes.evictions import Evictor
from vsched.writes.writeback import Writeback

Decide = Callable[[Snapshot, Policy, Trace], CycleReport]

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
"""Waits after sessions that failed: doubling between these."""

PLUGINS_MEASURED_EVERY = 10
"""In every tenth session, from the first on, the time of each plugin is measured: doing so costs time itself."""


class SessionMirror(Protocol):
    """What the spine needs of the mirror."""

    def snapshot(self, now: float) -> Snapshot: ...

    def assume(self, report: CycleReport) -> None: ...


class Arbitrating(Protocol):
    """What the spine needs of the arbitrator."""

    async def arbitrate(self, snapshot: Snapshot) -> Snapshot:
        """Divide the cluster among namespaces if it is time to, and limit what sessions may place; never raises."""
        ...


class Recording(Protocol):
    """What the spine needs of whoever keeps cycles in which something looks wrong; it is asked before the next one."""

    async def decided(self, snapshot: Snapshot, policy: Policy, report: CycleReport) -> None: ...

    async def died(self, snapshot: Snapshot, policy: Policy, error: Exception) -> None: ...


@dataclass(frozen=True, slots=True)
class Hands:
    """Everything a session passes through, in this order."""

    mirror: SessionMirror
    decide: Decide
    policy: Callable[[], Policy]
    evictor: Evictor
    dispatcher: Dispatcher
    writeback: Writeback
    telemetry: Telemetry
    lookout: SnapshotService
    arbiter: Arbitrating | None = None
    """None where nobody arbitrates. Goes before everything else."""
    gates: GateKeeper | None = None
    """None where nobody opens the gates of queues."""
    recorder: Recording | None = None
    """None where nothing is kept."""


class Loop:
    """Runs sessions, one at a time, until told to stop."""

    def __init__(
        self,
        hands: Hands,
        trigger: Trigger,
        clock: Clock,
        turned: Callable[[], None],
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self._hands = hands
        self._trigger = trigger
        self._clock = clock
        self._turned = turned
        self._first_pause_seconds = first_pause_seconds
        self._stopping = False
        self._numbers = count()

    def stop(self) -> None:
        """Start no further session."""
        self._stopping = True
        self._trigger.pull()

    async def run(self) -> None:
        """Sessions whenever the trigger says so; an error in one is told and slept over, not died of."""
        failures, busy_seconds = 0, 0.0
        while True:
            reason = await self._trigger.next(busy_seconds)
            if self._stopping:
                return
            self._turned()
            try:
                busy_seconds = await self._session(reason)
                failures = 0
            except Exception as error:  # the supervisor: one bad session must not end scheduling
                failures += 1
                pause_seconds = doubled(self._first_pause_seconds, LONGEST_PAUSE_SECONDS, failures)
                self._hands.telemetry.session_failed(error, pause_seconds)
                await asyncio.sleep(pause_seconds)
            self._turned()

    async def _session(self, reason: Reason) -> float:
        """One session; returns the seconds it took."""
        asked = self._hands.lookout.begin()
        try:
            return await self._decide(reason, asked)
        except BaseException:
            self._hands.lookout.fail(asked)
            raise

    async def _decide(self, reason: Reason, asked: list[asyncio.Future[FrozenSnapshot]]) -> float:
        hands = self._hands
        began = time.perf_counter()
        snapshot = hands.mirror.snapshot(self._clock.now())
        frozen = time.perf_counter()
        if hands.arbiter is not None:
            snapshot = await hands.arbiter.arbitrate(snapshot)
        agreed = time.perf_counter()
        trace = Trace(time.perf_counter, plugins=next(self._numbers) % PLUGINS_MEASURED_EVERY == 0)
        policy = hands.policy()
        report = await self._decided(snapshot, policy, trace)
        decided = time.perf_counter()
        hands.mirror.assume(report)
        hands.evictor.submit(report.evictions)
        hands.dispatcher.submit(report.binds)
        if hands.gates is not None:
            hands.gates.submit(report.ungated)
        hands.writeback.submit(report, snapshot)
        ended = time.perf_counter()
        hands.telemetry.tell(snapshot, report, Timing(reason, frozen - began, decided - agreed, ended - decided))
        await hands.lookout.end(asked, snapshot, policy, report)
        if hands.recorder is not None:
            await hands.recorder.decided(snapshot, policy, report)
        return ended - began

    async def _decided(self, snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        """What the cycle decides, in a thread of its own; a cycle that dies is kept."""
        try:
            return await asyncio.to_thread(self._hands.decide, snapshot, policy, trace)
        except Exception as error:
            if self._hands.recorder is not None:
                await self._hands.recorder.died(snapshot, policy, error)
            raise

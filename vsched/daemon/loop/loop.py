"""The main loop: one session after another, and the order of the steps in a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

from vsched.clock import Clock, perf_counter, thread_time
from vsched.daemon.loop.short_cycles import ShortCycles
from vsched.daemon.loop.silence import Silence
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry, Timing
from vsched.daemon.observe.work_trace import WorkTrace
from vsched.daemon.triggers import Reason, Trigger
from vsched.daemon.words import log as words
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.kube.backoff import doubled
from vsched.kube.watch.bounds import LoopTurns
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.snapshots import FrozenSnapshot

Decide = Callable[[Snapshot, Policy, Trace], CycleReport]

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
"""The wait after a session that failed; it doubles up to the longest."""

SLICE_SECONDS = 0.005
"""How long a session works on the mirror before others have their turn."""
PREPARATIONS = 4
"""A snapshot is prepared so often at most."""
DUE_SLACK_SECONDS = 0.01
"""Timers may fire a little early by the clock of snapshots."""

MEASURED_EVERY, MEASURED_SECONDS = 10, 5.0
"""The time of each plugin is measured in one session of so many, and in one in so many seconds, at most: measuring
takes as long as what is measured."""


class SessionMirror(Protocol):
    """What the loop needs of the mirror."""

    def preparing(self) -> Iterator[None]:
        """Much of the work of the next snapshot, in steps; other tasks may run between them."""
        ...

    def snapshot(self, now: float) -> Snapshot: ...


class Arbitrating(Protocol):
    """What the loop needs of the arbitrator."""

    async def arbitrate(self, snapshot: Snapshot) -> Snapshot:
        """Divide the cluster among namespaces if it is time to, and limit what sessions may place; never raises."""
        ...


class CycleRecorder(Protocol):
    """What the loop needs of the recorder of cycles; awaited before the next session."""

    async def decided(self, snapshot: Snapshot, policy: Policy, report: CycleReport) -> None: ...

    async def died(self, snapshot: Snapshot, policy: Policy, error: Exception) -> None: ...


class SessionObserver(Protocol):
    """What else hears of each session."""

    def begin(self, number: int, seconds: float) -> None:
        """The session of this number, which began so long ago, is about to decide by the policy in force."""
        ...

    def deciding(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """Take in what it has decided, in steps, before it is sent."""
        ...

    def ended(self, report: CycleReport, timing: Timing) -> None:
        """It has handed over what it decided."""
        ...


class Effects(Protocol):
    """What becomes of decisions. Steps are taken one after the other, and other tasks may run between them."""

    def assuming(self, report: CycleReport) -> Iterator[None]:
        """Assume what was decided, before others hear of it."""
        ...

    def handing_over(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """Give each part what was decided for it."""
        ...

    def carried_out(self, report: CycleReport) -> CycleReport:
        """The report with those decisions that are carried out, which are counted and logged."""
        ...

    def session_failed(self, snapshot: Snapshot, error: Exception) -> None:
        """The cycle on this snapshot ended in an error."""
        ...


@dataclass(frozen=True, slots=True)
class SessionParts:
    """The parts that a session calls, in this order."""

    mirror: SessionMirror
    decide: Decide
    policy: Callable[[], Policy]
    effects: Effects
    telemetry: Telemetry
    snapshots: SnapshotService
    arbiter: Arbitrating | None = None
    """None without arbitration. It is called before everything else."""
    recorder: CycleRecorder | None = None
    """None without recordings."""
    observers: Sequence[SessionObserver] = ()
    """What else hears of each session: the audit log, traces."""
    work: WorkTrace | None = None
    """None where the cluster's work is not recorded."""


class Loop:
    """Runs sessions, one at a time, until told to stop."""

    def __init__(
        self,
        parts: SessionParts,
        trigger: Trigger,
        clock: Clock,
        turned: Callable[[], None],
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
        silence: Silence | None = None,
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_answer`` is called when the API server answers again after a silence; None never waits for it."""
        self._parts = parts
        self._trigger = trigger
        self._clock = clock
        self._turned = turned
        self._first_pause_seconds = first_pause_seconds
        self._silence = silence
        self._on_answer = on_answer
        self._is_silent = False
        """Whether the API server was silent when it was looked last."""
        self._stopping = False
        self._unmeasured, self._measured_at = MEASURED_EVERY, -inf
        """How many sessions there were since plugins were measured, and when that was."""
        self._short = ShortCycles()
        self._due = 0.0
        """When the last session's decisions may change by time alone, by the clock of snapshots; 0 for never."""

    def stop(self) -> None:
        """Start no further session."""
        self._stopping = True
        self._trigger.pull()
        if self._silence is not None:
            self._silence.wake()

    async def run(self) -> None:
        """Run a session whenever the trigger fires; after an error in one, report it, wait, and go on."""
        failures, busy_seconds = 0, 0.0
        while True:
            reason = await self._trigger.next(busy_seconds, self._due_seconds())
            if self._silence is not None:
                await self._listen(self._silence)
            if self._stopping:
                return
            self._turned()
            try:
                busy_seconds = await self._session(reason)
                failures = 0
            except Exception as error:  # one bad session must not end scheduling
                failures += 1
                pause_seconds = doubled(self._first_pause_seconds, LONGEST_PAUSE_SECONDS, failures)
                self._parts.telemetry.session_failed(error, pause_seconds)
                await asyncio.sleep(pause_seconds)
            self._turned()

    async def _listen(self, silence: Silence) -> None:
        """Wait as long as the API server is silent: what is decided could not be carried out, and would be decided
        over and over. Who looks on has a session all the same.
        """
        parts = self._parts
        while silence.lasts and not self._stopping:
            if not self._is_silent:
                self._is_silent = True
                parts.telemetry.worry(words.SESSIONS_PAUSED)
            if parts.snapshots.waiting:
                return
            self._turned()
            await silence.wait()
        if self._is_silent and not silence.lasts:
            self._is_silent = False
            parts.telemetry.note(words.SESSIONS_RESUME)
            self._on_answer()

    def _due_seconds(self) -> float:
        """After how long the next session is due by what the last one said."""
        return max(0.0, self._due - self._clock.now()) + DUE_SLACK_SECONDS if self._due else inf

    async def _session(self, reason: Reason) -> float:
        """One session; returns the seconds it took."""
        asked = self._parts.snapshots.begin()
        try:
            return await self._decide(reason, asked)
        except BaseException:
            self._parts.snapshots.fail(asked)
            raise

    async def _decide(self, reason: Reason, asked: list[asyncio.Future[FrozenSnapshot]]) -> float:
        parts = self._parts
        began = perf_counter()
        await prepare(parts.mirror.preparing)
        snapshot = parts.mirror.snapshot(self._clock.now())
        frozen = perf_counter()
        if parts.arbiter is not None:
            snapshot = await parts.arbiter.arbitrate(snapshot)
        agreed = perf_counter()
        trace = Trace(perf_counter, plugins=self._measures_plugins(agreed))
        policy = parts.policy()
        for each in parts.observers:
            each.begin(parts.snapshots.number, perf_counter() - began)
        report = await self._decided(snapshot, policy, trace)
        decided = perf_counter()
        self._due = report.due
        await in_slices(parts.effects.assuming(report))
        for each in parts.observers:  # before what is decided is sent: what becomes of it follows
            await in_slices(each.deciding(snapshot, report))
        await in_slices(parts.effects.handing_over(snapshot, report))
        ended = perf_counter()
        timing = Timing(reason, frozen - began, decided - agreed, ended - decided)
        for each in parts.observers:
            each.ended(report, timing)
        done = parts.effects.carried_out(report)
        await in_slices(parts.telemetry.telling(snapshot, done, timing))
        await parts.snapshots.end(asked, snapshot, policy, report)
        if parts.recorder is not None:
            await parts.recorder.decided(snapshot, policy, done)
        if parts.work is not None:
            await in_slices(parts.work.seeing(snapshot))
        return ended - began

    def _measures_plugins(self, now: float) -> bool:
        """Whether the session that begins measures the time of each plugin."""
        self._unmeasured += 1
        if self._unmeasured <= MEASURED_EVERY or now < self._measured_at + MEASURED_SECONDS:
            return False
        self._unmeasured, self._measured_at = 0, now
        return True

    async def _decided(self, snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        """The decisions of the cycle, made in a thread unless it is expected to be short.

        A cycle that ends in an error is told and recorded.
        """
        on_loop = self._short.expects(snapshot, policy)

        def decide() -> tuple[CycleReport, float]:
            began = thread_time()
            return self._parts.decide(snapshot, policy, trace), thread_time() - began

        try:
            report, seconds = decide() if on_loop else await asyncio.to_thread(decide)
            self._short.took(snapshot, seconds)
            return report
        except Exception as error:
            self._parts.effects.session_failed(snapshot, error)
            if self._parts.recorder is not None:
                await self._parts.recorder.died(snapshot, policy, error)
            raise


async def prepare(steps: Callable[[], Iterator[None]]) -> None:
    """Prepare a snapshot in steps, and again for what happened meanwhile, a few times at most.

    The snapshot makes up at once for what is left: for a new priority class, all jobs are judged anew.
    """
    for _ in range(PREPARATIONS):
        if not await in_slices(steps()):
            return


async def in_slices(steps: Iterator[None]) -> bool:
    """Take all steps, and let other tasks run once a slice is over; after the last one, too, if there were several.

    Returns whether there were.
    """
    turns, several = LoopTurns(SLICE_SECONDS), False
    for _ in steps:
        if turns.over:
            several = True
            await turns.turn()
    if several:
        await turns.turn()
    return several

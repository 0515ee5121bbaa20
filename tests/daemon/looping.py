"""A loop of sessions with a decision of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from tests.support.recording_server import recording, writer_to
from tests.support.small import SmallCluster
from vsched.clock import SystemClock
from vsched.daemon.loop.effects import WrittenEffects
from vsched.daemon.loop.loop import FIRST_PAUSE_SECONDS, Loop, SessionParts
from vsched.daemon.loop.silence import Silence
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.triggers import Trigger
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.writes.bindings import Dispatcher, DispatchSettings
from vsched.writes.evictions import EvictionSettings, Evictor
from vsched.writes.writeback import Writeback, WritebackSettings

POLICY = Policy((), ())


class SmallMirror:
    """A mirror that shows one snapshot; keeps what it is told to assume."""

    def __init__(self, shown: Snapshot) -> None:
        self.shown = shown
        self.snapshots = 0
        self.assumed: list[CycleReport] = []

    def snapshot(self, now: float) -> Snapshot:
        self.snapshots += 1
        return self.shown

    def preparing(self) -> Iterator[None]:
        return iter(())

    def assuming(self, report: CycleReport) -> Iterator[None]:
        self.assumed.append(report)
        yield


class Running:
    """A loop with everything around it."""

    def __init__(
        self,
        loop: Loop,
        trigger: Trigger,
        mirror: SmallMirror,
        telemetry: Telemetry,
        snapshots: SnapshotService,
        writeback: Writeback,
    ) -> None:
        self.loop, self.trigger, self.mirror, self.telemetry = loop, trigger, mirror, telemetry
        self.snapshots, self.writeback = snapshots, writeback
        self.turns = 0

    def metric(self, name: str, labels: dict[str, str] | None = None) -> float:
        return self.telemetry.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def looping(
    decide: Callable[[Snapshot, Policy, Trace], CycleReport],
    period_seconds: float = 60.0,
    first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    shown: Snapshot | None = None,
    silence: Silence | None = None,
    on_answer: Callable[[], None] = lambda: None,
) -> AsyncIterator[Running]:
    """``shown`` is the snapshot of each session, by default one of a single node."""
    async with recording() as (_, client):
        mirror = SmallMirror(shown or SmallCluster().node("n1").snapshot())
        empty = Mirror(MirrorSettings(frozenset()))
        telemetry, trigger = Telemetry(SystemClock()), Trigger(period_seconds, 0.001)
        writer = writer_to(client)
        dispatcher = Dispatcher(client, writer, telemetry.outcome, DispatchSettings())
        writeback = Writeback(
            client, writer, WritebackSettings(), SystemClock(), lambda *_: None, empty, lambda *_: None
        )
        evictor = Evictor(writer, telemetry.eviction, EvictionSettings(), SystemClock())
        snapshots = SnapshotService(trigger.pull)
        written = WrittenEffects(mirror.assuming, telemetry, evictor, dispatcher, writeback)
        parts = SessionParts(mirror, decide, lambda: POLICY, written, telemetry, snapshots)

        def turned() -> None:
            running.turns += 1

        loop = Loop(parts, trigger, SystemClock(), turned, first_pause_seconds, silence, on_answer)
        running = Running(loop, trigger, mirror, telemetry, snapshots, writeback)
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(dispatcher.run()), group.create_task(evictor.run())]
            task = group.create_task(running.loop.run())
            yield running
            running.loop.stop()
            await asyncio.wait_for(task, 60.0)
            for other in others:
                other.cancel()

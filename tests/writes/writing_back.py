"""A writeback under test, and what cycles report to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.recording_server import RecordingServer, recording, writer_to
from tests.support.small import SmallCluster
from tests.support.waiting import until
from vsched.clock import Clock, SystemClock
from vsched.framework.words.nodes import available
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import Condition
from vsched.model.plan import CycleReport, JobOutcome, Unschedulable
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot
from vsched.settings.workloads import built_in_table
from vsched.writes.events import EventSettings
from vsched.writes.limits import Attempts
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.status.pods import PodConditionSettings
from vsched.writes.status.queues import QueueStatusSettings
from vsched.writes.writeback import Writeback, WritebackSettings

ONCE = Attempts(1)
UNSCHEDULABLE = Condition("Unschedulable", "True", "NotEnoughResources", "2/2 tasks in gang unschedulable")
QUICK = WritebackSettings(
    jobs=JobStatusSettings(phase_seconds=0.01, grace_seconds=0.01, reword_seconds=60.0, attempts=ONCE),
    queues=QueueStatusSettings(grace_seconds=0.03, attempts=ONCE),
    pods=PodConditionSettings(grace_seconds=0.05, reword_seconds=60.0, retry_ceiling_seconds=0.01, attempts=ONCE),
    events=EventSettings(attempts=ONCE, repeat_seconds=0.01),
)


@dataclass
class Bench:
    """A writeback under test, its server, and what the mirror was told."""

    server: RecordingServer
    writeback: Writeback
    mirror: Mirror
    told: list[tuple[str, str, str | None]]

    def submit(self, snapshot: Snapshot, **report: Any) -> None:
        for _ in self.writeback.submitting(CycleReport(**report), snapshot):
            pass

    async def quiet(self) -> None:
        await until(lambda: not any(workqueue.busy for workqueue in self.writeback.workqueues.values()))


@asynccontextmanager
async def bench(settings: WritebackSettings = QUICK, clock: Clock | None = None) -> AsyncIterator[Bench]:
    told: list[tuple[str, str, str | None]] = []
    mirror = Mirror(MirrorSettings(frozenset(), workloads=built_in_table()))
    async with recording() as (server, client):
        writeback = Writeback(
            client,
            writer_to(client),
            settings,
            clock or SystemClock(),
            lambda *news: told.append(news),
            mirror,
            lambda nomination, version: told.append(("Nominate", nomination.node, version)),
        )
        task = asyncio.create_task(writeback.run())
        try:
            yield Bench(server, writeback, mirror, told)
        finally:
            task.cancel()
            await asyncio.wait((task,))


def world(pods: int = 2) -> tuple[Snapshot, Job]:
    """A cluster with one job of pods that wait, in queue ``default``."""
    cluster = SmallCluster().node("n1")
    cluster.queues["default"] = Queue("default", uid="q1")
    job = cluster.job("g", pods, uid="g1", phase="Pending")
    return cluster.snapshot(), job


def outcome(phase: str = "Inqueue", *conditions: Condition, **fields: Any) -> JobOutcome:
    values: dict[str, Any] = {
        "key": "ns/g", "queue": "default", "phase": phase, "min_member": 2, "ready": 0, "pending": 2,
        "running": 0, "succeeded": 0, "failed": 0, "conditions": conditions, "changed": True,
    }  # fmt: skip
    return JobOutcome(**{**values, **fields})


NO_ROOM = available(1, {"Insufficient cpu": 1})


def verdict(job: Job, number: int = 0, message: str = NO_ROOM) -> Unschedulable:
    task = list(job.tasks.values())[number]
    return Unschedulable(task.uid, task.namespace, task.name, job.key, "Unschedulable", message)

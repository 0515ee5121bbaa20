"""Writes back what cycles found out: statuses of PodGroups and Queues, conditions of pods, Events.

Everything is coalesced, rate-limited and off the cycle: ``submit`` only takes notes. Placements are not its business
(that is ``dispatch``), nor is the mirror, which is told by callback what became of a status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

from vsched.clock import Clock
from vsched.kube.client import ApiClient
from vsched.mirror.problems import Broken
from vsched.model.plan import Bind, CycleReport, Evict
from vsched.model.snapshot import Snapshot
from vsched.together import together
from vsched.writes.bodies import pod_reference, podgroup_reference, taken_by
from vsched.writes.events import NORMAL, WARNING, EventRecorder, EventSettings
from vsched.writes.nominations import Nominations, NominationSettings
from vsched.writes.nominations import Told as NominationTold
from vsched.writes.object_events import Complaints
from vsched.writes.pod_conditions import PodConditions, PodConditionSettings
from vsched.writes.podgroup_status import JobStatuses, JobStatusSettings
from vsched.writes.queue_status import QueueStatuses, QueueStatusSettings
from vsched.writes.served_resources import Served
from vsched.writes.status_writer import Told
from vsched.writes.workqueue import Workqueue
from vsched.writes.writer import Writer


@dataclass(frozen=True, slots=True)
class WritebackSettings:
    """Bounds and delays of everything that is written back."""

    jobs: JobStatusSettings = field(default_factory=JobStatusSettings)
    queues: QueueStatusSettings = field(default_factory=QueueStatusSettings)
    pods: PodConditionSettings = field(default_factory=PodConditionSettings)
    nominations: NominationSettings = field(default_factory=NominationSettings)
    events: EventSettings = field(default_factory=EventSettings)


class WritebackMirror(Protocol):
    """What is asked of the mirror."""

    broken: dict[tuple[str, str], Broken]
    blemished: dict[tuple[str, str], Broken]


class Writeback:
    """The lanes of everything that is written back, fed by reports."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        settings: WritebackSettings,
        clock: Clock,
        told: Told,
        mirror: WritebackMirror,
        nomination_told: NominationTold,
    ) -> None:
        served = Served(client)
        self.events = EventRecorder(writer, settings.events, clock)
        self.jobs = JobStatuses(writer, served, self.events, settings.jobs, clock, told)
        self.queues = QueueStatuses(writer, served, self.events, settings.queues, clock, told)
        self.pods = PodConditions(writer, self.events, settings.pods, clock)
        self.nominations = Nominations(writer, settings.nominations, nomination_told)
        self._complaints = Complaints(
            lambda: chain(mirror.broken.values(), mirror.blemished.values()), writer, served, self.events, clock
        )

    @property
    def lanes(self) -> Mapping[str, Workqueue[Any, Any]]:
        """Every lane by name, for running them and for metrics."""
        return {
            "podgroups": self.jobs.lane,
            "queues": self.queues.lane,
            "pods": self.pods.lane,
            "nominations": self.nominations.lane,
            "events": self.events.lane,
        }

    def submit(self, report: CycleReport, snapshot: Snapshot) -> None:
        """Take note of everything a cycle found out; ``snapshot`` is the one it ran on."""
        for outcome in report.jobs.values():
            self.jobs.submit(snapshot, outcome)
        self.jobs.forget(key for key in snapshot.changed if key not in snapshot.jobs)
        self.queues.submit(snapshot, report)
        self.pods.submit(snapshot, report)
        self.nominations.submit(report)

    def bound(self, bind: Bind) -> None:
        """Say on a pod that it was placed, if the budget of Events allows."""
        about = pod_reference(bind.namespace, bind.name, bind.uid)
        message = f"Successfully assigned {bind.namespace}/{bind.name} to {bind.node}"
        self.events.record(about, NORMAL, "Scheduled", message, once=True)
        self.pods.placed(bind.uid)

    def bind_failed(self, bind: Bind, message: str) -> None:
        """Say on a pod that its placement could not be carried out."""
        about = pod_reference(bind.namespace, bind.name, bind.uid)
        self.events.record(about, WARNING, "FailedBinding", f"binding to {bind.node} failed: {message}")

    def evicted(self, eviction: Evict, group_uid: str) -> None:
        """Say on a pod, and on its PodGroup where it has one, who takes its room."""
        about = pod_reference(eviction.namespace, eviction.name, eviction.uid)
        self.events.record(about, WARNING, "Evict", f"Evicted from {eviction.node}: {taken_by(eviction)}")
        if group_uid:
            # The same words for all of its pods, so that they are one Event with a count.
            about = podgroup_reference(eviction.job, group_uid)
            self.events.record(about, NORMAL, "Evict", f"Pods evicted: {taken_by(eviction)}")

    def eviction_failed(self, eviction: Evict, message: str) -> None:
        """Say on a pod that it was to go and stays."""
        about = pod_reference(eviction.namespace, eviction.name, eviction.uid)
        self.events.record(about, WARNING, "FailedEviction", f"{taken_by(eviction)}: {message}")

    async def run(self) -> None:
        """Write what is due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, lane in self.lanes.items():
                group.create_task(lane.run(), name=f"writeback-{name}")
            group.create_task(self._complaints.run(), name="complaints")

    async def drain(self, deadline_seconds: float) -> int:
        """Write what waits, pods' conditions aside (the next scheduler finds those anew); counts what is left."""
        left = await together(
            self.jobs.lane.drain(deadline_seconds),
            self.queues.lane.drain(deadline_seconds),
            self.nominations.lane.drain(deadline_seconds),
            self.events.lane.drain(deadline_seconds),
        )
        return sum(left)

"""Writes the results of cycles to objects: statuses of PodGroups and Queues, conditions of pods, Events.

``submit`` only queues; workqueues coalesce and rate-limit the writes outside of the cycle. A callback reports the
outcome of each status to the mirror. Bindings and evictions have modules of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from vsched.clock import Clock
from vsched.errors import why_unreadable
from vsched.kube.client import ApiClient
from vsched.mirror.mirror import Mirror
from vsched.model.maps import news
from vsched.model.plan import Bind, CycleReport, Evict, JobOutcome, Withdraw
from vsched.model.snapshot import Snapshot
from vsched.together import together
from vsched.writes import words
from vsched.writes.bodies import cause_of_eviction, pod_cause_of_eviction, pod_reference, podgroup_reference
from vsched.writes.events import NORMAL, WARNING, EventRecorder, EventSettings
from vsched.writes.object_events import ObjectEvents
from vsched.writes.precedence import Precedence
from vsched.writes.status.domains import DomainSettings, JobDomains
from vsched.writes.status.hypernodes import HyperNodeStatuses, HyperNodeStatusSettings
from vsched.writes.status.native import NativeStatuses
from vsched.writes.status.nominations import Nominations, NominationSettings, OnNominated
from vsched.writes.status.podgroups import JobStatuses, JobStatusSettings
from vsched.writes.status.pods import PodConditions, PodConditionSettings
from vsched.writes.status.queues import QueueStatuses, QueueStatusSettings
from vsched.writes.status.writer import OnStatusWritten, ServedResources
from vsched.writes.workqueue import Workqueue
from vsched.writes.writer import Writer


@dataclass(frozen=True, slots=True)
class WritebackSettings:
    """Bounds and delays of everything that is written back."""

    jobs: JobStatusSettings = field(default_factory=JobStatusSettings)
    domains: DomainSettings = field(default_factory=DomainSettings)
    queues: QueueStatusSettings = field(default_factory=QueueStatusSettings)
    hypernodes: HyperNodeStatusSettings = field(default_factory=HyperNodeStatusSettings)
    pods: PodConditionSettings = field(default_factory=PodConditionSettings)
    nominations: NominationSettings = field(default_factory=NominationSettings)
    events: EventSettings = field(default_factory=EventSettings)
    yield_seconds: float = 2.0
    """How long what only tells something waits at most while bindings are on their way."""


class Writeback:
    """The workqueues of everything that is written back. Reports of cycles fill them."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        settings: WritebackSettings,
        clock: Clock,
        on_written: OnStatusWritten,
        mirror: Mirror,
        on_nominated: OnNominated,
        first: Callable[[], bool] = lambda: True,
    ) -> None:
        """``first``: whether this daemon writes what is said once for the whole cluster."""
        self._first = first
        served = ServedResources(client)
        self.precedence = Precedence(settings.yield_seconds)
        """What Events and the statuses of queues and PodGroups yield to."""
        self.events = EventRecorder(writer, settings.events, clock, self.precedence)
        self.jobs = JobStatuses(writer, served, self.events, settings.jobs, clock, on_written, self.precedence)
        self.domains = JobDomains(writer, settings.domains, clock)
        self.native = NativeStatuses(writer, self.events, settings.jobs, clock)
        self.queues = QueueStatuses(writer, served, self.events, settings.queues, clock, on_written, self.precedence)
        self.hypernodes = HyperNodeStatuses(
            writer,
            self.events,
            settings.hypernodes,
            clock,
            on_written,
            mirror.topology,
        )
        self.pods = PodConditions(writer, self.events, settings.pods, clock)
        self.nominations = Nominations(writer, settings.nominations, on_nominated)
        self._submitted: Mapping[str, JobOutcome] = {}
        """The outcomes in the last report."""
        self._placed: dict[str, None] = {}
        """The jobs of them that have a domain."""
        self._object_events = ObjectEvents(
            lambda: chain(mirror.broken.values(), mirror.blemished.values(), mirror.unserved.values()),
            writer,
            served,
            self.events,
            clock,
            lambda kind: mirror.intake.workloads.api_version(kind),
        )

    @property
    def workqueues(self) -> Mapping[str, Workqueue[Any, Any]]:
        """Every workqueue by name."""
        return {
            "podgroups": self.jobs.workqueue,
            "podgroup-domains": self.domains.workqueue,
            "native-podgroups": self.native.workqueue,
            "queues": self.queues.workqueue,
            "hypernodes": self.hypernodes.workqueue,
            "pods": self.pods.workqueue,
            "nominations": self.nominations.workqueue,
            "events": self.events.workqueue,
        }

    def submitting(self, report: CycleReport, snapshot: Snapshot) -> Iterator[None]:
        """Queue the results of a cycle, in steps; other tasks may run in between. It ran on ``snapshot``."""
        for some in chain(self._again(report), news(self._submitted, report.jobs)):
            for outcome in some.values():
                self._submit(snapshot, outcome)
                yield
            yield
        self._submitted = report.jobs
        for key in snapshot.changed:
            if key not in snapshot.jobs:
                self.jobs.forget(key)
                self.domains.forget(key)
                self._placed.pop(key, None)
            yield
        yield from self.native.submitting(snapshot, report)
        if self._first():
            yield from self.queues.submitting(snapshot, report)
            self.hypernodes.submit(snapshot)
            yield
        yield from self.pods.submitting(snapshot, report)
        self.nominations.submit(report)

    def _again(self, report: CycleReport) -> Iterator[dict[str, JobOutcome]]:
        """The outcomes that are those of the last report, and that their objects may not show."""
        for keys in (self.jobs.unsettled, self._placed):
            for key in [*keys]:
                outcome = report.jobs.get(key)
                if outcome is None:
                    del keys[key]
                elif outcome is self._submitted.get(key):
                    yield {key: outcome}

    def _submit(self, snapshot: Snapshot, outcome: JobOutcome) -> None:
        self.jobs.submit(snapshot, outcome)
        if outcome.domain:
            self._placed[outcome.key] = None
            self.domains.submit(snapshot, outcome)
        else:
            self._placed.pop(outcome.key, None)

    def session_failed(self, snapshot: Snapshot, error: Exception) -> None:
        """Queue what is to be told of a session that ended in an error."""
        self.native.session_failed(snapshot, words.failed_and_retries(why_unreadable(error)))

    def bound(self, bind: Bind) -> None:
        """Record an Event on a pod that it was bound, if the budget of Events allows."""
        about = pod_reference(bind.namespace, bind.name, bind.uid)
        message = words.assigned(bind.namespace, bind.name, bind.node)
        self.events.record(about, NORMAL, "Scheduled", message, once=True)
        self.pods.placed(about)

    def bind_failed(self, bind: Bind, message: str) -> None:
        """Record an Event on a pod that its binding failed."""
        about = pod_reference(bind.namespace, bind.name, bind.uid)
        self.events.record(about, WARNING, "FailedBinding", words.binding_failed(bind.node, message))

    def claims_failed(self, binds: Iterable[Bind], group: str, group_uid: str, message: str) -> None:
        """Record an Event on these pods of a gang, and on its PodGroup where it has one, why it is not bound."""
        for bind in binds:
            about = pod_reference(bind.namespace, bind.name, bind.uid)
            self.events.record(about, WARNING, "FailedBinding", words.not_bound_to(bind.node, message))
        if group_uid:
            self.events.record(podgroup_reference(group, group_uid), WARNING, "FailedBinding", words.not_bound(message))

    def evicted(self, eviction: Evict, group_uid: str) -> None:
        """Record an Event on a pod, and on its PodGroup where it has one, that names the beneficiary."""
        about = pod_reference(eviction.namespace, eviction.name, eviction.uid)
        self.events.record(about, WARNING, "Evict", words.evicted_from(eviction.node, pod_cause_of_eviction(eviction)))
        if group_uid:
            # The same message for all of its pods, so that they are one Event with a count.
            about = podgroup_reference(eviction.job, group_uid)
            self.events.record(about, NORMAL, "Evict", words.pods_evicted(cause_of_eviction(eviction)))

    def looped(self, job: str, group_uid: str, other: str, seconds: float) -> None:
        """Record an Event on a PodGroup that its job and another one take from each other in turn."""
        if group_uid:
            message = words.evict_each_other(other, seconds)
            self.events.record(podgroup_reference(job, group_uid), WARNING, "EvictionLoop", message, cause=other)

    def asked_to_end(self, eviction: Evict, group_uid: str) -> None:
        """Record an Event on a pod, and on its PodGroup where it has one, that it is asked to end by itself."""
        cause = cause_of_eviction(eviction)
        about = pod_reference(eviction.namespace, eviction.name, eviction.uid)
        self.events.record(about, NORMAL, "EvictionRequested", words.asked_to_end(pod_cause_of_eviction(eviction)))
        if group_uid:
            about = podgroup_reference(eviction.job, group_uid)
            self.events.record(about, NORMAL, "EvictionRequested", words.pods_asked_to_end(cause))

    def need_not_end(self, withdrawal: Withdraw, group_uid: str) -> None:
        """Record an Event on a pod, and on its PodGroup where it has one, that it need not end any more."""
        about = pod_reference(withdrawal.namespace, withdrawal.name, withdrawal.uid)
        self.events.record(about, NORMAL, "EvictionWithdrawn", words.no_longer_asked_to_end(withdrawal.why))
        if group_uid:
            about = podgroup_reference(withdrawal.job, group_uid)
            self.events.record(about, NORMAL, "EvictionWithdrawn", words.pods_no_longer_asked_to_end(withdrawal.why))

    def eviction_failed(self, eviction: Evict, message: str) -> None:
        """Record an Event on a pod that its eviction failed."""
        about = pod_reference(eviction.namespace, eviction.name, eviction.uid)
        self.events.record(about, WARNING, "FailedEviction", f"{cause_of_eviction(eviction)}: {message}")

    async def run(self) -> None:
        """Write what is due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, workqueue in self.workqueues.items():
                group.create_task(workqueue.run(), name=f"writeback-{name}")
            group.create_task(self._object_events.run(), name="complaints")
            group.create_task(self.hypernodes.run(), name="hypernodes")

    async def drain(self, deadline_seconds: float) -> int:
        """Write what waits; returns how many are left. Conditions of pods, and statuses of HyperNodes, are dropped: the
        next leader writes them."""
        left = await together(
            self.jobs.workqueue.drain(deadline_seconds),
            self.native.workqueue.drain(deadline_seconds),
            self.queues.workqueue.drain(deadline_seconds),
            self.nominations.workqueue.drain(deadline_seconds),
            self.events.workqueue.drain(deadline_seconds),
        )
        return sum(left)

"""A cluster as time passes: pods end, and what cycles decide comes true. The snapshot that it began as stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import msgspec

from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.amounts.resources import Vector, add
from vsched.model.jobs.job import Job
from vsched.model.plan import CycleReport
from vsched.model.pods.status import HOLDS, SCHEDULED, Phase, Status
from vsched.model.pods.task import Task
from vsched.model.queues.quota import Quota, QuotaLine
from vsched.model.snapshot import Snapshot


class Decided(NamedTuple):
    """What a cycle decided, as far as it matters to what comes."""

    report: CycleReport
    phases: Mapping[str, str]
    """Of jobs whose phase it changed, by key."""


class Settled(NamedTuple):
    """What became of a cycle's decisions."""

    started: list[Task]
    moved: bool
    """Whether another cycle at the same time may find something to do."""


class Passing:
    """The cluster as time passes. What nodes really use stays as it was measured: nobody knows what it will be."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._cluster = ClusterEditor(snapshot)
        self._now = snapshot.now
        self._cluster.snapshot(self._now)

    @property
    def jobs(self) -> Mapping[str, Job]:
        """Every job as it is by now."""
        return self._cluster.snapshot(self._now).jobs

    def task(self, uid: str) -> Task | None:
        """A pod as it is by now, None where it is gone."""
        return self._cluster.task(uid)

    def at(self, now: float, among: frozenset[str]) -> Snapshot:
        """What a cycle at this time decides on that works on these jobs alone; valid until the next change."""
        self._now = now
        found = self._cluster.snapshot(now)
        return replace(found, active=tuple(key for key in found.active if key in among), changed=())

    def end(self, tasks: Iterable[Task]) -> None:
        """These pods have ended: they are gone if they were told to, else they have succeeded."""
        asked: dict[str, Vector] = defaultdict(dict)
        jobs: dict[str, None] = {}
        for task in tasks:
            add(asked[task.namespace], task.shape.request)
            jobs[task.job] = None
            if task.status is Status.RELEASING:
                self._cluster.take_away(task)
            else:
                self._cluster.put_tasks([task.moved(Status.SUCCEEDED, task.node)])
        self._enter(jobs)
        self._give_back(asked)

    def settle(self, decided: Decided, now: float) -> Settled:
        """What a cycle decided comes true at once; those who were evicted and have an owner wait anew."""
        report = decided.report
        gone = [each for each in report.evictions if (task := self.task(each.uid)) and HOLDS[task.status].uses]
        bound = {bind.uid for bind in report.binds if (task := self.task(bind.uid)) and task.status is Status.PENDING}
        nominations = tuple(each for each in report.nominations if each.uid not in bound)
        self._cluster.settle(msgspec.structs.replace(report, jobs={}, evictions=tuple(gone), nominations=nominations))
        for key, phase in decided.phases.items():
            self._cluster.enter(key, phase)
        parts = (report.evictions, report.binds, nominations, report.ungated)
        self._enter(dict.fromkeys(each.job for part in parts for each in part))
        started = [task for uid in bound if (task := self.task(uid)) is not None]
        return Settled(started, bool(report.evictions or report.ungated))

    def _enter(self, keys: Iterable[str]) -> None:
        """Jobs with as many pods as they need run; those whose pods have all ended are over."""
        for key in keys:
            job = self._cluster.job(key)
            scheduled = 0 if job is None else sum(job.counts[status] for status in SCHEDULED)
            if job is not None and job.tasks and scheduled >= job.spec.min_member:
                over = scheduled == job.counts[Status.SUCCEEDED] + job.counts[Status.FAILED]
                self._cluster.enter(key, Phase.COMPLETED if over and scheduled else Phase.RUNNING)

    def _give_back(self, asked: Mapping[str, Vector]) -> None:
        """Quotas count what ended no longer."""
        names = self._cluster.axis.names
        for namespace, amounts in asked.items():
            by_name = {names[column]: amount for column, amount in amounts.items()}
            for quota in self._cluster.quotas(namespace):
                self._cluster.put_quota(namespace, _with_less(quota, by_name))


def _with_less(quota: Quota, amounts: Mapping[str, int]) -> Quota:
    def lowered(line: QuotaLine) -> QuotaLine:
        return msgspec.structs.replace(line, used=max(0, line.used - amounts.get(line.resource, 0)))

    return msgspec.structs.replace(quota, lines=tuple(lowered(line) for line in quota.lines))

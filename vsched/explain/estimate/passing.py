"""A cluster in virtual time: pods end, and the decisions of cycles take effect at once.

The cluster is a mirror made from a snapshot; the snapshot itself stays unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import NamedTuple

import msgspec

from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.jobs.job import Job
from vsched.model.plan import CycleReport
from vsched.model.pods.status import HOLDS, SCHEDULED, Phase, Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot


class Decided(NamedTuple):
    """The decisions of a cycle that change the cluster."""

    report: CycleReport
    phases: Mapping[str, str]
    """The new phases of jobs by key."""

    @property
    def due(self) -> float:
        """When another cycle may decide more although nothing ends, seconds since the epoch; infinite for never."""
        return self.report.due or inf


class CycleEffects(NamedTuple):
    """The effects of a cycle's decisions."""

    started: list[Task]
    """Pods that the cycle bound; they run from now on."""
    asked: list[Task]
    """Pods that the cycle asked to end by themselves."""
    moved: bool
    """Whether another cycle at the same time may decide more: pods were evicted or ungated."""


class Passing:
    """The cluster in virtual time. The measured usage of nodes stays as it was, because it cannot be foreseen."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._cluster = ClusterEditor(snapshot)
        self._now = snapshot.now
        self._cluster.snapshot(self._now)

    def leave(self) -> None:
        """It is over: nothing can be asked afterwards."""
        self._cluster.let_go()

    @property
    def jobs(self) -> Mapping[str, Job]:
        """Every job as it is now."""
        return self._cluster.snapshot(self._now).jobs

    def task(self, uid: str) -> Task | None:
        """A pod as it is now; None if it is gone."""
        return self._cluster.task(uid)

    def at(self, now: float, among: frozenset[str]) -> Snapshot:
        """The snapshot for a cycle at this time, with only these jobs active; valid until the next change."""
        self._now = now
        found = self._cluster.snapshot(now)
        return replace(found, active=tuple(key for key in found.active if key in among), changed=(), since=None)

    def end(self, tasks: Iterable[Task]) -> None:
        """Let pods end: terminating pods go, all others succeed."""
        jobs: dict[str, None] = {}
        for task in tasks:
            jobs[task.job] = None
            if task.status is Status.RELEASING:
                self._cluster.take_away(task)
            else:
                self._cluster.put_tasks([task.moved(Status.SUCCEEDED, task.node)])
        self._enter(jobs)

    def settle(self, decided: Decided, now: float) -> CycleEffects:
        """Carry out what a cycle decided, at once; controllers replace the evicted pods that they own."""
        report = decided.report
        gone = [each for each in report.evictions if (task := self.task(each.uid)) and HOLDS[task.status].uses]
        bound = {bind.uid for bind in report.binds if (task := self.task(bind.uid)) and task.status is Status.PENDING}
        nominations = tuple(each for each in report.nominations if each.uid not in bound)
        self._cluster.settle(msgspec.structs.replace(report, jobs={}, evictions=tuple(gone), nominations=nominations))
        for key, phase in decided.phases.items():
            self._cluster.enter(key, phase)
        parts = (report.evictions, report.binds, nominations, report.ungated)
        self._enter(dict.fromkeys(each.job for part in parts for each in part))
        started = [msgspec.structs.replace(task, started=now) for uid in bound if (task := self.task(uid)) is not None]
        self._cluster.put_tasks(started)
        asked = [task for each in gone if each.asks and (task := self.task(each.uid)) and task.asked]
        return CycleEffects(started, asked, bool(len(gone) > len(asked) or report.ungated))

    def _enter(self, keys: Iterable[str]) -> None:
        """Set phases: a job with its minimum of scheduled pods is Running; Completed if all of these have ended."""
        for key in keys:
            job = self._cluster.job(key)
            scheduled = 0 if job is None else sum(job.counts[status] for status in SCHEDULED)
            if job is not None and job.tasks and scheduled >= job.spec.min_member:
                over = scheduled == job.counts[Status.SUCCEEDED] + job.counts[Status.FAILED]
                self._cluster.enter(key, Phase.COMPLETED if over and scheduled else Phase.RUNNING)

"""A snapshot that goes on: pods end, and what cycles decide comes true. Nothing of the one it began as is changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import msgspec

from vsched.explain.applying_jobs import with_job
from vsched.model.job import Job
from vsched.model.placed import PlacedPods
from vsched.model.plan import CycleReport
from vsched.model.quota import Quota, QuotaLine
from vsched.model.resources import Vector, add, subtract
from vsched.model.snapshot import Snapshot
from vsched.model.status import HOLDS, Phase, Status
from vsched.model.task import Task

EditJob = Callable[[Job], None]
OVER = (Status.SUCCEEDED, Status.FAILED)


class Settled(NamedTuple):
    """What became of a cycle's decisions."""

    started: list[Task]
    moved: bool
    """Whether another cycle at the same time may find something to do."""


class Passing:
    """The cluster as time passes. What nodes really use stays as it was measured: nobody knows what it will be."""

    def __init__(self, snapshot: Snapshot) -> None:
        placed = snapshot.placed
        self._nodes = snapshot.nodes.copy()
        self._used = list(snapshot.used)
        self._placed = PlacedPods.of(
            ((labels, dict(counts)) for labels, counts in placed.counts.items()),
            ((key, dict(counts)) for key, counts in placed.terms.items()),
            ((port, dict(counts)) for port, counts in placed.ports.items()),
        )
        self._held: dict[str, Vector] = {name: dict(amounts) for name, amounts in snapshot.held.items()}
        self._held_limits = {name: dict(amounts) for name, amounts in snapshot.held_limits.items()}
        self._snapshot = replace(
            snapshot,
            nodes=self._nodes,
            used=self._used,
            placed=self._placed,
            held=self._held,
            held_limits=self._held_limits,
            changed=(),
        )

    @property
    def jobs(self) -> Mapping[str, Job]:
        """Every job as it is by now."""
        return self._snapshot.jobs

    def at(self, now: float, among: frozenset[str]) -> Snapshot:
        """What a cycle at this time decides on that works on these jobs alone; valid until the next change."""
        active = tuple(key for key in self._snapshot.active if key in among)
        return replace(self._snapshot, now=now, active=active, changed=())

    def end(self, tasks: Iterable[Task]) -> None:
        """These pods have ended: they are gone if they were told to, else they have succeeded."""
        ended: dict[str, list[Task]] = defaultdict(list)
        asked: dict[str, Vector] = {}
        for task in tasks:
            ended[task.job].append(task)
            self._shift(task, -1)
            add(asked.setdefault(task.namespace, {}), task.shape.request)
        for key, over in ended.items():
            self._edit(key, lambda job, over=over: _end(job, over))
        self._give_back(asked)

    def settle(self, report: CycleReport, now: float) -> Settled:
        """What a cycle decided comes true at once; those who were evicted and have an owner wait anew."""
        edits: dict[str, list[EditJob]] = defaultdict(list)
        started: list[Task] = []
        for eviction in report.evictions:
            task = self._task(eviction.job, eviction.uid)
            if task is not None and HOLDS[task.status].uses:
                self._shift(task, -1)
                edits[eviction.job].append(lambda job, task=task: _begin_anew(job, task))
        for bind in report.binds:
            task = self._task(bind.job, bind.uid)
            if task is not None and task.status is Status.PENDING:
                runs = msgspec.structs.replace(task.moved(Status.RUNNING, bind.node), started=now)
                self._shift(runs, 1)
                edits[bind.job].append(lambda job, runs=runs: job.put(runs))
                started.append(runs)
        bound = {bind.uid for bind in report.binds}
        for kept in report.nominations:
            task = self._task(kept.job, kept.uid)
            if task is not None and kept.lasting and kept.uid not in bound:
                named = msgspec.structs.replace(task, nominated=kept.node)
                edits[kept.job].append(lambda job, named=named: job.put(named))
        for opened in report.ungated:
            task = self._task(opened.job, opened.uid)
            if task is not None and task.awaits_queue:
                let_in = msgspec.structs.replace(task, gated=False, awaits_queue=False, reserves=True)
                edits[opened.job].append(lambda job, let_in=let_in: job.put(let_in))
        entered = self._phases(report, edits)
        for key, made in edits.items():
            self._edit(key, lambda job, made=made: _all(job, made))
        return Settled(started, bool(report.evictions or report.ungated or entered))

    def _phases(self, report: CycleReport, edits: dict[str, list[EditJob]]) -> bool:
        """Note the phases that jobs have come to; whether any was let in that now waits for places."""
        entered = False
        for key, outcome in report.jobs.items():
            job = self.jobs.get(key)
            if job is not None and job.spec.phase != outcome.phase:
                edits[key].append(lambda job, phase=outcome.phase: _enter(job, phase))
                entered |= outcome.phase == Phase.INQUEUE and bool(job.pending)
        return entered

    def _task(self, key: str, uid: str) -> Task | None:
        job = self.jobs.get(key)
        return None if job is None else job.tasks.get(uid)

    def _edit(self, key: str, edit: EditJob) -> None:
        job = self.jobs[key].clone()
        edit(job)
        self._snapshot = with_job(self._snapshot, job)

    def _shift(self, task: Task, sign: int) -> None:
        """A pod takes what it asks for of its node, or gives it back."""
        nodes, shape = self._nodes, task.shape
        row = nodes.statics.row.get(task.node)
        leaves = HOLDS[task.status].releasing
        if row is not None:
            for column, amount in shape.request:
                nodes.idle[column, row] -= sign * amount
                nodes.requested[column, row] += sign * amount
                self._used[column] += sign * amount
                if leaves:
                    nodes.releasing[column, row] += sign * amount
            nodes.scoring[0, row] += sign * shape.scoring_cpu
            nodes.scoring[1, row] += sign * shape.scoring_memory
            self._placed.shift(task.labels, shape, task.node, sign)
        if not leaves and (held := self._held.get(task.namespace)) is not None:
            (add if sign > 0 else subtract)(held, shape.request)
            limits = self._held_limits.setdefault(task.namespace, {})
            for name, amount in shape.limits:
                limits[name] = limits.get(name, 0) + sign * amount

    def _give_back(self, asked: Mapping[str, Vector]) -> None:
        """Quotas count what ended no longer."""
        known = {name: amounts for name, amounts in asked.items() if name in self._snapshot.quotas}
        if known:
            quotas = dict(self._snapshot.quotas)
            names = self._snapshot.axis.names
            for namespace, amounts in known.items():
                by_name = {names[column]: amount for column, amount in amounts.items()}
                quotas[namespace] = tuple(_with_less(quota, by_name) for quota in quotas[namespace])
            self._snapshot = replace(self._snapshot, quotas=quotas)


def _all(job: Job, edits: Iterable[EditJob]) -> None:
    for edit in edits:
        edit(job)


def _end(job: Job, tasks: Iterable[Task]) -> None:
    for task in tasks:
        if task.status is Status.RELEASING:
            job.drop(task.uid)
        else:
            job.put(task.moved(Status.SUCCEEDED, task.node))
    if job.tasks and all(task.status in OVER for task in job.tasks.values()):
        _enter(job, Phase.COMPLETED)


def _begin_anew(job: Job, task: Task) -> None:
    job.drop(task.uid)
    if task.owned and not task.returns:
        fresh = msgspec.structs.replace(task.moved(Status.PENDING, ""), uid=f"{task.uid}+", nominated="", started=0.0)
        job.put(fresh)


def _enter(job: Job, phase: str) -> None:
    job.spec = msgspec.structs.replace(job.spec, phase=phase)


def _with_less(quota: Quota, amounts: Mapping[str, int]) -> Quota:
    def lowered(line: QuotaLine) -> QuotaLine:
        return msgspec.structs.replace(line, used=max(0, line.used - amounts.get(line.resource, 0)))

    return msgspec.structs.replace(quota, lines=tuple(lowered(line) for line in quota.lines))

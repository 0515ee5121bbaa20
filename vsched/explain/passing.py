"""A snapshot that goes on: pods end, and what cycles decide comes true. Nothing of the one it began as is changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from vsched.explain.applying_jobs import with_job
from vsched.model.budget import come_and_go
from vsched.model.job import Job
from vsched.model.placed import PlacedPods
from vsched.model.plan import CycleReport
from vsched.model.quota import Quota, QuotaLine
from vsched.model.resources import Vector, add, subtract
from vsched.model.snapshot import Snapshot
from vsched.model.status import HOLDS, SCHEDULED, Phase, Status
from vsched.model.task import Task

EditJob = Callable[[Job], None]


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
            self._edit(key, partial(_end, tasks=over))
        self._give_back(asked)

    def settle(self, decided: Decided, now: float) -> Settled:
        """What a cycle decided comes true at once; those who were evicted and have an owner wait anew."""
        report = decided.report
        edits: dict[str, list[EditJob]] = defaultdict(list)
        started: list[Task] = []
        gone: list[Task] = []
        for eviction in report.evictions:
            task = self._task(eviction.job, eviction.uid)
            if task is not None and HOLDS[task.status].uses:
                if task.status is Status.RUNNING:
                    gone.append(task)
                self._shift(task, -1)
                edits[eviction.job].append(partial(_begin_anew, task=task))
        for bind in report.binds:
            task = self._task(bind.job, bind.uid)
            if task is not None and task.status is Status.PENDING:
                runs = msgspec.structs.replace(task.moved(Status.RUNNING, bind.node), started=now)
                self._shift(runs, 1)
                edits[bind.job].append(partial(Job.put, task=runs))
                started.append(runs)
        bound = {bind.uid for bind in report.binds}
        for kept in report.nominations:
            task = self._task(kept.job, kept.uid)
            if task is not None and kept.lasting and kept.uid not in bound:
                named = msgspec.structs.replace(task, nominated=kept.node)
                edits[kept.job].append(partial(Job.put, task=named))
        for opened in report.ungated:
            task = self._task(opened.job, opened.uid)
            if task is not None and task.awaits_queue:
                let_in = msgspec.structs.replace(task, gated=False, awaits_queue=False, reserves=True)
                edits[opened.job].append(partial(Job.put, task=let_in))
        for key, phase in decided.phases.items():
            if key in self.jobs:
                edits[key].append(partial(_enter, phase=phase))
        for key, made in edits.items():
            self._edit(key, partial(_all, edits=made))
        self._count_budgets(started, gone)
        return Settled(started, bool(report.evictions or report.ungated))

    def _count_budgets(self, came: Sequence[Task], went: Sequence[Task]) -> None:
        """What disruption budgets allow from now on."""
        budgets = self._snapshot.budgets
        touched = {task.namespace for task in (*came, *went)} & budgets.keys()
        if touched:
            counted = {name: tuple(come_and_go(one, came, went) for one in budgets[name]) for name in touched}
            self._snapshot = replace(self._snapshot, budgets={**budgets, **counted})

    def _task(self, key: str, uid: str) -> Task | None:
        job = self.jobs.get(key)
        return None if job is None else job.tasks.get(uid)

    def _edit(self, key: str, edit: EditJob) -> None:
        job = self.jobs[key].clone()
        edit(job)
        scheduled = sum(job.counts[status] for status in SCHEDULED)
        if job.tasks and scheduled >= job.spec.min_member:
            over = scheduled == job.counts[Status.SUCCEEDED] + job.counts[Status.FAILED]
            _enter(job, Phase.COMPLETED if over and scheduled else Phase.RUNNING)
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

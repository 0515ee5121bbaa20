"""One cycle's view of a job: the mirror's record plus what this cycle has done to it so far.

Changed by the ledger only; plugins and actions read it.
"""

from __future__ import annotations

from vsched.model.amounts.resources import Vector
from vsched.model.jobs.job import Job
from vsched.model.pods.status import HOLDS, READY, Phase, Status
from vsched.model.pods.task import Task


class JobView:
    """A job as this cycle sees it, tentative placements included."""

    __slots__ = (
        "allocated",
        "best_effort_pending",
        "created",
        "gates_minimum",
        "job",
        "key",
        "leaving",
        "min_member",
        "moved",
        "namespace",
        "pending_count",
        "phase",
        "priority",
        "queue",
        "ready",
        "roles",
        "running",
        "spec",
        "waiting",
    )

    def __init__(self, job: Job) -> None:
        spec = job.spec
        self.job = job
        self.key = job.key
        self.spec = spec
        self.queue = spec.queue
        self.namespace = spec.namespace
        self.created = spec.created
        self.priority = job.priority
        self.min_member = spec.min_member
        self.phase = spec.phase
        self.ready = job.ready
        """Tasks that count towards the minimum: allocated, bound, running, succeeded."""
        self.waiting = job.counts[Status.PIPELINED]
        """Tasks that wait for what others give back."""
        self.leaving = job.counts[Status.RELEASING]
        """Tasks on their way out, those that this cycle evicts included."""
        self.running = job.counts[Status.RUNNING]
        self.pending_count = len(job.pending)
        self.best_effort_pending = job.best_effort
        self.allocated: Vector = job.allocated.copy()
        """What its tasks hold or wait for, base units (reference 7.4: pipelined tasks count within a cycle)."""
        self.moved: dict[str, tuple[Status, str, Task]] = {}
        """Tasks that this cycle moved: uid to (status, node, task)."""
        self.roles: dict[str, RoleCounts] | None = self._count_roles() if spec.min_task_member else None
        self.gates_minimum = self.min_member >= sum(minimum for _, minimum in spec.min_task_member)
        """Whether the minima of roles apply: they do unless they sum to more than the job's own minimum."""

    def _count_roles(self) -> dict[str, RoleCounts]:
        roles: dict[str, RoleCounts] = {}
        for task in self.job.tasks.values():
            role = roles.setdefault(task.role, RoleCounts())
            role.count(task.status, task, 1)
        return roles

    def move(self, task: Task, before: Status, after: Status, node: str) -> None:
        """Book one task's change of status; the ledger's business."""
        old, new = HOLDS[before], HOLDS[after]
        self.ready += new.ready - old.ready
        self.waiting += (after is Status.PIPELINED) - (before is Status.PIPELINED)
        self.leaving += (after is Status.RELEASING) - (before is Status.RELEASING)
        self.running += (after is Status.RUNNING) - (before is Status.RUNNING)
        if before is Status.PENDING or after is Status.PENDING:
            step = 1 if after is Status.PENDING else -1
            self.pending_count += step
            if task.shape.best_effort:
                self.best_effort_pending += step
        held, holds = old.allocated or old.reserves, new.allocated or new.reserves
        if holds is not held:
            sign = 1 if holds else -1
            allocated = self.allocated
            for column, value in task.shape.request:
                allocated[column] = allocated.get(column, 0) + sign * value
        if self.roles is not None:
            role = self.roles.setdefault(task.role, RoleCounts())
            role.count(before, task, -1)
            role.count(after, task, 1)
        if after is task.status and node == task.node:
            self.moved.pop(task.uid, None)
        else:
            self.moved[task.uid] = (after, node, task)

    @property
    def waiting_to_enter(self) -> bool:
        """Whether the PodGroup has not been admitted yet."""
        return self.phase in (Phase.PENDING, "")

    @property
    def is_ready(self) -> bool:
        """The gang's minimum is met, best-effort tasks that need nothing counted in (reference 0.4)."""
        return self.ready + self.best_effort_pending >= self.min_member

    @property
    def is_pipelined(self) -> bool:
        """The gang's minimum is met once everything it waits for is back."""
        return self.ready + self.waiting + self.best_effort_pending >= self.min_member

    @property
    def is_starving(self) -> bool:
        """The gang's minimum is not even in sight."""
        return self.ready + self.waiting < self.min_member

    @property
    def valid_count(self) -> int:
        """Tasks that could make up the minimum: allocated, succeeded, waiting and pending ones."""
        return self.ready + self.waiting + self.pending_count

    def roles_missing(self, *, waiting: bool = False, pending: bool = False) -> dict[str, int]:
        """Roles below their minimum and by how much; empty where all are met or role minima do not apply."""
        if self.roles is None or not self.gates_minimum:
            return {}
        missing: dict[str, int] = {}
        for role, minimum in self.spec.min_task_member:
            counts = self.roles.get(role)
            have = 0 if counts is None else counts.occupied(waiting=waiting, pending=pending)
            if have < minimum:
                missing[role] = minimum - have
        return missing


class RoleCounts:
    """How many tasks of one role are where."""

    __slots__ = ("best_effort", "pending", "ready", "waiting")

    def __init__(self) -> None:
        self.ready = self.waiting = self.pending = self.best_effort = 0

    def count(self, status: Status, task: Task, by: int) -> None:
        """One task of a status more or less."""
        if status in READY:
            self.ready += by
        elif status is Status.PIPELINED:
            self.waiting += by
        elif status is Status.PENDING:
            self.pending += by
            if task.shape.best_effort and not task.unsupported:
                self.best_effort += by

    def occupied(self, *, waiting: bool, pending: bool) -> int:
        """Tasks that count for the role's minimum (reference 0.4)."""
        count = self.ready + (self.waiting if waiting else 0)
        return count + (self.pending if pending else self.best_effort)

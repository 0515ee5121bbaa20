"""The session's view of a job: the mirror's record, plus the changes that this session made so far.

Only the ledger changes a view. Plugins and actions read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from vsched.framework.counting import TaskCounts
from vsched.framework.subgroups import NodeChange, SubGroups
from vsched.model.amounts.resources import Vector
from vsched.model.jobs.job import Job
from vsched.model.pods.status import HOLDS, Phase, Status
from vsched.model.pods.task import Task

_PENDING, _PIPELINED, _RELEASING, _RUNNING = Status.PENDING, Status.PIPELINED, Status.RELEASING, Status.RUNNING
"""Looked up once: members of enumerations take long to look up in Python 3.11."""


class JobView:
    """A job as the session sees it, including placements that may still be rolled back."""

    __slots__ = (
        "allocated",
        "best_effort_pending",
        "created",
        "gained",
        "job",
        "key",
        "leaving",
        "min_member",
        "moved",
        "namespace",
        "node_changes",
        "pending_count",
        "phase",
        "priority",
        "queue",
        "ready",
        "roles",
        "running",
        "spec",
        "sub_groups",
        "touched",
        "waiting",
    )

    def __init__(self, job: Job) -> None:
        spec, counts = job.spec, job.counts
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
        """Number of tasks that count towards the minimum: allocated, bound, running, succeeded."""
        self.waiting = counts[_PIPELINED]
        """Number of pipelined tasks: they have a node and wait for other pods to leave it."""
        self.leaving = counts[_RELEASING]
        """Number of releasing tasks, including those that this session evicts."""
        self.running = counts[_RUNNING]
        self.pending_count = len(job.pending)
        self.best_effort_pending = job.best_effort
        self.allocated: Vector = job.allocated.copy()
        """The amounts its tasks hold or wait for, base units (pipelined tasks count within a cycle)."""
        self.moved: dict[str, tuple[Status, str, Task]] = {}
        """Tasks whose status or node this session changed: uid to (status, node, task)."""
        self.touched = False
        """Whether any step was ever recorded, undone ones included."""
        self.gained = ""
        """The action by which pods of others leave for it in this session: for that, it is no victim any more."""
        self.roles: dict[str, TaskCounts] | None = self._count_roles() if spec.min_task_member else None
        self.sub_groups = SubGroups(spec.sub_groups, job.tasks.values()) if spec.sub_groups else None
        """Its sub-groups; None where its spec has none."""
        asks_closeness = spec.topology is not None or bool(spec.sub_groups)
        self.node_changes: list[NodeChange] | None = self._first_nodes() if asks_closeness else None
        """Each time that a task got a node or gave it up, in order, beginning with the nodes that tasks have.

        A pipelined task has a node. None where nothing asks how close pods are; sub-groups have lists of their own.
        """

    @property
    def called(self) -> str:
        """How sentences name it."""
        return self.job.called

    @property
    def asks_closeness(self) -> bool:
        """Whether the job or its sub-groups ask how close to each other their pods are."""
        return self.node_changes is not None

    def _first_nodes(self) -> list[NodeChange]:
        found = self.job.tasks.values()
        return [(task.node, 1) for task in found if HOLDS[task.status].allocated or HOLDS[task.status].reserves]

    def _count_roles(self) -> dict[str, TaskCounts]:
        roles: dict[str, TaskCounts] = {}
        for task in self.job.tasks.values():
            role = roles.setdefault(task.role, TaskCounts())
            role.count(task.status, task, 1)
        return roles

    def move(self, task: Task, before: Status, after: Status, node: str) -> None:
        """Record the change of one task's status. Only the ledger calls this."""
        self.touched = True
        old, new = HOLDS[before], HOLDS[after]
        self.ready += new.ready - old.ready
        if before is _PENDING or after is _PENDING:
            step = 1 if after is _PENDING else -1
            self.pending_count += step
            if task.best_effort:
                self.best_effort_pending += step
        if before is _PIPELINED or after is _PIPELINED:
            self.waiting += (after is _PIPELINED) - (before is _PIPELINED)
        if before is _RELEASING or after is _RELEASING:
            self.leaving += (after is _RELEASING) - (before is _RELEASING)
        if before is _RUNNING or after is _RUNNING:
            self.running += (after is _RUNNING) - (before is _RUNNING)
        held, holds = old.allocated or old.reserves, new.allocated or new.reserves
        if holds is not held:
            if self.node_changes is not None:
                change = (node, 1) if holds else (self._node_of(task), -1)
                self.node_changes.append(change)
                if self.sub_groups is not None:
                    self.sub_groups.follow(task, change)
            sign = 1 if holds else -1
            allocated = self.allocated
            for column, value in task.shape.request:
                allocated[column] = allocated.get(column, 0) + sign * value
        if self.roles is not None:
            role = self.roles.setdefault(task.role, TaskCounts())
            role.count(before, task, -1)
            role.count(after, task, 1)
        if self.sub_groups is not None:
            self.sub_groups.move(task, before, after)
        if after is task.status and node == task.node:
            self.moved.pop(task.uid, None)
        else:
            self.moved[task.uid] = (after, node, task)

    def _node_of(self, task: Task) -> str:
        """The node of a task before the step that is being recorded."""
        moved = self.moved.get(task.uid)
        return task.node if moved is None else moved[1]

    @property
    def gates_minimum(self) -> bool:
        """Whether the minima of roles apply: they do unless they sum to more than the job's own minimum."""
        return self.min_member >= sum(minimum for _, minimum in self.spec.min_task_member)

    @property
    def is_unmodified(self) -> bool:
        """Whether it is as it was when it was made, so that another session may go on with it."""
        return not self.touched and self.phase == self.spec.phase and self.sub_groups is None

    @property
    def waiting_to_enter(self) -> bool:
        """Whether the PodGroup has not been admitted yet."""
        return self.phase in (Phase.PENDING, "")

    @property
    def has_lost_pods(self) -> bool:
        """Whether the gang runs and has lost a part of its minimum, half of it at most.

        The bound keeps a small job from getting ahead of others because somebody raises its minimum.
        """
        return self.running > 0 and not self.is_ready and self.min_member - self.ready <= self.running

    @property
    def is_ready(self) -> bool:
        """Whether the minima of the gang and of its sub-groups are met.

        Pending best-effort tasks count.
        """
        if self.ready + self.best_effort_pending < self.min_member:
            return False
        return self.sub_groups is None or self.sub_groups.are_ready

    @property
    def is_pipelined(self) -> bool:
        """Whether these minima are met once its pipelined tasks can start."""
        if self.ready + self.waiting + self.best_effort_pending < self.min_member:
            return False
        return self.sub_groups is None or self.sub_groups.are_pipelined

    @property
    def has_minima(self) -> bool:
        """The same, and the minima of its roles, once other pods have left the chosen nodes."""
        return self.is_pipelined and not self.roles_missing(waiting=True)

    @property
    def is_starving(self) -> bool:
        """Whether the gang or a required sub-group lacks its minimum even when its pipelined tasks count."""
        if self.ready + self.waiting < self.min_member:
            return True
        return self.sub_groups is not None and not self.sub_groups.are_pipelined

    @property
    def valid_count(self) -> int:
        """Number of tasks that can count towards the minimum: ready, pipelined and pending ones."""
        return self.ready + self.waiting + self.pending_count

    def needed(self, tasks: Sequence[Task], least: int, *, waiting: bool = False) -> list[Task]:
        """The first of these tasks that are enough for the minima of roles, and ``least`` in all."""
        missing = self.roles_missing(waiting=waiting)
        found: list[Task] = []
        for task in tasks if missing else ():
            if missing.get(task.role, 0) > 0:
                missing[task.role] -= 1
                found.append(task)
        chosen = {task.uid for task in found}
        return [*found, *islice((task for task in tasks if task.uid not in chosen), max(0, least - len(found)))]

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

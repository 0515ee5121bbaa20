"""Pledges of admitted jobs that cannot be placed: they block nobody else.

The plugins that admit jobs count pledges: what other jobs were admitted for and do not hold yet. Those of two kinds of
admitted jobs need not count, as the nodes show:

- Jobs that the nodes could not hold even if they were empty. Their pledges count for nobody.
- Jobs without room at present, even once all leaving pods have left: on the nodes, or in their queue. Their pledges do
  not count for a job that would run now. For the others they count, or else all jobs would be admitted in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import cached_property

import numpy as np

from vsched.framework.classes import JobClass
from vsched.framework.empty_nodes import rooms_if_empty, rows_open
from vsched.framework.jobs import JobView
from vsched.framework.ledger.pledges import SetAside
from vsched.framework.points.extension import JobEnqueueable
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.kernels.taints import cordoned
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.jobs.job import Job, claim_of, shortfall_of
from vsched.model.nodes.table import Ints
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task

Rooms = Callable[[Task], Ints]
"""int64[nodes]: how many tasks like this one each node can hold."""


class Promises:
    """The pledges of jobs that cannot be placed, as of the action ``enqueue``."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asks_outside = any(one.asks_outside for one in session.plugins.taking_part(JobEnqueueable))
        """Then plugins are asked only once about each job, and all pledges count."""
        self._counts: dict[tuple[Rooms, Hashable], int] = {}

    def lifted_for_good(self, job: JobView, refusal: Refusal) -> Refusal | None:
        """The refusal of a job without the pledges of jobs that never fit; these count for no job from now on.

        So it is from the first refusal on that counts pledges: what jobs are told does not depend on who asked before.
        """
        pledges = self._session.usage.pledges
        if self._asks_outside or pledges.aside or not any(one.promised for one in refusal.shortages):
            return refusal
        if not self._for_good:
            return refusal
        pledges.aside = self._for_good
        return self._session.plugins.job_enqueueable(job)

    def lifted_for(self, job: JobView, refusal: Refusal) -> Refusal | None:
        """The same without the pledges of jobs that do not fit now, if this job would run now."""
        if not self._is_for_others(refusal) or not self._would_run(job) or not self._for_now:
            return refusal
        pledges = self._session.usage.pledges
        before, pledges.aside = pledges.aside, self._for_now
        found = self._session.plugins.job_enqueueable(job)
        pledges.aside = before
        return found

    def _is_for_others(self, refusal: Refusal) -> bool:
        """Whether there would be enough without the pledges of other jobs."""
        short = refusal.shortages
        return bool(short) and all(one.is_others for one in short) and not self._asks_outside

    @cached_property
    def _for_good(self) -> SetAside | None:
        return self._promised(lambda job: self._fits(job, self._if_empty) is False)

    @cached_property
    def _for_now(self) -> SetAside | None:
        rooms = self._session.node_selection.rooms
        return self._promised(lambda job: not self._may_hold(job) or self._fits(job, rooms) is False)

    def _promised(self, is_stuck: Callable[[JobView], bool]) -> SetAside | None:
        """The pledges of admitted jobs that are stuck; None where there are none."""
        session, stuck = self._session, list[Job]()
        known: dict[JobClass | JobView, bool] = {}
        for key in session.snapshot.admitted:
            view, found = session.jobs.get(key), session.waiting.classes.of(key)
            if view is None or view.phase != Phase.INQUEUE:
                continue
            kind = view if found is None or view.touched else found
            if kind not in known:
                known[kind] = is_stuck(view)
            if known[kind]:
                stuck.append(view.job)
        return SetAside.of(map(claim_of, stuck)) if stuck else None

    def _would_run(self, job: JobView) -> bool:
        """Whether a job's queue may hold its minimum now, and nodes have room for it."""
        if not self._may_hold(job):
            return False
        fits = self._fits(job, self._now)
        return self._has_room_on_average(job) if fits is None else fits

    def _may_hold(self, job: JobView) -> bool:
        """Whether a job's queue may hold its minimum now."""
        session = self._session
        return session.plugins.allocatable(session.queue(job), shortfall_of(job.job)) is None

    def _fits(self, job: JobView, rooms: Rooms) -> bool | None:
        """Whether there is room for what a job lacks of its minimum; None where its pods do not exist yet.

        False is certain. True may be wrong where the pods are in each other's way.
        """
        missing = max(1, self._session.plugins.tasks_missing(job) - job.waiting)
        tasks = [task for task in job.job.pending.values() if _waits_for_node(task) and task.uid not in job.moved]
        if len(tasks) < missing:
            return None
        room: dict[tuple[Hashable, str], int] = {}
        beyond, left_over = Counter[str](), len(tasks) - missing
        for task in tasks:
            kind = self._session.node_selection.kind(task)
            left = room.get((kind, task.role))
            left = room[kind, task.role] = (self._room(rooms, kind, task) if left is None else left) - 1
            if left < 0:
                beyond[task.role] += 1
                left_over -= 1
                if left_over < 0:
                    return False
        lacking = job.roles_missing(waiting=True)
        of_role = Counter(task.role for task in tasks) if lacking else beyond
        return all(of_role[role] - beyond[role] >= count for role, count in lacking.items())

    def _room(self, rooms: Rooms, kind: Hashable, task: Task) -> int:
        found = self._counts.get((rooms, kind))
        if found is None:
            found = self._counts[rooms, kind] = min(int(rooms(task).sum(dtype=float)), UNLIMITED)
        return found

    def _now(self, task: Task) -> Ints:
        return self._session.node_selection.rooms(task, now=True)

    def _if_empty(self, task: Task) -> Ints:
        return rooms_if_empty(self._session, task.shape, rows_open(self._session, task)[0])

    def _has_room_on_average(self, job: JobView) -> bool:
        """Whether nodes have room for pods that are yet to be made, if each asks for an equal part of the minimum."""
        nodes, pods = self._session.nodes, max(1, job.min_member - job.ready)
        rooms: Ints = np.where(cordoned(nodes.statics), 0, pods)
        for column, amount in shortfall_of(job.job):
            if amount:
                np.minimum(rooms, nodes.unreserved(column) // -(-amount // pods), out=rooms)
        return int(np.maximum(rooms, 0).sum()) >= pods


def _waits_for_node(task: Task) -> bool:
    return not task.unsupported and not task.best_effort and (task.awaits_queue or not task.gated)

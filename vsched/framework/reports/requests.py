"""Pods that earlier cycles asked to end by themselves: whether to wait for them, to evict them, or to let them stay.

A request is valid as long as a nominated pod needs the room. Then the pod is evicted at the deadline, or as soon as its
owner says that it is ready. Once nobody needs the room any more, the request is withdrawn. So it is for a pod that is
moved, if no other node has room for it by then. Requests without a beneficiary (such as those of ``shuffle``) are valid
until their deadline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.framework.words.victims import EVICTION_REFUSED, NO_OTHER_PLACE, UNNEEDED
from vsched.model.jobs.job import Job
from vsched.model.plan import CONSOLIDATE, AskAgain, Evict, Withdraw
from vsched.model.pods.cooperation import EvictionRequest
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot, asked_jobs

SKEW_SECONDS = 60.0
"""A request dated this long after now was not made by a scheduler: it is due."""


class RequestAnswers(NamedTuple):
    """What follows from the requests of earlier cycles."""

    evictions: tuple[Evict, ...] = ()
    withdrawals: tuple[Withdraw, ...] = ()
    asks_responders: tuple[AskAgain, ...] = ()
    due: float = inf
    """When the first of the remaining requests ends, seconds since the epoch."""


def answers_to_requests(session: Session) -> RequestAnswers:
    """Decide about each pod that was asked to end by itself; call it once the actions have run."""
    snapshot = session.snapshot
    if not snapshot.asked:
        return RequestAnswers()
    needs, places = NominatedRoom(session), PlacesOfMoved(session)
    evictions, withdrawals, asks, due = list[Evict](), list[Withdraw](), list[AskAgain](), inf
    for job, found in asked_jobs(snapshot):
        asked = [task for task in found if task.asked is None or not _is_elsewhere(session, task.asked.beneficiary)]
        for task, request, needed in _judged(job, asked, needs):
            about = task.uid, task.namespace, task.name, task.node, job.key, request.action, request.beneficiary
            if not needed or (is_due(request, snapshot.now) and task.spared):
                why = EVICTION_REFUSED if needed else UNNEEDED
                withdrawals.append(Withdraw(*about, why, task.responds))
            elif request.action == CONSOLIDATE and is_due(request, snapshot.now) and not places.has(job, task):
                withdrawals.append(Withdraw(*about, NO_OTHER_PLACE, task.responds))
            elif is_due(request, snapshot.now):
                evictions.append(Evict(*about, whom=snapshot.named_otherwise(request.beneficiary)))
            else:
                due = min(due, request.deadline)
                if task.responds or not request.told:
                    asks.append(_again(snapshot, task, request))
    return RequestAnswers(tuple(evictions), tuple(withdrawals), tuple(asks), due)


def _again(snapshot: Snapshot, task: Task, request: EvictionRequest) -> AskAgain:
    return AskAgain(
        task.uid,
        task.namespace,
        task.name,
        request.at,
        request.deadline,
        request.action,
        request.beneficiary,
        responds=task.responds,
        told=request.told,
        whom=snapshot.named_otherwise(request.beneficiary),
    )


def _is_elsewhere(session: Session, beneficiary: str) -> bool:
    """Whether the job that needs the room belongs to another shard, which decides about the request."""
    job = session.snapshot.jobs.get(beneficiary)
    known = beneficiary in session.jobs or beneficiary in session.stranded
    return job is not None and job.waits and not known


def is_due(request: EvictionRequest, now: float) -> bool:
    """Whether the pod is evicted now, if its room is needed."""
    return request.may_go or now >= request.deadline or request.at > now + SKEW_SECONDS


def _judged(job: Job, asked: Iterable[Task], needs: NominatedRoom) -> Iterable[tuple[Task, EvictionRequest, bool]]:
    """The asked pods of a job by name, and whether each has to go.

    Pods whose room nobody needs go with the others where their job cannot do without these.
    """
    requests = [(task, task.asked) for task in asked if task.asked is not None]
    needed = [needs.needs(task, request) for task, request in requests]
    staying = [task for (task, _), need in zip(requests, needed, strict=True) if not need]
    if any(needed) and (job.spec.leaves_whole or _breaks(job, staying)):
        needed = [True] * len(needed)
    return [(task, request, need) for (task, request), need in zip(requests, needed, strict=True)]


def _breaks(job: Job, staying: Sequence[Task]) -> bool:
    """Whether the job lacks its minimum, or that of a role, although these asked pods stay."""
    of_role = Counter(task.role for task in staying)
    missing = JobView(job).roles_missing().items()
    return job.ready + len(staying) < job.spec.min_member or any(of_role[role] < count for role, count in missing)


class PlacesOfMoved:
    """Whether pods that are moved still have other places, all together, when their time to leave has come."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._taken: dict[int, dict[int, int]] = {}
        """By row: the amounts of those that were asked about before, by column."""

    def has(self, job: Job, task: Task) -> bool:
        """Whether another node has room for a pod like it now; it is kept for it from then on."""
        session, selection = self._session, self._session.node_selection
        queue, row = session.snapshot.queues.get(job.spec.queue), self._session.nodes.statics.row.get(task.node)
        successor = msgspec.structs.replace(task, status=Status.PENDING, node="", nominated="", asked=None)
        if queue is None or session.plugins.grantable(queue, successor) is not None:
            return False
        for to in selection.in_order(successor):
            taken = self._taken.get(to, {})
            room = (
                session.nodes.unreserved(column)[to] - taken.get(column, 0) >= amount
                for column, amount in task.shape.request
            )
            if to != row and all(room):
                self._taken[to] = taken
                for column, amount in task.shape.request:
                    taken[column] = taken.get(column, 0) + amount
                return True
        return False


class NominatedRoom:
    """The room that nominated pods wait for, by row and job."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows = session.nodes.statics.row
        self._waiting: dict[int, dict[str, list[Task]]] = {}
        """By row and job: tasks that wait for pods to leave."""
        self._spare: dict[int, dict[int, int]] = {}
        """By row: the amounts that are left once everything has left, by column; only of rows that were asked for."""
        freed_for = {entry.cause.beneficiary for entry in session.decisions.committed if entry.cause is not None}
        for key in {*session.snapshot.nominated, *freed_for}:
            view = session.jobs.get(key)
            for status, node, task in view.moved.values() if view is not None else ():
                row = self._rows.get(node)
                if status is Status.PIPELINED and row is not None and (task.nominated or key in freed_for):
                    self._waiting.setdefault(row, {}).setdefault(key, []).append(task)

    def needs(self, task: Task, request: EvictionRequest) -> bool:
        """Whether its room is needed: by its beneficiary, or by another job that has too little without it.

        A pod whose room is not needed counts as staying from then on.
        """
        row = self._rows.get(task.node)
        if not request.beneficiary:
            return True
        if row is None:
            return False
        waiting = self._waiting.get(row)
        if waiting is None:
            return False
        if request.beneficiary in waiting:
            return True
        spare = self._spare_of(row, waiting)
        if any(spare.get(column, amount) < amount for column, amount in task.shape.request):
            return True
        for column, amount in task.shape.request:
            if column in spare:
                spare[column] -= amount
        return False

    def _spare_of(self, row: int, waiting: Mapping[str, list[Task]]) -> dict[int, int]:
        """What is left of a row for those that stay, in the columns that waiting tasks ask for."""
        found = self._spare.get(row)
        if found is None:
            asked: dict[int, int] = {}
            for tasks in waiting.values():
                for task in tasks:
                    for column, amount in task.shape.request:
                        asked[column] = asked.get(column, 0) + amount
            nodes = self._session.nodes
            found = self._spare[row] = {
                column: int(nodes.idle[column, row] + nodes.releasing[column, row]) - amount
                for column, amount in asked.items()
            }
        return found

"""Reserves the nodes of ProvisioningRequests for their gangs, before any job has its turn."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from itertools import islice

import numpy as np

from vsched.actions.assigning import place_in_any_way
from vsched.actions.blocked import PendingTasks
from vsched.actions.places import place_close
from vsched.actions.placing import PlacingGoal, choose, goal_later
from vsched.actions.subgroups import place_in_groups
from vsched.actions.task_kinds import kinds_of
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.lifting import may_be_lifted
from vsched.framework.nodes.reserving import Placements
from vsched.framework.nominations import lift_nomination
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.model.amounts.resources import Vector, add
from vsched.model.jobs.provisioning import PROVISIONED, Provisioning
from vsched.model.nodes.table import Mask
from vsched.model.pods.status import Status
from vsched.model.queues.queue import Queue

TASKS_MAX = 4096
"""For so many tasks room is looked for in one cycle; nothing is reserved for the gangs after these."""
NEW_FIRST = 1e6
"""Score of a node that came since the request was made."""


def reserve_provisioned(session: Session, jobs: Container[str], pending: Mapping[str, PendingTasks]) -> None:
    """Reserve for each gang with an open request the room that its tasks find on the nodes that came for it.

    ``pending`` are the tasks that these jobs have to place. Gangs whose nodes are provisioned go first, then those
    whose turn is first.
    """
    if session.reserved.provisioned is None:
        return
    left = TASKS_MAX
    for job, found in _open(session, jobs, pending):
        left -= max(1, session.plugins.tasks_missing(job))
        if left < 0:
            return
        came = _came_since(session, found.kept_since)
        provisioned = found.state == PROVISIONED
        if provisioned or came.any():
            with session.reservations.lifted(job):
                session.reserved.provisioned.reserve(
                    job, _places(session, job, pending[job.key], came, provisioned=provisioned)
                )


def _open(
    session: Session, jobs: Container[str], pending: Mapping[str, PendingTasks]
) -> list[tuple[JobView, Provisioning]]:
    """The gangs with reserved nodes that may start once they have all of them, in order."""
    now = session.snapshot.now
    found = [
        (session.jobs[key], one)
        for key, one in (session.snapshot.provisioning or {}).items()
        if one.kept_until > now and key in jobs and pending[key]
    ]
    lacking = [one for one in found if not one[0].is_pipelined and _lacks_nodes_alone(session, one[0], pending)]
    return sorted(lacking, key=lambda one: (one[1].state != PROVISIONED, session.plugins.job_key(one[0])))


def _lacks_nodes_alone(session: Session, job: JobView, pending: Mapping[str, PendingTasks]) -> bool:
    """Whether neither limits on running jobs nor what its queue states keep a gang from its start."""
    plugins = session.plugins
    if plugins.start_limit(job) is not None:
        return False
    total: Vector = {}
    for task in islice(pending[job.key], plugins.tasks_missing(job)):
        add(total, task.shape.request)
    with session.reservations.lifted(job):
        refusal = plugins.allocatable(session.queue(job), tuple(sorted(total.items())))
    return refusal is None or may_be_lifted(session, refusal)


def _came_since(session: Session, moment: float) -> Mask:
    """bool[nodes]: the nodes that were made since then."""
    statics = session.nodes.statics
    created = statics.remember("created", lambda: np.array([one.created for one in statics.attributes], np.float64))
    came: Mask = created >= moment
    return came


def _places(session: Session, job: JobView, pending: PendingTasks, came: Mask, *, provisioned: bool) -> Placements:
    """Where the tasks find room, with nothing changed after it: on nodes that came, and on all once provisioned.

    Nowhere where the gang does not lack nodes but something else: then others may have them.
    """
    rows = np.arange(len(session.nodes))
    of_tasks, of_job = session.refused.of_tasks(pending), session.refused.jobs.get(job.key)
    with session.node_selection.within(rows if provisioned else rows[came], np.where(came, NEW_FIRST, 0.0)):
        found = _close_together(session, job, pending) if job.asks_closeness else None
        if found is None:
            found = _anywhere(session, job, pending)
    session.refused.restore(of_tasks)
    if of_job is None:
        session.refused.jobs.pop(job.key, None)
    return found


def _close_together(session: Session, job: JobView, pending: PendingTasks) -> Placements | None:
    """The places of a gang that asks for closeness, or has sub-groups; None where not all of it has one yet."""
    queue = session.queue(job)
    with session.statement() as statement:
        if job.sub_groups is not None:
            place_in_groups(session, queue, job, job.sub_groups, PendingTasks(pending), statement)
        else:
            place_close(session, queue, job, PendingTasks(pending), statement)
        return _placed(statement) if job.is_pipelined else None


def _anywhere(session: Session, job: JobView, pending: PendingTasks) -> Placements:
    """The places of the tasks of its minimum, in any way that there is, else of as many as there is room for in order.

    The size of the cluster may limit the gang's queue until all its nodes are there. With all of them, it may not.
    """
    queue, goal = session.queue(job), goal_later(session, job)
    limited = session.plugins.overused(queue)
    with session.statement() as statement:
        before = statement.savepoint()
        refusal = _place_one_by_one(session, queue, job, pending, statement, goal)
        if refusal is not None:
            if not may_be_lifted(session, refusal):
                return ()
            limited = True
        elif not goal.met():
            kinds = kinds_of(session, tuple(pending), lambda task: task.role)
            place_in_any_way(session, queue, job, kinds, PendingTasks(), statement, before, goal)
        return () if limited and goal.met() else _placed(statement)


def _place_one_by_one(
    session: Session, queue: Queue, job: JobView, pending: PendingTasks, statement: Statement, goal: PlacingGoal
) -> Refusal | None:
    """Place tasks until the goal is met.

    Returns the last refusal of its queue: the first one that added nodes cannot lift ends it.
    """
    selection = session.node_selection
    full: set[Hashable] = set()
    last: Refusal | None = None
    for task in pending:
        kind = selection.kind(task)
        if kind in full or (task.claims is not None and session.claims.obstacle(task) is not None):
            continue
        refusal = session.plugins.grantable(queue, task)
        if refusal is not None:
            last = refusal
            if not may_be_lifted(session, refusal):
                return refusal
        lift_nomination(session, statement, job, task)
        choice = choose(session, task)
        if choice is None:
            full.add(kind)
        elif choice.waits:
            statement.pipeline(job, task, choice.row)
        else:
            statement.allocate(job, task, choice.row)
        if goal.met():
            break
    return last


def _placed(statement: Statement) -> Placements:
    return [(entry.task, entry.row) for entry in statement.steps if entry.before is Status.PENDING]

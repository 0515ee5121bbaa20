"""One turn of one job: as many of its tasks find nodes as it needs, or none."""

from __future__ import annotations

from vsched.actions.assigning import place_until_ready
from vsched.actions.blocked import PendingTasks, explain_gang_limit, is_blocked, may_start, note_cluster_room
from vsched.actions.pending import to_place
from vsched.actions.places import place_close
from vsched.actions.placing import PlacingGoal
from vsched.actions.planning import plan_start
from vsched.actions.sharing import place_sharing
from vsched.actions.subgroups import place_in_groups
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue


def take_turn(session: Session, queue: Queue, job: JobView, tasks: PendingTasks) -> bool:
    """Try to place tasks of one job; True where the job needs another turn."""
    with session.reservations.lifted(job):
        if session.reserved.planned is not None:
            session.reserved.planned.begin_turn(job)
        again = try_turn(session, queue, job, tasks)
        if not again and job.asks_closeness:
            note_cluster_room(session, job)
        if not again and session.reserved.planned is not None:
            plan_start(session, queue, job, lambda: to_place(session, job))
        return again


def place_tasks(
    session: Session,
    queue: Queue,
    job: JobView,
    tasks: PendingTasks,
    statement: Statement,
    goal: PlacingGoal | None = None,
) -> None:
    """Place tasks of one job on nodes that may be chosen at present, together where the job asks for that.

    A ``goal`` stands in place of the whole job's where tasks go one by one.
    """
    if job.sub_groups is not None:
        place_in_groups(session, queue, job, job.sub_groups, tasks, statement)
    elif job.spec.topology is not None:
        place_close(session, queue, job, tasks, statement)
    elif job.job.claiming:
        place_sharing(session, queue, job, tasks, statement)
    else:
        place_until_ready(session, queue, job, tasks, statement, goal)


def plan_first(session: Session, queue: Queue, job: JobView) -> None:
    """Plan the start of the first job of a queue that gets no turns, as the queue holds all that it deserves."""
    if session.reserved.planned is not None:
        with session.reservations.lifted(job):
            session.reserved.planned.begin_turn(job)
            plan_start(session, queue, job, lambda: to_place(session, job))


def try_turn(session: Session, queue: Queue, job: JobView, tasks: PendingTasks) -> bool:
    """Try to place tasks of one job, and keep what it may keep; True where it needs another turn."""
    if not may_start(session, job):
        return False
    with session.statement() as statement:
        if is_blocked(session, queue, job, tasks):
            return False
        place_tasks(session, queue, job, tasks, statement)
        is_ready = session.plugins.job_ready(job)
        if is_ready and (job.sub_groups is None or job.sub_groups.are_whole(statement.tasks)):
            statement.commit()
            return bool(tasks)
        if statement.placed and session.plugins.job_pipelined(job):
            statement.keep()
            return is_ready and bool(tasks)
        placed = statement.tasks
        session.refused.tried.update(task.uid for task in placed)
    explain_gang_limit(session, queue, job, placed)
    return False

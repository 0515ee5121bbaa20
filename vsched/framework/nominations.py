"""Reserves nominated nodes at the start of a cycle, for the tasks that earlier cycles freed room for.

The pod's nominated node is the only record of which room was freed for which task. A nomination is reserved only if its
job, and its sub-group, can still be pipelined with it. Nominations that are not reserved are cleared at the end of the
cycle (``framework.reports.effects``).
"""

from __future__ import annotations

from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.session import Session
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


def reserve_nominations(session: Session) -> None:
    """Reserve the nominated nodes of the jobs that can still use them, in job order."""
    if not session.snapshot.nominated:
        return
    jobs = [session.jobs[key] for key in session.snapshot.nominated if key in session.jobs]
    has_to_enter = "enqueue" in session.policy.actions
    for job in sorted(jobs, key=session.plugins.job_key):
        if (job.waiting_to_enter and has_to_enter) or session.plugins.job_valid(job) is not None:
            continue
        if session.plugins.start_limit(job) is not None:
            continue
        with session.reservations.lifted(job), session.statement() as statement:
            reserved = _reserve(session, job, statement)
            if reserved and session.plugins.job_pipelined(job) and session.places.meets_topology(job):
                statement.keep()
                session.decisions.nominated |= {task.uid: row for task, row in reserved}


def _reserve(session: Session, job: JobView, statement: Statement) -> list[tuple[Task, int]]:
    reserved: list[tuple[Task, int]] = []
    queue = session.queue(job)
    for task in session.plugins.ordered_tasks(task for task in job.job.pending.values() if task.nominated):
        row = session.nodes.statics.row.get(task.nominated)
        if row is None or task.gated or not session.node_selection.can_hold(task, row):
            continue
        refusal = session.plugins.grantable(queue, task)
        # What the queue deserves, or what the namespace may hold, can drop for a moment while pods come and go. While
        # the victims are still leaving, such a drop must not lose the nomination.
        if refusal is None or (refusal.passing and session.node_selection.is_left(row)):
            statement.pipeline(job, task, row)
            reserved.append((task, row))
    groups = job.sub_groups
    partial = [one for one in reserved if groups is not None and not groups.will_be_whole(one[:1])]
    for task, row in partial:
        statement.withdraw(job, task, row)
    return [one for one in reserved if one not in partial] if partial else reserved


def lift_nomination(session: Session, statement: Statement, job: JobView, task: Task) -> None:
    """Free the room reserved for a task, so that it can be placed; a rollback of the statement reserves it again."""
    row = session.decisions.nominated.get(task.uid)
    if row is not None and job.moved.get(task.uid, (Status.PENDING,))[0] is Status.PIPELINED:
        statement.withdraw(job, task, row)

"""The action allocate: places the tasks of admitted jobs in turns (reference 3.2).

In its first turn, a gang gets nodes for its whole minimum, or none. In each further turn it gets one more task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Annotated

import msgspec

from vsched.actions.gates import open_gates
from vsched.actions.held import Worksheet, held_back, nodes_first, note_overused
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.actions.turns import JobTurns
from vsched.framework.holding import lift
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.selection import Choice
from vsched.framework.policy import inert
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session, to_leave
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


class PlacingArgs(OrderingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of the actions that place tasks on nodes."""

    error_cache: Annotated[bool, inert("what holds for one pod is always reused for its like")] = msgspec.field(
        default=True, name="predicateErrorCacheEnable"
    )


def allocate(session: Session) -> None:
    """Give jobs turns until no more tasks can be placed."""
    sheets = {job.key: sheet for job in session.jobs.values() if (sheet := worksheet(session, job))}
    place_held(session, sheets)
    gated = {job.key for job in session.jobs.values() if job.job.awaiting and workable(session, job)}
    jobs = [session.jobs[key] for key in dict.fromkeys([*sheets, *sorted(gated)])]
    ordering = QueueOrdering(session.plugins, session.args("allocate", PlacingArgs))
    for queue, job, lane in JobTurns(ordering, session.snapshot.queues, jobs):
        if session.plugins.overused(queue):
            lane.end_turn(job)
            lane.closed = True
            for waiting in lane.waiting():
                if waiting.key in sheets:
                    note_overused(session, queue, waiting, sheets[waiting.key])
            continue
        if job.key in gated:
            gated.remove(job.key)
            open_gates(session, queue, job)
        again = job.key in sheets and take_turn(session, queue, job, sheets[job.key])
        lane.end_turn(job if again else None)


def place_held(session: Session, sheets: dict[str, Worksheet]) -> None:
    """Give jobs with nominated nodes their first turn, because the room freed for them is theirs."""
    keys = [key for key in session.snapshot.nominated if any(task.uid in session.held for task in sheets.get(key, ()))]
    for job in sorted((session.jobs[key] for key in keys), key=session.plugins.job_key):
        if not take_turn(session, session.queue(job), job, sheets[job.key]):
            del sheets[job.key]


def worksheet(session: Session, job: JobView) -> Worksheet:
    """The tasks to place; empty where the job must not be worked on in this cycle."""
    if job.waiting_to_enter and "enqueue" not in session.policy.actions:
        job.phase = Phase.INQUEUE
    if job.waiting_to_enter or not job.job.pending:
        workable(session, job)
        return deque()
    shut = session.shut(job)
    if shut is not None and any(not task.best_effort for task in job.job.pending.values()):
        session.job_refusals[job.key] = shut
        return deque()
    if not workable(session, job):
        return deque()
    return deque(session.plugins.ordered_tasks(session.pending_tasks(job, best_effort=False)))


def workable(session: Session, job: JobView) -> bool:
    """Whether the job is admitted and valid; records why it is not valid."""
    if job.waiting_to_enter:
        return False
    refusal = session.plugins.job_valid(job)
    if refusal is not None and session.job_refusals.get(job.key, refusal).rank:
        session.job_refusals[job.key] = refusal
    return refusal is None


def take_turn(session: Session, queue: Queue, job: JobView, sheet: Worksheet) -> bool:
    """Try to place tasks of one job; True where the job needs another turn."""
    with session.reservations.lifted(job), session.statement() as statement:
        if held_back(session, queue, job, sheet):
            return False
        place_until_ready(session, queue, job, sheet, statement)
        if session.plugins.job_ready(job):
            statement.commit()
            return bool(sheet)
        if statement.placed and session.plugins.job_pipelined(job):
            statement.keep()
        else:
            session.tried.update(task.uid for task in statement.tasks)
    return False


def place_until_ready(session: Session, queue: Queue, job: JobView, sheet: Worksheet, statement: Statement) -> None:
    """Place tasks until the job is ready, or until failed tasks make that impossible (reference 3.2.1)."""
    failed_roles: set[str] = set()
    failed_claims: set[Hashable] = set()
    """Kinds of tasks with claims that found no node. Tasks of one role may differ in what they claim."""
    while sheet:
        task = sheet.popleft()
        if task.claims is not None and (obstacle := session.claims.obstacle(task)) is not None:
            session.task_refusals[task.uid] = obstacle
            if session.plugins.tasks_missing(job) > len(sheet):
                break
            continue
        before = statement.savepoint()
        lift(session, statement, job, task)
        refusal = session.plugins.grantable(queue, task)
        if refusal is not None:
            session.task_refusals[task.uid] = nodes_first(session, task, 1, refusal)
            statement.rollback(before)
            continue
        failed = (task.role and task.role in failed_roles) or (
            failed_claims and task.claims is not None and session.node_selection.kind(task) in failed_claims
        )
        choice = None if failed else choose(session, task)
        if choice is None:
            session.task_refusals[task.uid] = session.node_selection.explain(task)
            statement.rollback(before)
            if task.claims is not None:
                failed_claims.add(session.node_selection.kind(task))
                worth_it = session.plugins.tasks_missing(job) <= len(sheet)
            else:
                failed_roles.add(task.role)
                worth_it = worth_going_on(job, failed_roles)
            if not worth_it:
                break
            continue
        if choice.waits:
            statement.pipeline(job, task, choice.row)
            session.task_refusals[task.uid] = waits_for(session, choice)
        else:
            statement.allocate(job, task, choice.row)
            session.task_refusals.pop(task.uid, None)
        if session.plugins.job_ready(job):
            break


def choose(session: Session, task: Task) -> Choice | None:
    """The nominated node if the task fits there, else the best node; None where no node fits."""
    row = session.nodes.statics.row.get(task.nominated) if task.nominated else None
    return session.node_selection.choose(task, row)


def worth_going_on(job: JobView, failed_roles: set[str]) -> bool:
    """Whether the job's minimum can still be met after tasks of these roles found no node (reference 0.4)."""
    if job.min_member == len(job.job.tasks):
        return False
    minima = dict(job.spec.min_task_member)
    roles = job.roles or {}
    if not job.gates_minimum:
        open_pending = sum(counts.pending for role, counts in roles.items() if role not in failed_roles)
        return job.ready + open_pending >= job.min_member
    return all(
        role not in minima or (role in roles and roles[role].occupied(waiting=False, pending=False) >= minima[role])
        for role in failed_roles
    )


def waits_for(session: Session, choice: Choice) -> Refusal:
    """The refusal of a task that waits for other pods to leave its node."""
    return to_leave(session.nodes.statics.names[choice.row])

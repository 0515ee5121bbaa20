"""Places tasks of one job, one after the other, until enough have a node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Annotated, NamedTuple

import msgspec

from vsched.actions.blocked import PendingTasks, nodes_first
from vsched.actions.ordering import OrderingArgs
from vsched.actions.words import ERRORS_REUSED
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.selection import Choice
from vsched.framework.nominations import lift_nomination
from vsched.framework.policy import inert
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.starting import to_leave
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


class PlacingArgs(OrderingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of the actions that place tasks on nodes."""

    error_cache: Annotated[bool, inert(ERRORS_REUSED)] = msgspec.field(default=True, name="predicateErrorCacheEnable")


class PlacingGoal(NamedTuple):
    """When enough tasks of a job, or of a sub-group, have a node."""

    met: Callable[[], bool]
    """Whether enough have a node, so that no further task is placed in this turn."""
    missing: Callable[[], int]
    """A lower bound on the tasks to place before ``met`` can be true."""
    will_be_met: Callable[[], bool]
    """Whether enough have a node where those count that wait for other pods to leave."""
    missing_later: Callable[[], int]
    """A lower bound on the tasks to place before ``will_be_met`` can be true."""
    in_reach: Callable[[set[str], int], bool]
    """Whether it can still be met after tasks of these roles found no node, with so many tasks left to try."""
    parts_missing: Callable[[bool], Mapping[str, int]] = lambda waiting: {}
    """How many more tasks of each role or sub-group it takes; those that wait for other pods to leave may count."""
    subject: Hashable = None
    """What it is about, among the goals of its job; None where searches for it are not remembered."""


def goal_of(session: Session, job: JobView) -> PlacingGoal:
    """The goal of a whole job: it is ready."""
    return PlacingGoal(
        lambda: session.plugins.job_ready(job),
        lambda: session.plugins.tasks_missing(job),
        lambda: session.plugins.job_pipelined(job),
        lambda: max(0, session.plugins.tasks_missing(job) - job.waiting),
        lambda failed_roles, left: worth_going_on(job, failed_roles),
        lambda waiting: job.roles_missing(waiting=waiting),
        "job",
    )


def goal_later(session: Session, job: JobView) -> PlacingGoal:
    """The goal of a whole job whose start is planned: that it is ready once other pods have left."""

    def missing() -> int:
        return max(0, session.plugins.tasks_missing(job) - job.waiting)

    return PlacingGoal(
        lambda: job.has_minima,
        missing,
        lambda: job.has_minima,
        missing,
        lambda failed_roles, left: worth_going_on(job, failed_roles),
        lambda waiting: job.roles_missing(waiting=True),
        "job, later",
    )


def place_in_order(
    session: Session, queue: Queue, job: JobView, pending: PendingTasks, statement: Statement, goal: PlacingGoal
) -> None:
    """Place task after task until the goal is met, or until failed tasks make that impossible."""
    failed_roles: set[str] = set()
    failed_claims: set[Hashable] = set()
    """Kinds of tasks with claims that found no node. Tasks of one role may differ in what they claim."""
    while pending:
        task = pending.popleft()
        if task.claims is not None and (obstacle := session.claims.obstacle(task)) is not None:
            session.refused.tasks[task.uid] = obstacle
            if goal.missing() > len(pending):
                break
            continue
        before = statement.savepoint()
        if session.decisions.nominated:
            lift_nomination(session, statement, job, task)
        refusal = session.plugins.grantable(queue, task)
        if refusal is not None:
            session.refused.tasks[task.uid] = nodes_first(session, task, 1, refusal)
            statement.rollback(before)
            continue
        failed = (task.role and task.role in failed_roles) or (
            failed_claims and task.claims is not None and session.node_selection.kind(task) in failed_claims
        )
        choice = None if failed else choose(session, task)
        if choice is None:
            session.refused.tasks[task.uid] = session.node_selection.explain(task)
            statement.rollback(before)
            if task.claims is not None:
                failed_claims.add(session.node_selection.kind(task))
                worth_it = goal.missing() <= len(pending)
            else:
                failed_roles.add(task.role)
                worth_it = goal.in_reach(failed_roles, len(pending))
            if not worth_it:
                break
            continue
        if choice.waits:
            statement.pipeline(job, task, choice.row)
            session.refused.tasks[task.uid] = waits_for(session, choice)
        else:
            statement.allocate(job, task, choice.row)
            session.refused.tasks.pop(task.uid, None)
        if goal.met():
            break


def choose(session: Session, task: Task) -> Choice | None:
    """The nominated node if the task fits there, else the best node; None where no node fits.

    Pods of the nominated node that were only asked to leave may stay if another node has room now.
    """
    if not task.nominated:
        return session.node_selection.choose(task)
    row = session.nodes.statics.row.get(task.nominated)
    choice = session.node_selection.choose(task, row)
    if choice is not None and choice.waits and session.asked_on.get(task.nominated, ()):
        elsewhere = session.node_selection.choose(task, None)
        if elsewhere is not None and not elsewhere.waits:
            return elsewhere
    return choice


def worth_going_on(job: JobView, failed_roles: set[str]) -> bool:
    """Whether the job's minimum can still be met after tasks of these roles found no node."""
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
    node = session.nodes.statics.names[choice.row]
    return to_leave(node, session.asked_on.get(node, ()))

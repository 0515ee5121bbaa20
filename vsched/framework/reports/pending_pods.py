"""The pending pods of a job once the actions have run: which were refused themselves, and which have a node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set

from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.starting import PIPELINED, to_leave, to_start
from vsched.framework.words.nodes import REFUSED
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

NO_UIDS: Set[str] = frozenset()


def cause_of(session: Session, view: JobView) -> Task | None:
    """The task whose refusal explains the job: the oldest without a node, those of roles below their minimum first.

    Where every task has a node, it is the oldest that waits for other pods to leave its node.
    """
    refusals = session.refused.tasks
    refused = [
        task
        for uid, task in view.job.pending.items()
        if uid in refusals and (has_place(view, uid) or (uid not in view.moved and not waits(refusals[uid])))
    ]
    short = _roles_short(session, view)
    return min(
        refused,
        key=lambda task: (waits(refusals[task.uid]), task.role not in short, task.created, task.name),
        default=None,
    )


def set_back(session: Session, view: JobView, statuses: Collection[Status]) -> list[Task]:
    """Its tasks in these statuses whose last binding was refused, or whose claims could not be had."""
    setbacks = session.snapshot.setbacks
    if not setbacks:
        return []
    return [task for uid, task in view.job.tasks.items() if uid in setbacks and task.status in statuses]


def with_refusal(session: Session, task: Task, why: NodeReasons, message: str) -> str:
    """The message, with that of admission where nodes are left out for it."""
    setback = session.snapshot.setbacks.get(task.uid) if REFUSED in why.reasons else None
    return message if setback is None else f"{message.removesuffix('.')}; {setback}"


def set_apart(session: Session, view: JobView) -> Set[str] | None:
    """Uids of the pending tasks that were tried or refused themselves; for all others, the refusal of the job counts.

    None where tasks differ in more than that: some have gates, or nodes.
    """
    job = view.job
    if view.moved or job.gated or job.awaiting or job.unplaceable:
        return None
    pending, refusals, tried = job.pending.keys(), session.refused.tasks.keys(), session.refused.tried
    # Of two views or sets, these operations walk through the smaller one.
    if pending.isdisjoint(refusals) and pending.isdisjoint(tried):
        return NO_UIDS
    return (pending & refusals) | (pending & tried)


def refusal_of(session: Session, view: JobView, uid: str) -> NodeReasons | Refusal | None:
    """Why a task was not bound; None where it was not refused, or where its old reason (a node to wait for) is gone."""
    why = session.refused.tasks.get(uid)
    if has_place(view, uid):
        return place_of(session, view, uid)
    return None if why is not None and waits(why) else why


def place_of(session: Session, view: JobView, uid: str) -> Refusal:
    """The message for a task that has a node but cannot start yet."""
    node = view.moved[uid][1]
    if session.is_left(node):
        return to_leave(node, session.asked_on.get(node, ()))
    others = (view.moved[one][1] for one in view.job.pending if has_place(view, one))
    return to_start(node, at_once=view.has_minima and not any(session.is_left(one) for one in others))


def _roles_short(session: Session, view: JobView) -> set[str]:
    """Roles for which this cycle's last try found nodes for fewer tasks than their minimum."""
    return {role for role, missing in view.roles_missing().items() if fitting(session, view, of_role(role)) < missing}


def fitting(session: Session, view: JobView, counts: Callable[[Task], bool] = lambda task: True) -> int:
    """How many of the tasks that ``counts`` is true of found a node in a try rolled back since, or are pipelined."""
    found = (task for uid, task in view.job.pending.items() if uid in session.refused.tried or has_place(view, uid))
    return sum(1 for task in found if counts(task))


def of_role(role: str) -> Callable[[Task], bool]:
    """Whether a task has the role."""
    return lambda task: task.role == role


def has_place(view: JobView, uid: str) -> bool:
    """Whether a task has a node that it waits for."""
    return uid in view.moved and view.moved[uid][0] is Status.PIPELINED


def waits(why: NodeReasons | Refusal) -> bool:
    """Whether a task was refused only because other pods have yet to leave its node."""
    return isinstance(why, Refusal) and why.reason == PIPELINED

"""Gangs whose pods share a claim for devices that no node was chosen for yet.

The first pod decides on the node of the devices, and the others have to follow. So if the node that is best for one pod
has no room for all of them, the gang is tried again on the nodes that have.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from vsched.actions.assigning import place_until_ready
from vsched.actions.blocked import PendingTasks
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.session import Session
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


def place_sharing(session: Session, queue: Queue, job: JobView, pending: PendingTasks, statement: Statement) -> None:
    """Place tasks until the job is ready; a second try has all tasks that share a claim on one node."""
    tasks = tuple(pending) if not session.plugins.job_ready(job) else ()
    before = statement.savepoint()
    place_until_ready(session, queue, job, pending, statement)
    if not tasks or session.plugins.job_ready(job) or session.plugins.job_pipelined(job):
        return
    shared = _sharing(session, tasks)
    if not shared:
        return
    refusals = session.refused.of_tasks(tasks)
    session.refused.tried.update(task.uid for task in statement.tasks)  # these found a node, taken one by one
    statement.rollback(before)
    rows = _rows_for_all(session, job, shared)
    if len(rows):
        rest = tuple(pending)
        pending.clear()
        pending.extend(tasks)
        with session.node_selection.within(rows):
            place_until_ready(session, queue, job, pending, statement)
        if session.plugins.job_ready(job) or session.plugins.job_pipelined(job):
            return
        statement.rollback(before)
        pending.clear()
        pending.extend(rest)
    for uid, refusal in refusals.items():  # what is in the way on all nodes, not on those of the second try
        if refusal is not None:
            session.refused.tasks[uid] = refusal


def _sharing(session: Session, tasks: tuple[Task, ...]) -> list[Task]:
    """The tasks that share a claim without devices with others of these."""
    claims = session.snapshot.claims.devices.claims
    named = {
        task.uid: [one.claim for one in task.claims.devices if one.claim]
        for task in tasks
        if task.claims is not None and task.claims.devices
    }
    users = Counter(key for keys in named.values() for key in keys)
    fresh = {key for key, count in users.items() if count > 1 and key in claims and claims[key].allocation is None}
    return [task for task in tasks if not fresh.isdisjoint(named.get(task.uid, ()))]


def _rows_for_all(session: Session, job: JobView, tasks: list[Task]) -> Ints:
    """int64[..]: the nodes with room for so many of these tasks as the gang lacks, of each shape among them."""
    missing = session.plugins.tasks_missing(job)
    shapes = Counter(task.shape for task in tasks)
    firsts = {task.shape: task for task in reversed(tasks)}
    passes = np.ones(len(session.nodes), dtype=np.bool_)
    for shape, count in shapes.items():
        needed = max(1, min(count, missing - (len(tasks) - count)))
        passes &= session.node_selection.rooms(firsts[shape], now=True) >= needed
    return np.flatnonzero(passes)

"""Removes the queue's scheduling gate from pods when their queue has room for them.

The nodes do not matter here, because an autoscaler may add nodes for pods without a gate. A later cycle places the
pods, once the API server has removed the gate.
"""

from __future__ import annotations

from vsched.actions.blocked import gang_refusal, may_start
from vsched.actions.subgroups import arranged
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue


def open_gates(session: Session, queue: Queue, job: JobView) -> None:
    """Decide to remove the gates of a job's tasks, one after the other, while the queue has room for them.

    If the queue has no room for all that a gang lacks of its minimum, or limits on running jobs keep the job from
    starting, none of its gates are removed.
    """
    if not may_start(session, job):
        return
    waiting = session.plugins.ordered_tasks(task for task in job.job.pending.values() if task.awaits_queue)
    if job.sub_groups is not None:
        waiting = list(arranged(session, job.sub_groups, waiting))
    missing = session.plugins.tasks_missing(job)
    too_many = gang_refusal(session, queue, job, waiting, missing) if missing > 1 else None
    for task in waiting:
        refusal = too_many or session.plugins.grantable(queue, task)
        if refusal is not None:
            session.refused.tasks[task.uid] = refusal
            continue
        session.decisions.ungated.append(task)
        session.reservations.add(queue, task)

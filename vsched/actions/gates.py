"""Opens the gates of queues: for pods that wait to be let in until their queue has room for them (reference 1.12).

Whether there is a node for them is not asked: nodes may be made for pods that are let in. They are placed by a later
cycle, once the API server has taken the gate away.
"""

from __future__ import annotations

from vsched.actions.held import gang_refusal
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue


def open_gates(session: Session, queue: Queue, job: JobView) -> None:
    """Let in the tasks of a job that wait at the gate, one after the other while the queue has room for them.

    A gang whose minimum is more than the queue has room for is not let in by halves.
    """
    waiting = session.plugins.ordered_tasks(task for task in job.job.pending.values() if task.awaits_queue)
    missing = session.plugins.tasks_missing(job)
    too_many = gang_refusal(session, queue, job, waiting, missing) if missing > 1 else None
    for task in waiting:
        refusal = too_many or session.plugins.grantable(queue, task.namespace, task.shape)
        if refusal is not None:
            session.task_refusals[task.uid] = refusal
            continue
        session.ungated.append(task)
        session.reservations.add(queue, task)

"""backfill: places tasks that ask for nothing but a pod slot, wherever they may run (reference 3.3)."""

from __future__ import annotations

from vsched.actions.allocate import workable
from vsched.framework.jobs import JobView
from vsched.framework.session import Session


def backfill(session: Session) -> None:
    """Queue by queue, job by job: every best-effort task that finds a node is placed.

    Whether a queue has had its share does not matter: such a task takes nothing that is shared out. The placements of
    a job are carried out as soon as its minimum is met, those of earlier tries included.
    """
    candidates = [job for job in session.jobs.values() if job.best_effort_pending and workable(session, job)]
    for job in drained(session, candidates):
        with session.statement() as statement:
            for task in session.plugins.ordered_tasks(session.pending_tasks(job, best_effort=True)):
                choice = session.fitting.choose(task)
                if choice is None or choice.waits:
                    session.task_refusals[task.uid] = session.fitting.explain(task)
                    continue
                statement.allocate(job, task, choice.row)
            statement.keep()
        if session.plugins.job_ready(job):
            session.dispatch(job)


def drained(session: Session, jobs: list[JobView]) -> list[JobView]:
    """The jobs in order: all of the first queue, then all of the next (reference 3.3: the order is worked out once)."""
    plugins, queues = session.plugins, session.snapshot.queues
    return sorted(jobs, key=lambda job: (plugins.queue_key(queues[job.queue]), plugins.job_key(job)))

"""backfill: places tasks that ask for nothing but a pod slot, wherever they may run (reference 3.3)."""

from __future__ import annotations

from vsched.actions.allocate import PlacingArgs, workable
from vsched.actions.held import nodes_first
from vsched.actions.ordering import QueueOrdering
from vsched.framework.holding import lift
from vsched.framework.session import Session


def backfill(session: Session) -> None:
    """Queue by queue, job by job: every best-effort task that finds a node is placed.

    Whether a queue has had its share does not matter: such a task takes nothing that is shared out; of what a queue or
    a namespace may hold it takes a slot. The placements of a job are carried out as soon as its minimum is met, those
    of earlier tries included.
    """
    plugins = session.plugins
    candidates = [
        job for job in session.jobs.values() if (job.best_effort_pending or session.held) and workable(session, job)
    ]
    ordering = QueueOrdering(session.plugins, session.args("backfill", PlacingArgs))
    for job in ordering.drained(candidates, session.snapshot.queues):
        queue = session.queue(job)
        with session.statement() as statement:
            for task in session.plugins.ordered_tasks(session.pending_tasks(job, best_effort=True)):
                before = statement.savepoint()
                lift(session, statement, job, task)
                refusal = plugins.slot_limit(queue, task.shape) or plugins.namespace_limit(task.namespace, task.shape)
                if refusal is not None:
                    session.task_refusals[task.uid] = nodes_first(session, task, 1, refusal)
                    statement.rollback(before)
                    continue
                choice = session.fitting.choose(task)
                if choice is None or choice.waits:
                    session.task_refusals[task.uid] = session.fitting.explain(task)
                    statement.rollback(before)
                    continue
                statement.allocate(job, task, choice.row)
            statement.keep()
        if session.plugins.job_ready(job):
            session.dispatch(job)

"""The action backfill: places best-effort tasks, which ask only for a pod slot, on nodes they fit (reference 3.3).

A task with claims is none of them, unlike in the reference: ``allocate`` places it, as a part of its gang.
"""

from __future__ import annotations

from vsched.actions.allocate import PlacingArgs, workable
from vsched.actions.held import nodes_first
from vsched.actions.ordering import QueueOrdering
from vsched.framework.holding import lift
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.session import Session
from vsched.model.pods.status import Status


def backfill(session: Session) -> None:
    """Place every best-effort task that finds a node, queue by queue and job by job.

    A queue's share does not matter, because such a task uses nothing that is shared. Limits on the number of pods in
    the queue or the namespace do apply. Once a job has its minimum, its placements are committed, including those of
    earlier tries.
    """
    plugins, kept = session.plugins, holding_nodes(session)
    candidates = [
        job for job in session.jobs.values() if (job.best_effort_pending or job.key in kept) and workable(session, job)
    ]
    if not candidates:
        return
    standing, log = uncarried(session), session.ledger.log
    ordering = QueueOrdering(session.plugins, session.args("backfill", PlacingArgs))
    for job in ordering.drained(candidates, session.snapshot.queues):
        queue, mark = session.queue(job), len(log)
        with session.statement() as statement:
            for task in session.plugins.ordered_tasks(session.pending_tasks(job, best_effort=True)):
                before = statement.savepoint()
                lift(session, statement, job, task)
                refusal = plugins.slot_limit(queue, task)
                if refusal is not None:
                    session.task_refusals[task.uid] = nodes_first(session, task, 1, refusal)
                    statement.rollback(before)
                    continue
                choice = session.node_selection.choose(task)
                if choice is None or choice.waits:
                    session.task_refusals[task.uid] = session.node_selection.explain(task)
                    statement.rollback(before)
                    continue
                statement.allocate(job, task, choice.row)
            statement.keep()
        if session.plugins.job_ready(job):
            session.committed += standing.get(job.key, ())
            session.committed += [entry for entry in log[mark:] if entry.status is Status.ALLOCATED]


def holding_nodes(session: Session) -> set[str]:
    """Keys of jobs with nominated best-effort tasks. Such tasks count as placed, not as pending."""
    if not session.held:
        return set()
    jobs = (session.jobs[key] for key in session.snapshot.nominated if key in session.jobs)
    return {
        job.key
        for job in jobs
        if any(task.best_effort and task.uid in session.held for task in job.job.pending.values())
    }


def uncarried(session: Session) -> dict[str, list[LedgerEntry]]:
    """Allocations that are kept but not committed yet, by job, in the order decided (reference 7.5)."""
    done = {entry.task.uid for entry in session.committed}
    found: dict[str, list[LedgerEntry]] = {}
    for entry in session.ledger.log:
        if entry.status is Status.ALLOCATED and entry.task.uid not in done:
            found.setdefault(entry.job.key, []).append(entry)
    return found

"""The action backfill: places best-effort tasks, which ask only for a pod slot, on nodes they fit.

A task with claims is none of them, unlike in Volcano: ``allocate`` places it, as a part of its gang.
"""

from __future__ import annotations

from functools import partial

from vsched.actions.blocked import may_start, nodes_first
from vsched.actions.close_choice import choose_close
from vsched.actions.ordering import QueueOrdering
from vsched.actions.pending import workable
from vsched.actions.placing import PlacingArgs
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.nodes.selection import Choice
from vsched.framework.nominations import lift_nomination
from vsched.framework.session import Session
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


def backfill(session: Session) -> None:
    """Place every best-effort task that finds a node, queue by queue and job by job.

    A queue's share does not matter, because such a task uses nothing that is shared. Limits on the number of pods in
    the queue or the namespace do apply. Once a job has its minimum, its placements are committed, including those of
    earlier tries; a job that will not have it takes no slot.
    """
    plugins, nominated = session.plugins, with_nominations(session)
    candidates = [
        job
        for job in session.waiting.alone()
        if (job.best_effort_pending or job.key in nominated) and workable(session, job)
    ]
    if not candidates:
        return
    uncommitted = uncommitted_allocations(session)
    ordering = QueueOrdering(session.plugins, session.args("backfill", PlacingArgs))
    for job in ordering.drained(candidates, session.snapshot.queues):
        if not may_start(session, job):
            continue
        queue = session.queue(job)
        with session.statement() as statement:
            tasks = session.plugins.ordered_tasks(session.pending_tasks(job, best_effort=True))
            if job.sub_groups is not None:  # those of a sub-group without its minimum wait for it
                tasks = [task for task in tasks if job.sub_groups.are_whole((task,))]
            for position, task in enumerate(tasks):
                before = statement.savepoint()
                lift_nomination(session, statement, job, task)
                refusal = plugins.slot_limit(queue, task)
                if refusal is not None:
                    session.refused.tasks[task.uid] = nodes_first(session, task, 1, refusal)
                    statement.rollback(before)
                    continue
                # The domain of the first is chosen for all; the others join it.
                together = (task,) if position else tasks
                choice = choose_close(session, job, together, partial(_at_once, session, task))
                if not isinstance(choice, Choice):
                    session.refused.tasks[task.uid] = choice or session.node_selection.explain(task)
                    statement.rollback(before)
                    continue
                statement.allocate(job, task, choice.row)
            if plugins.job_ready(job):
                session.decisions.committed += uncommitted.get(job.key, ())
                statement.commit()
            elif plugins.job_pipelined(job):
                statement.keep()
            else:
                session.refused.tried.update(task.uid for task in statement.tasks)


def _at_once(session: Session, task: Task) -> Choice | None:
    """The best node with room now."""
    choice = session.node_selection.choose(task)
    return None if choice is None or choice.waits else choice


def with_nominations(session: Session) -> set[str]:
    """Keys of jobs with nominated best-effort tasks. Such tasks count as placed, not as pending."""
    if not session.decisions.nominated:
        return set()
    jobs = (session.jobs[key] for key in session.snapshot.nominated if key in session.jobs)
    return {
        job.key
        for job in jobs
        if any(task.best_effort and task.uid in session.decisions.nominated for task in job.job.pending.values())
    }


def uncommitted_allocations(session: Session) -> dict[str, list[LedgerEntry]]:
    """Allocations that are kept but not committed yet, by job, in the order decided."""
    done = {entry.task.uid for entry in session.decisions.committed}
    found: dict[str, list[LedgerEntry]] = {}
    for entry in session.ledger.log:
        if entry.task.uid not in done and _may_be_bound(entry):
            found.setdefault(entry.job.key, []).append(entry)
    return found


def _may_be_bound(entry: LedgerEntry) -> bool:
    """Whether a step is an allocation, and of no sub-group that lacks its minimum."""
    groups = entry.job.sub_groups
    return entry.status is Status.ALLOCATED and (groups is None or groups.are_whole((entry.task,)))

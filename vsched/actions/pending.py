"""The tasks of jobs that wait for nodes, and which jobs may be worked on."""

from __future__ import annotations

from collections import deque

from vsched.actions.blocked import PendingTasks
from vsched.actions.subgroups import arranged
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.pods.status import Phase


class PendingByJob(dict[str, PendingTasks]):
    """The tasks to place, by key of the job; those of a job are put in order when they are first needed."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def __missing__(self, key: str) -> PendingTasks:
        found = self[key] = in_turn(self._session, self._session.jobs[key])
        return found


def in_turn(session: Session, job: JobView) -> PendingTasks:
    """The tasks of a job that wait for nodes, in order."""
    tasks = session.plugins.ordered_tasks(session.pending_tasks(job, best_effort=False))
    return deque(tasks) if job.sub_groups is None else arranged(session, job.sub_groups, tasks)


def to_place(session: Session, job: JobView) -> PendingTasks:
    """The same; empty where the job must not be worked on in this cycle."""
    return in_turn(session, job) if has_work(session, job) else deque()


def has_work(session: Session, job: JobView) -> bool:
    """Whether the job has tasks to place, and may be worked on in this cycle."""
    if job.waiting_to_enter:
        if "enqueue" in session.policy.actions:
            return False
        job.phase = Phase.INQUEUE
    if not job.job.pending:
        workable(session, job)
        return False
    shut = session.checks.shut(job)
    if shut is not None and any(not task.best_effort for task in job.job.pending.values()):
        session.refused.jobs[job.key] = shut
        return False
    if not workable(session, job):
        return False
    plain = not (job.moved or job.job.best_effort or job.job.gated or job.job.awaiting or job.job.unplaceable)
    return plain or bool(session.pending_tasks(job, best_effort=False))


def workable(session: Session, job: JobView) -> bool:
    """Whether the job is admitted and valid; records why it is not valid."""
    if job.waiting_to_enter:
        return False
    refusal = session.checks.valid(job)
    if refusal is not None and session.refused.jobs.get(job.key, refusal).rank:
        session.refused.jobs[job.key] = refusal
    return refusal is None

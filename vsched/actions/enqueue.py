"""enqueue: admits waiting jobs while the plugins agree that there is room for them (reference 3.1)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.status import Phase


def enqueue(session: Session) -> None:
    """Ask for each waiting job in turn; a job that is refused waits for the next cycle and blocks nobody."""
    ordering = QueueOrdering(session.plugins, session.args("enqueue", OrderingArgs))
    for wave in ordering.waves(job for job in session.jobs.values() if job.waiting_to_enter):
        ask_in_turn(session, ordering, wave)


def ask_in_turn(session: Session, ordering: QueueOrdering, jobs: list[JobView]) -> None:
    """Queue by queue, one job a turn; the order of queues is looked at again after each."""
    plugins, queues = session.plugins, session.snapshot.queues
    waiting: dict[str, list[tuple[Any, JobView]]] = {}
    for job in jobs:
        waiting.setdefault(job.queue, []).append((plugins.job_key(job), job))
    for lane in waiting.values():
        lane.sort(key=lambda entry: entry[0], reverse=True)
    heap: list[tuple[Any, str]] = [(ordering.queue_key(queues[name]), name) for name in waiting]
    heapify(heap)
    while heap:
        _, name = heappop(heap)
        _, job = waiting[name].pop()
        admit(session, job)
        if waiting[name]:
            heappush(heap, (ordering.queue_key(queues[name]), name))


def admit(session: Session, job: JobView) -> None:
    """Admit one job, or note why not; a job that states no minimum is admitted unasked (reference 3.1.3)."""
    if job.spec.min_resources is not None:
        refusal = session.plugins.job_enqueueable(job)
        if refusal is not None:
            session.job_refusals[job.key] = refusal
            return
    session.plugins.job_enqueued(job)
    job.phase = Phase.INQUEUE

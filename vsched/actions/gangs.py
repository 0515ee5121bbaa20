"""The actions gangpreempt and gangreclaim: starving gangs evict whole gangs where need be.

They use the search of preempt and reclaim. So, unlike in Volcano, they evict nothing that the gang's placement
does not need, and a job that loses its minimum leaves as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from vsched.actions.gang_search import (
    GANG_PREEMPT,
    GANG_RECLAIM,
    GangArgs,
    GangPreemptSearch,
    GangReclaimArgs,
    GangReclaimBeyond,
    GangReclaimSearch,
    GangSearch,
)
from vsched.actions.ordering import QueueOrdering, by_queue
from vsched.actions.pools import Pools
from vsched.actions.room import first_that_does
from vsched.actions.takers import starving
from vsched.actions.taking import take_for
from vsched.actions.victim_search import unplaced
from vsched.actions.waiting_queues import waiting_queues
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.amounts.resources import Vector, add
from vsched.model.pods.task import Task


def gangpreempt(session: Session) -> None:
    """For each queue: its starving jobs evict tasks of jobs with a lower priority in the queue."""
    pools = Pools(session, GANG_PREEMPT)
    ordering = QueueOrdering(session.plugins, session.args(GANG_PREEMPT, GangArgs))
    takers = starving(session, GangPreemptSearch)

    def take(job: JobView) -> None:
        with session.reservations.lifted(job):
            if session.plugins.job_starving(job) and (tasks := unplaced(session, job)):
                evict_for(session, GangPreemptSearch, job, pools, tasks)

    for wave in ordering.waves(takers):
        for segments in ordering.queue_by_queue(wave, session.snapshot.queues):
            takers.give_turns(segments, take)
    takers.end()
    pools.release()


def gangreclaim(session: Session) -> None:
    """For each queue that is not overused: its starving jobs evict tasks of jobs in other queues."""
    plugins, queues = session.plugins, session.snapshot.queues
    pools = Pools(session, GANG_RECLAIM)
    ordering = QueueOrdering(plugins, session.args(GANG_RECLAIM, GangReclaimArgs))
    takers = starving(session, GangReclaimSearch)

    def take(job: JobView) -> None:
        with session.reservations.lifted(job):
            reclaim_for(session, job, pools)

    for wave in ordering.waves(takers):
        segments = by_queue(wave)
        order = waiting_queues(ordering, [queues[name] for name in segments], alone=False)
        while (queue := order.take()) is not None:
            if plugins.overused(queue):
                continue
            session.usage.moved.clear()
            takers.give_turns(segments[queue.name], take)
            order.moved(queues[name] for name in sorted(session.usage.moved) if name in queues)
    takers.end()
    pools.release()


def reclaim_for(session: Session, job: JobView, pools: Pools) -> None:
    """Evict tasks of other queues for a starving job whose queue may reclaim all that it still needs at once."""
    starves = session.plugins.job_starving(job) and not job.has_minima
    tasks = unplaced(session, job) if starves else []
    needed: Vector = {}
    for task in tasks[: max(1, session.plugins.tasks_missing(job) - job.waiting)]:
        add(needed, task.shape.request)
    if not tasks or not session.plugins.preemptive(session.queue(job), tuple(sorted(needed.items()))):
        return
    if not evict_for(session, GangReclaimSearch, job, pools, tasks) and session.has_non_preemptible:
        evict_for(session, GangReclaimBeyond, job, pools, tasks)


def evict_for(session: Session, kind: type[GangSearch], job: JobView, pools: Pools, tasks: Sequence[Task]) -> bool:
    """Evict tasks that their jobs can spare, if these are enough; else whole jobs too, where the policy allows it.

    True where that makes room.
    """
    searches = kind(session, job).in_turn()
    return any(take_for(session, search, pools, tasks, first_that_does) for search in searches)

"""The action reclaim: jobs of queues below their share evict tasks of other, reclaimable queues.

First, a job gets room for its whole minimum, or none. Then, unlike in Volcano, it gets room for further tasks,
one by one, up to what its queue deserves. A queue is entitled to what it deserves, also beyond the minimum of its jobs;
but for these tasks, no other queue falls below what it deserves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

from vsched.actions.ordering import QueueOrdering, by_queue
from vsched.actions.pools import Pools
from vsched.actions.room import first_that_does
from vsched.actions.sparing import spare_of_tries
from vsched.actions.takers import Takers, claiming
from vsched.actions.taking import take_for, take_missing
from vsched.actions.victim_search import RECLAIM, ReclaimArgs, ReclaimBeyond, ReclaimSearch, unplaced
from vsched.actions.victims import request_kind
from vsched.actions.waiting_queues import waiting_queues
from vsched.framework.classes import Segment
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.pods.task import Task


def reclaim(session: Session) -> None:
    """Take queues in their present order; for each, reclaim room for all of its jobs with pending tasks."""
    plugins, queues = session.plugins, session.snapshot.queues
    ordering = QueueOrdering(plugins, session.args(RECLAIM, ReclaimArgs))
    pools = Pools(session, RECLAIM)
    takers = claiming(session, ReclaimSearch)
    for wave in ordering.waves(takers):
        segments = by_queue(wave)
        order = waiting_queues(ordering, [queues[name] for name in segments], alone=False)
        while (queue := order.take()) is not None:
            if plugins.overused(queue):
                continue
            session.usage.moved.clear()
            take_turn(session, takers, segments[queue.name], pools)
            order.moved(queues[name] for name in sorted(session.usage.moved) if name in queues)
    takers.end()
    pools.release()


def take_turn(session: Session, takers: Takers, segments: Sequence[Segment], pools: Pools) -> None:
    """Reclaim room for the jobs of one queue, and undo the evictions that are not needed after later ones."""

    def take(job: JobView) -> None:
        with session.reservations.lifted(job):
            reclaim_for(session, job, pools)

    with session.statement() as turn:
        before = len(session.decisions.committed)
        had = takers.give_turns(segments, take)  # those that were passed over lack their minimum, and do not grow
        jobs = [session.jobs[segment.first] for segment in had]
        grow(session, jobs, pools)
        if spare_of_tries(session, ReclaimSearch(session, jobs[0]), turn):
            del session.decisions.committed[before:]
            turn.commit()
        else:
            turn.keep()


def reclaim_for(session: Session, job: JobView, pools: Pools) -> None:
    """Evict tasks of other queues for a job that lacks its minimum: enough for that, or none."""
    if job.has_minima:
        return  # whatever makes it starve, more is growth
    if not take_missing(session, ReclaimSearch, job, pools, first_that_does) and session.has_non_preemptible:
        take_missing(session, ReclaimBeyond, job, pools, first_that_does)


def grow(session: Session, jobs: Sequence[JobView], pools: Pools) -> None:
    """Evict tasks of other queues for tasks beyond the minimum of a queue's jobs, one task of each job in turn.

    A job that got its minimum by another action of this session grows in the next one: what that action took is spared
    by itself.
    """
    ready = (job for job in jobs if job.gained in ("", RECLAIM) and session.plugins.job_pipelined(job))
    waiting = deque((job, deque(unplaced(session, job))) for job in ready)
    while waiting:
        job, tasks = waiting.popleft()
        with session.reservations.lifted(job):
            if grow_by_one(session, job, tasks, pools):
                waiting.append((job, tasks))


def grow_by_one(session: Session, job: JobView, tasks: deque[Task], pools: Pools) -> bool:
    """Get room for one more task of a job that has its minimum. After a failure, tasks like it are skipped."""
    rules = (ReclaimSearch, ReclaimBeyond) if session.has_non_preemptible else (ReclaimSearch,)
    searches, failed = [search(session, job, growing=True) for search in rules], set[Hashable]()
    while tasks:
        task = tasks.popleft()
        kind = request_kind(session, task)
        if task.best_effort or kind in failed:
            continue
        if any(take_for(session, search, pools, [task], first_that_does) for search in searches):
            return True
        failed.add(kind)
    return False

"""reclaim: jobs of queues below their share take from queues that can be taken from (reference 3.5).

First their minimum, all of it or nothing. Then, other than in the reference, task by task what their queue deserves
beyond that: what a queue deserves is its own, whether its jobs need it to begin or can do with less.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

from vsched.actions.ordering import QueueOrdering
from vsched.actions.pools import Pools
from vsched.actions.standings import standings
from vsched.actions.victim_search import ReclaimSearch, VictimArgs, claiming, unplaced
from vsched.actions.victims import first_that_does, likeness, take_for
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.pods.task import Task


def reclaim(session: Session) -> None:
    """Queue by queue, the one that is next as of now: all of its jobs that have a claim to more."""
    plugins, queues = session.plugins, session.snapshot.queues
    ordering = QueueOrdering(plugins, session.args("reclaim", VictimArgs))
    pools = Pools(session)
    for wave in ordering.waves(claiming(session)):
        lanes: dict[str, list[JobView]] = {}
        for job in wave:
            lanes.setdefault(job.queue, []).append(job)
        order = standings(ordering, [queues[name] for name in lanes], alone=False)
        while (queue := order.take()) is not None:
            if plugins.overused(queue):
                continue
            session.usage.moved.clear()
            jobs = sorted(lanes[queue.name], key=plugins.job_key)
            for job in jobs:
                with session.reservations.lifted(job):
                    reclaim_for(session, job, pools)
            grow(session, jobs, pools)
            order.moved(queues[name] for name in sorted(session.usage.moved) if name in queues)
    pools.release()


def reclaim_for(session: Session, job: JobView, pools: Pools) -> None:
    """Room for a starving job from jobs of other queues."""
    if session.plugins.job_starving(job) and (tasks := unplaced(session, job)):
        take_for(session, ReclaimSearch(session, job), pools, tasks, first_that_does)


def grow(session: Session, jobs: Sequence[JobView], pools: Pools) -> None:
    """Room for the tasks that jobs of one queue have beyond their minimum, one task of each job in turn."""
    ready = (job for job in jobs if session.plugins.job_pipelined(job))
    waiting = deque((job, deque(unplaced(session, job))) for job in ready)
    while waiting:
        job, tasks = waiting.popleft()
        with session.reservations.lifted(job):
            if grow_by_one(session, job, tasks, pools):
                waiting.append((job, tasks))


def grow_by_one(session: Session, job: JobView, tasks: deque[Task], pools: Pools) -> bool:
    """Room for one more task of a job that has its minimum; where one gets none, those like it do not, either."""
    search, in_vain = ReclaimSearch(session, job, growing=True), set[Hashable]()
    while tasks:
        task = tasks.popleft()
        alike = likeness(task)
        if task.shape.best_effort or alike in in_vain:
            continue
        if take_for(session, search, pools, [task], first_that_does):
            return True
        in_vain.add(alike)
    return False

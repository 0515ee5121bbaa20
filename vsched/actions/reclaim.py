"""reclaim: starving jobs of queues below their share take from queues that can be taken from (reference 3.5)."""

from __future__ import annotations

from vsched.actions.ordering import QueueOrdering
from vsched.actions.pools import Pools
from vsched.actions.taking import Reclaiming, TakingArgs, starving, unplaced
from vsched.actions.victims import first_that_does, take_for
from vsched.framework.jobs import JobView
from vsched.framework.session import Session


def reclaim(session: Session) -> None:
    """Queue by queue, the one that is next as of now: all its starving jobs, each for its minimum or not at all."""
    plugins, queues = session.plugins, session.snapshot.queues
    ordering = QueueOrdering(plugins, session.args("reclaim", TakingArgs))
    pools = Pools(session)
    for wave in ordering.waves(starving(session)):
        lanes: dict[str, list[JobView]] = {}
        for job in wave:
            lanes.setdefault(job.queue, []).append(job)
        while lanes:
            name = min(lanes, key=lambda name: ordering.queue_key(queues[name]))
            jobs = sorted(lanes.pop(name), key=plugins.job_key)
            if plugins.overused(queues[name]):
                continue
            for job in jobs:
                with session.reservations.lifted(job):
                    reclaim_for(session, job, pools)
    pools.release()


def reclaim_for(session: Session, job: JobView, pools: Pools) -> None:
    """Room for a starving job from jobs of other queues."""
    tasks = unplaced(session, job)
    if tasks and session.plugins.job_starving(job):
        take_for(session, Reclaiming(session, job), pools, tasks, first_that_does)

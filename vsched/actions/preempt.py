"""The action preempt: starving jobs evict tasks within their own queue to get room.

First, jobs evict tasks of other jobs in the queue. Then, within a job, tasks evict tasks of the same job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from vsched.actions.attempt_steps import FreedRoom
from vsched.actions.freeing import cost_of
from vsched.actions.ordering import QueueOrdering
from vsched.actions.pools import Pools
from vsched.actions.room import first_that_does
from vsched.actions.takers import starving
from vsched.actions.taking import take_missing
from vsched.actions.victim_search import PREEMPT, PreemptSearch, PreemptWithinJob, VictimArgs
from vsched.actions.victims import Attempt, Pick
from vsched.actions.words import ONE_AFTER_THE_OTHER
from vsched.framework.jobs import JobView
from vsched.framework.policy import inert
from vsched.framework.session import Session
from vsched.model.pods.task import Task

Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class PreemptArgs(VictimArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of preempt."""

    topology_aware: bool = msgspec.field(default=False, name="enableTopologyAwarePreemption")
    """Whether to compare the victims on several nodes, instead of taking the first node that fits by score."""
    percentage: Percent = msgspec.field(default=10, name="minCandidateNodesPercentage")
    """How many nodes are compared, in percent of all nodes."""
    at_least: Count = msgspec.field(default=1, name="minCandidateNodesAbsolute")
    at_most: Count = msgspec.field(default=100, name="maxCandidateNodesAbsolute")
    workers: Annotated[Count, inert(ONE_AFTER_THE_OTHER)] = msgspec.field(
        default=16, name="topologyAwarePreemptWorkerNum"
    )


def preempt(session: Session) -> None:
    """For each queue: first preempt between its jobs, then within each job."""
    args = session.args(PREEMPT, PreemptArgs)
    pick = _cheapest(args) if args.topology_aware else first_that_does
    pools = Pools(session, PREEMPT)
    ordering = QueueOrdering(session.plugins, args)
    takers = starving(session, PreemptSearch)

    def between(job: JobView) -> None:
        with session.reservations.lifted(job):
            between_jobs(session, job, pools, pick)

    def within(job: JobView) -> None:
        with session.reservations.lifted(job):
            within_job(session, job, pools, pick)

    for wave in ordering.waves(takers):
        for segments in ordering.queue_by_queue(wave, session.snapshot.queues):
            had = takers.give_turns(segments, between)
            takers.give_turns([*had, *takers.passed_over(segments)], within)
    takers.end()
    pools.release()


def between_jobs(session: Session, job: JobView, pools: Pools, pick: Pick) -> None:
    """Evict tasks of other jobs in the queue for a starving job: enough for its minimum, or none."""
    take_missing(session, PreemptSearch, job, pools, pick)


def within_job(session: Session, job: JobView, pools: Pools, pick: Pick) -> None:
    """Evict tasks of a starving job for other tasks of the same job: enough for its minimum, or none."""
    if job.job.holding:  # else there is nobody to evict, and room without victims was looked for before
        take_missing(session, PreemptWithinJob, job, pools, pick)


# -- topology-aware ---------------------------------------------------------------------------------------------------


def _cheapest(args: PreemptArgs) -> Pick:
    def pick(attempt: Attempt, task: Task, rows: Sequence[int]) -> FreedRoom | None:
        """Of the first nodes that can be freed, the one whose victims cost least.

        Nodes are tried in the order of their names, or those first whose victims waste least.
        """
        wanted = max(len(attempt.session.nodes) * args.percentage // 100, args.at_least, 1)
        wanted = min(wanted, max(args.at_most, 1))
        found: list[FreedRoom] = []
        with attempt.session.plugins.rehearsal():
            for row in rows if attempt.session.plugins.victim_rules.weighs else sorted(rows):
                before = attempt.statement.savepoint()
                taken = attempt.try_row(task, row)
                if taken is not None:
                    found.append(taken)
                    attempt.statement.rollback(before)
                if len(found) == wanted:
                    break
        if not found:
            return None
        return attempt.try_row(task, min(found, key=lambda taken: cost_of(attempt.session, taken.victims)).row)

    return pick

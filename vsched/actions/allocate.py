"""The action allocate: places the tasks of admitted jobs in turns.

In its first turn, a gang gets nodes for its whole minimum, or none. In each further turn it gets one more task.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from vsched.actions.assigning import AllocateArgs
from vsched.actions.blocked import gang_refusal, may_start, note_overused
from vsched.actions.failed_turns import FailedTurns
from vsched.actions.one_turn import plan_first, take_turn
from vsched.actions.ordering import QueueOrdering
from vsched.actions.pending import PendingByJob, has_work, workable
from vsched.actions.provisioned import reserve_provisioned
from vsched.actions.subgroups import arranged
from vsched.actions.turns import JobTurns, next_of
from vsched.framework.classes import Segment
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue

Segments = dict[str, Segment]
"""The jobs to work on, by the key of each segment's first job."""


def allocate(session: Session) -> None:
    """Give jobs turns until no more tasks can be placed."""
    segments: Segments = {
        segment.first: segment for segment in map(Segment, session.waiting.take(lambda job: has_work(session, job)))
    }
    shared = [segment for segment in segments.values() if segment.is_shared]
    pending = PendingByJob(session)
    reserve_provisioned(session, segments.keys(), pending)
    complete(session, segments, pending)
    place_nominated(session, segments, pending)
    give_turns(session, segments, pending)
    session.waiting.put_back(shared)


def give_turns(session: Session, segments: Segments, pending: PendingByJob) -> None:
    """Give jobs turns by queue, namespace, user and job; those with pods behind the gate of their queue as well."""
    alone = map(session.jobs.__getitem__, session.waiting.keys_alone())
    gated = {job.key: job for job in alone if job.job.awaiting and workable(session, job)}
    only_gated = {
        key: Segment.again(job, session.plugins.job_key(job)) for key, job in gated.items() if key not in segments
    }
    if not segments and not only_gated:
        return
    ordering = QueueOrdering(session.plugins, session.args("allocate", AllocateArgs))
    failed, overused = FailedTurns(session), FailedTurns(session)
    for queue, segment, turns in JobTurns(
        ordering, session.snapshot.queues, [*segments.values(), *only_gated.values()]
    ):
        if session.plugins.overused(queue):
            turns.closed = True
            plan_first(session, queue, session.jobs[segment.first])
            waiting = (one for one in (segment, *turns.segments()) if one.first not in only_gated)
            overused.note_all(waiting, partial(refuse_overused, session, queue, pending))
            continue
        job, steps, changes = next_of(session, segment), len(session.ledger.log), failed.changes
        opens = gated.pop(job.key, None) is not None
        if opens:
            open_gates(session, queue, job)
            overused.follow(reset=True)
        failed.follow(reset=opens)
        again = job.key not in only_gated and give_turn(session, queue, job, pending, failed)
        failed.follow()
        turns.end_turn(
            Segment.again(job, session.plugins.job_key(job)) if again else None,
            idle=not opens and len(session.ledger.log) == steps,
            changes=failed.changes != changes,
            known=failed.of_all(segment),
        )


def complete(session: Session, segments: Segments, pending: PendingByJob) -> None:
    """Give running gangs that lost pods, with a node for instance, the first turns: their other pods wait for these."""
    lost = (session.jobs[key] for key in segments if session.jobs[key].has_lost_pods)
    for job in sorted(lost, key=session.plugins.job_key):
        queue = session.queue(job)
        if not session.plugins.overused(queue):
            again = take_turn(session, queue, job, pending[job.key])
            put_back(session, segments, job, again=again)


def place_nominated(session: Session, segments: Segments, pending: PendingByJob) -> None:
    """Give jobs with nominated nodes their first turns, until their pods have these nodes, which were freed for them.

    By these nominations the queue may hold all that it deserves; then it gets no other turn.
    """
    if not session.decisions.nominated:
        return
    keys = [key for key in session.snapshot.nominated if key in segments]
    jobs = [session.jobs[key] for key in keys if any(task.uid in session.decisions.nominated for task in pending[key])]
    for job in sorted(jobs, key=session.plugins.job_key):
        queue, tasks = session.queue(job), pending[job.key]
        goes_on = take_turn(session, queue, job, tasks)
        nominated = deque(task for task in tasks if task.uid in session.decisions.nominated)
        others = deque(task for task in tasks if task.uid not in session.decisions.nominated)
        while goes_on and nominated and take_turn(session, queue, job, nominated):
            pass
        pending[job.key] = others
        put_back(session, segments, job, again=goes_on and bool(others))


def put_back(session: Session, segments: Segments, job: JobView, *, again: bool) -> None:
    """A job had its first turns: put it back where it needs another one (``again``)."""
    if again:
        segments[job.key] = Segment.again(job, session.plugins.job_key(job))
    else:
        del segments[job.key]


def give_turn(session: Session, queue: Queue, job: JobView, pending: PendingByJob, failed: FailedTurns) -> bool:
    """The turn of a job. Where one of its kind failed before, it gets the same refusals without a try."""
    before, steps = failed.before(job), len(session.ledger.log)
    known = failed.of(job, before) if before is not None and may_start(session, job) else None
    if known is not None:
        session.refused.replace(job, known)
        return False
    again = take_turn(session, queue, job, pending[job.key])
    if not again and len(session.ledger.log) == steps:
        failed.note(job, before)
    return again


def refuse_overused(session: Session, queue: Queue, pending: PendingByJob, job: JobView) -> None:
    """Record why a job of an overused queue waits."""
    note_overused(session, queue, job, pending[job.key])


def open_gates(session: Session, queue: Queue, job: JobView) -> None:
    """Decide to remove the gates of a job's tasks, one after the other, while the queue has room for them.

    The nodes do not matter here, because an autoscaler may add nodes for pods without a gate. A later cycle places the
    pods, once the API server has removed the gate. If the queue has no room for all that a gang lacks of its minimum,
    or limits on running jobs keep the job from starting, none of its gates are removed.
    """
    if not may_start(session, job):
        return
    waiting = session.plugins.ordered_tasks(task for task in job.job.pending.values() if task.awaits_queue)
    if job.sub_groups is not None:
        waiting = list(arranged(session, job.sub_groups, waiting))
    missing = session.plugins.tasks_missing(job)
    too_many = gang_refusal(session, queue, job, waiting, missing) if missing > 1 else None
    for task in waiting:
        refusal = too_many or session.plugins.grantable(queue, task)
        if refusal is not None:
            session.refused.tasks[task.uid] = refusal
            continue
        session.decisions.ungated.append(task)
        session.reservations.add(queue, task)

"""The action allocate: places the tasks of admitted jobs in turns.

In its first turn, a gang gets nodes for its whole minimum, or none. In each further turn it gets one more task.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from vsched.actions.assigning import AllocateArgs
from vsched.actions.booking import keep_nodes
from vsched.actions.gates import open_gates
from vsched.actions.held import may_start, note_overused
from vsched.actions.in_vain import TurnsInVain
from vsched.actions.one_turn import plan_first, take_turn
from vsched.actions.ordering import QueueOrdering
from vsched.actions.pending import PendingTasks, has_work, workable
from vsched.actions.turns import JobTurns, next_of
from vsched.framework.classes import Row
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue

Rows = dict[str, Row]
"""The jobs to work on, by the key of the first one of each row."""


def allocate(session: Session) -> None:
    """Give jobs turns until no more tasks can be placed."""
    rows: Rows = {row.first: row for row in map(Row, session.waiting.take(lambda job: has_work(session, job)))}
    shared = [row for row in rows.values() if row.is_shared]
    pending = PendingTasks(session)
    keep_nodes(session, rows.keys(), pending)
    complete(session, rows, pending)
    place_nominated(session, rows, pending)
    give_turns(session, rows, pending)
    for row in shared:
        for span in row.passed:
            session.waiting.say(span)


def give_turns(session: Session, rows: Rows, pending: PendingTasks) -> None:
    """Give jobs turns by queue, namespace, user and job; those with pods behind the gate of their queue as well."""
    alone = map(session.jobs.__getitem__, session.waiting.keys_alone())
    gated = {job.key: job for job in alone if job.job.awaiting and workable(session, job)}
    only_gated = {key: Row.again(job, session.plugins.job_key(job)) for key, job in gated.items() if key not in rows}
    ordering = QueueOrdering(session.plugins, session.args("allocate", AllocateArgs))
    turns, overused = TurnsInVain(session), TurnsInVain(session)
    for queue, row, lane in JobTurns(ordering, session.snapshot.queues, [*rows.values(), *only_gated.values()]):
        if session.plugins.overused(queue):
            lane.closed = True
            plan_first(session, queue, session.jobs[row.first])
            waiting = (one for one in (row, *lane.rows()) if one.first not in only_gated)
            overused.tell(waiting, partial(tell_overused, session, queue, pending))
            continue
        job, steps, changes = next_of(session, row), len(session.ledger.log), turns.changes
        opens = gated.pop(job.key, None) is not None
        if opens:
            open_gates(session, queue, job)
            overused.follow(anew=True)
        turns.follow(anew=opens)
        again = job.key not in only_gated and give_turn(session, queue, job, pending, turns)
        turns.follow()
        lane.end_turn(
            Row.again(job, session.plugins.job_key(job)) if again else None,
            idle=not opens and len(session.ledger.log) == steps,
            changes=turns.changes != changes,
            known=turns.of_all(row),
        )


def complete(session: Session, rows: Rows, pending: PendingTasks) -> None:
    """Give running gangs that lost pods the first turns: with a node, say. What is left of a gang waits for them."""
    lost = (session.jobs[key] for key in rows if session.jobs[key].has_lost_pods)
    for job in sorted(lost, key=session.plugins.job_key):
        queue = session.queue(job)
        if not session.plugins.overused(queue):
            again = take_turn(session, queue, job, pending[job.key])
            put_back(session, rows, job, again=again)


def place_nominated(session: Session, rows: Rows, pending: PendingTasks) -> None:
    """Give jobs with nominated nodes their first turns, until their pods have these: the room freed for them is theirs.

    The queue may hold all that it deserves by these nominations, and then it gets no other turn.
    """
    if not session.decisions.nominated:
        return
    keys = [key for key in session.snapshot.nominated if key in rows]
    jobs = [session.jobs[key] for key in keys if any(task.uid in session.decisions.nominated for task in pending[key])]
    for job in sorted(jobs, key=session.plugins.job_key):
        queue, tasks = session.queue(job), pending[job.key]
        goes_on = take_turn(session, queue, job, tasks)
        nominated = deque(task for task in tasks if task.uid in session.decisions.nominated)
        others = deque(task for task in tasks if task.uid not in session.decisions.nominated)
        while goes_on and nominated and take_turn(session, queue, job, nominated):
            pass
        pending[job.key] = others
        put_back(session, rows, job, again=goes_on and bool(others))


def put_back(session: Session, rows: Rows, job: JobView, *, again: bool) -> None:
    """A job had its first turns: it waits for others, or not."""
    if again:
        rows[job.key] = Row.again(job, session.plugins.job_key(job))
    else:
        del rows[job.key]


def give_turn(session: Session, queue: Queue, job: JobView, pending: PendingTasks, turns: TurnsInVain) -> bool:
    """The turn of a job; one that is like a job whose turn came to nothing is told the same, and not tried."""
    before, steps = turns.before(job), len(session.ledger.log)
    known = turns.of(job, before) if may_start(session, job) else None
    if known is not None:
        session.refused.retell(job, known)
        return False
    again = take_turn(session, queue, job, pending[job.key])
    if not again and len(session.ledger.log) == steps:
        turns.note(job, before)
    return again


def tell_overused(session: Session, queue: Queue, pending: PendingTasks, job: JobView) -> None:
    """Say why a job waits whose queue holds all that it deserves."""
    note_overused(session, queue, job, pending[job.key])

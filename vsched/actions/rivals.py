"""Jobs that could take back what evictions gave to a job.

Room that another waiting job has a better claim to is not freed for a job: it would start, and be evicted for the other
one a session later. Such a job may be of the same queue, or of another one, and may use any action of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from vsched.actions.gang_search import GangPreemptSearch, GangReclaimBeyond
from vsched.actions.pools import Pools, StarvingJobs
from vsched.actions.victim_search import PreemptSearch, ReclaimBeyond, VictimSearch, unplaced
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.ledger.statement import Statement
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

KINDS: tuple[type[VictimSearch], ...] = (PreemptSearch, ReclaimBeyond, GangPreemptSearch, GangReclaimBeyond)
RIVALS_MAX = 4
"""For at most so many kinds of jobs with a claim, it is tried whether the room would be enough for them."""
LOOKS_MAX = 64
"""At most so many kinds of waiting jobs are checked for a claim."""


class Rehearsal(NamedTuple):
    """The result for two jobs if one of them took room from others."""

    has_room: bool
    """Whether it gets its minimum."""
    spares: bool
    """Whether the other one still has its minimum then."""


NO_ROOM = Rehearsal(has_room=False, spares=True)
Rehearse = Callable[[VictimSearch], Rehearsal]
"""Tries what a job that takes room as its action does would get; all of it is rolled back."""


def could_take_back(session: Session, pools: Pools, job: JobView, statement: Statement, rehearse: Rehearse) -> bool:
    """Whether a waiting job could keep this one from its minimum, where this statement placed tasks of it.

    It could evict what this job got here and could not have without; or it gets its own minimum by the pods that this
    job has already.
    """
    placed = [step for step in statement.steps if step.before is Status.PENDING and step.job is job]
    has = [task for task in job.job.tasks.values() if task.status is Status.RUNNING or task.status is Status.BOUND]
    for rival in islice(_claims(session, pools, job, [*has, *(step.task for step in placed)]), RIVALS_MAX):
        found = _try(session, rival, rehearse)
        if not found.spares or (not found.has_room and _try(session, rival, rehearse, placed).has_room):
            return True
    return False


def _claims(session: Session, pools: Pools, job: JobView, has: Sequence[Task]) -> Iterator[VictimSearch]:
    """The searches of waiting jobs that have a claim on what a job has then, one for each kind of jobs."""
    tasks = {(task.shape, task.priority, task.preemptable): task for task in has}.values()
    for kind in KINDS:
        if kind.action not in session.policy.actions:
            continue
        search = kind(session, job)
        for of_kind in islice(_others(session, pools, search), LOOKS_MAX):
            views = (session.jobs[key] for keys in of_kind for key in keys)
            rival = next((view for view in views if view is not job and session.plugins.job_starving(view)), None)
            lacking = () if rival is None else unplaced(session, rival)
            if rival is not None and lacking and any(search.comes_back(lacking[0], task) for task in tasks):
                yield kind(session, rival)


def _others(session: Session, pools: Pools, search: VictimSearch) -> Iterator[list[Sequence[str]]]:
    """The starving jobs that may look for victims in a job by a kind of search, each queue's in turn."""
    if pools.starving is None:
        pools.starving = _starving(session)
    if search.purpose is Purpose.PREEMPT:
        yield from pools.starving.get(search.queue.name, ())
        return
    for name, jobs in pools.starving.items():
        if name != search.queue.name and not session.plugins.overused(session.snapshot.queues[name]):
            yield from jobs


def _starving(session: Session) -> StarvingJobs:
    plugins, found = session.plugins, dict[tuple[str, Hashable], list[tuple[Any, Sequence[str]]]]()
    classes = session.waiting.classes
    for keys in chain([(key,) for key in sorted(classes.others)], [one.keys() for one in classes]):
        views = (view for key in keys if not (view := session.jobs[key]).waiting_to_enter)
        job = next((view for view in views if plugins.job_starving(view)), None)
        if job is None or session.checks.valid(job) is not None:
            continue
        if plugins.victim_rules.may_evict(job) and plugins.start_limit(job) is None:
            waiting = job.job.waiting_job
            kind = job.queue, job.key if waiting is None else waiting.kind
            found.setdefault(kind, []).append((session.checks.taking_key(job), keys))
    queues: dict[str, list[tuple[Any, list[Sequence[str]]]]] = {}
    for (queue, _), members in found.items():
        queues.setdefault(queue, []).append((min(key for key, _ in members), [keys for _, keys in members]))
    return {name: [members for _, members in sorted(queues[name])] for name in sorted(queues)}


def _try(session: Session, search: VictimSearch, rehearse: Rehearse, given_up: Sequence[LedgerEntry] = ()) -> Rehearsal:
    """What a rival would get by evictions once these places of a job are given up."""
    with session.reservations.lifted(search.job), session.statement() as trial:
        for step in given_up:
            trial.withdraw(step.job, step.task, step.row)
        return rehearse(search)

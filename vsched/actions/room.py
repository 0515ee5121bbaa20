"""Makes room for the tasks of a job, one after the other, on the nodes that may be chosen at present."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import inf, isinf

from vsched.actions.attempt_steps import FreedRoom
from vsched.actions.candidates import CandidatePool, candidates_of
from vsched.actions.pricing import would_do
from vsched.actions.sparing import spare
from vsched.actions.victim_search import RECLAIM, VictimSearch
from vsched.actions.victims import Attempt, request_kind
from vsched.actions.words import may_evict_from
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.times import clock
from vsched.model.pods.task import Task

LOOK_AGAIN_AFTER = 16
"""After this many rows without success, rows whose jobs can give no more victims are dropped."""


def first_that_does(attempt: Attempt, task: Task, rows: Sequence[int]) -> FreedRoom | None:
    """Frees the first row, in the given order, that can be freed."""
    for tried, row in enumerate(rows):
        if tried == LOOK_AGAIN_AFTER:
            rows = attempt.still_open(task, rows[tried:])
            return next((taken for row in rows if (taken := attempt.try_row(task, row))), None)
        taken = attempt.try_row(task, row)
        if taken is not None:
            return taken
    return None


def make_room(session: Session, attempt: Attempt, tasks: Sequence[Task]) -> bool:
    """Make room for as many tasks as a job is entitled to; True where its minimum has room then."""
    place_each(session, attempt, tasks)
    return has_room(session, attempt)


def place_each(session: Session, attempt: Attempt, tasks: Sequence[Task]) -> None:
    """Make room for task after task, as long as the job is entitled to it."""
    search = attempt.search
    job = search.job
    failed: set[Hashable] = set()
    for left, task in _countdown(tasks):
        if not search.has_claim:
            break
        if request_kind(session, task) in failed:
            continue  # a task like it failed, and nothing has changed since
        if attempt.place(task):
            failed.clear()
        elif session.plugins.tasks_missing(job) > job.waiting + left:
            break
        else:
            failed.add(request_kind(session, task))


def has_room(session: Session, attempt: Attempt) -> bool:
    """Whether a job may keep the room that was made for it; if so, unnecessary evictions are undone."""
    search = attempt.search
    job = search.job
    if not attempt.statement.placed or not session.plugins.job_pipelined(job):
        return False
    if not session.places.meets_topology(job) or not _sub_groups_whole(job, attempt.statement):
        return False
    spare(session, search, attempt.statement)
    return True


def _sub_groups_whole(job: JobView, statement: Statement) -> bool:
    """Whether each sub-group that got room has its minimum once its pipelined tasks can start."""
    return job.sub_groups is None or job.sub_groups.will_be_whole(statement.tasks)


def note_protection(session: Session, search: VictimSearch, pool: CandidatePool, tasks: Sequence[Task]) -> None:
    """Record, for a job that gets no room, the refusal that protects the only victims, where there is one."""
    refusal = next((pool.protections[task.shape] for task in tasks if task.shape in pool.protections), None)
    if refusal is None and search.job.key not in session.refused.protected:
        refusal = not_yet(session, search, pool, tasks)
    if refusal is not None:
        session.refused.protected[search.job.key] = refusal


def signature(session: Session, search: VictimSearch, tasks: Sequence[Task]) -> tuple[object, ...]:
    """What a job asks for. If a search failed for one job, it fails for jobs of equal class and signature too."""
    return tuple(request_kind(session, task) for task in tasks), session.plugins.tasks_missing(
        search.job
    ) - search.job.waiting


def _countdown(tasks: Sequence[Task]) -> Iterator[tuple[int, Task]]:
    """Each task with the number of tasks after it."""
    for position, task in enumerate(tasks, start=1):
        yield len(tasks) - position, task


NOT_YET = "VictimsProtected"
NODES_MAX = 16
"""At most this many nodes are examined, in the order of the node table."""


def not_yet(session: Session, search: VictimSearch, pool: CandidatePool, tasks: Sequence[Task]) -> Refusal | None:
    """The refusal that says from when on a job's first task may evict others, where their protection only has to end.

    None where nothing is protected for a time, where more than that is in the way, or where the end is not known.
    """
    rules, task = session.plugins.victim_rules, tasks[0]
    if task.shape in pool.early:
        return pool.early[task.shape]
    pool.early[task.shape] = None
    protected = rules.protected(search.purpose)
    if protected is None:
        return None
    rows: dict[int, list[Task]] = {}
    for victim, row in candidates_of(session, search, task, early=True):
        rows.setdefault(row, []).append(victim)
    open_rows = [check.passes for check in session.node_selection.static_checks(task)]
    first, why = inf, ""
    for row in [row for row in sorted(rows) if all(passes[row] for passes in open_rows)][:NODES_MAX]:
        agreed = search.agreed(task, [*pool.candidates(row), *rows[row]])
        ends = sorted((rules.protected_until(victim, search.purpose), at) for at, victim in enumerate(agreed))
        for count in range(1, len(ends) + 1):
            if would_do(session, task, row, [agreed[at] for _, at in ends[:count]]):
                end, last = ends[count - 1]
                if session.snapshot.now < end < first:
                    first, why = end, rules.words(agreed[last], search.purpose)
                break
    if isinf(first):
        return None
    begin = clock(first, session.snapshot.now, bool(first % 60))
    message = may_evict_from(begin, why, reclaims=search.action == RECLAIM)
    refusal = Refusal(NOT_YET, message, code=Code.PROTECTED)
    pool.early[task.shape] = refusal
    return refusal

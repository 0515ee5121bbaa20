"""Makes room for the tasks of a job, one after the other, on the nodes that may be chosen at present."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from vsched.actions.attempt_steps import FreedRoom
from vsched.actions.candidates import CandidatePool
from vsched.actions.early_victims import not_yet
from vsched.actions.sparing import spare
from vsched.actions.victim_search import VictimSearch
from vsched.actions.victims import Attempt, request_kind
from vsched.framework.jobs import JobView
from vsched.framework.ledger.statement import Statement
from vsched.framework.session import Session
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

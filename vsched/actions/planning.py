"""Plans the start of a job that finds no room: the earliest moment at which it fits as running work ends.

The search (``actions.start_search``) ends with room that is reserved for the job (``framework.nodes.planned_room``),
or with the reason why no start is planned.
"""

from __future__ import annotations

from collections.abc import Callable

from vsched.actions.blocked import PendingTasks
from vsched.actions.start_search import StartSearch
from vsched.framework.codes import Code, NoStart
from vsched.framework.jobs import JobView
from vsched.framework.nodes.planned_room import PlannedRoom
from vsched.framework.points.runs import PlannedStarts
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue

FAILED_SEARCHES_MAX = 16
"""After so many searches without a result in one cycle, no start is searched for further jobs."""


def plan_start(session: Session, queue: Queue, job: JobView, pending: Callable[[], PendingTasks]) -> None:
    """Plan the start of a job whose turn failed, if the policy allows it and the time is known.

    ``pending`` gives the tasks that it has to place.
    """
    planned, planner = session.reserved.planned, session.reserved.planner
    if planned is None or planner is None or job.is_pipelined or not session.plugins.tasks_missing(job):
        return
    if planned.of(job.key) is not None:
        return
    why_not = _not_searched(session, job, planned, planner) or _search(session, queue, job, pending, planned)
    if why_not is not None:
        planned.unplanned[job.key] = why_not


def _not_searched(session: Session, job: JobView, planned: PlannedRoom, planner: PlannedStarts) -> NoStart | None:
    """Why no start is searched for the job; None where one is."""
    if len(planned.planned) >= planner.planned_starts():
        return NoStart.DEPTH
    if not planner.may_plan(job):
        return NoStart.LEFT_OUT
    limit = session.plugins.start_limit(job)
    if limit is not None and limit.code is not Code.RUNNING_JOBS:
        return NoStart.WALL_TIME
    return NoStart.NOT_SOUGHT if planned.failed_searches >= FAILED_SEARCHES_MAX else None


def _search(
    session: Session, queue: Queue, job: JobView, pending: Callable[[], PendingTasks], planned: PlannedRoom
) -> NoStart | None:
    """Reserve room for the earliest start; returns why not where there is none."""
    tasks = tuple(pending())
    if len(tasks) < session.plugins.tasks_missing(job):
        return NoStart.INCOMPLETE
    with planned.at_later_time():
        found = StartSearch(session, queue, job, tasks, planned).earliest()
    if isinstance(found, NoStart):
        planned.failed_searches += 1
        return found
    planned.plan(job, found.at, found.places, found.leaving, found.ahead, found.left, found.starts_left)
    return None

"""Plans the start of a job that finds no room: the earliest moment at which it fits as running work ends.

The search (``actions.start_search``) ends with room that is reserved for the job (``framework.nodes.planned_room``),
or with the reason why no start is planned.
"""

from __future__ import annotations

from collections.abc import Callable

from vsched.actions.blocked import Worksheet
from vsched.actions.start_search import Foresight
from vsched.framework.codes import Code, NoStart
from vsched.framework.jobs import JobView
from vsched.framework.nodes.planned_room import KeptRoom
from vsched.framework.points.backfilling import PlannedStarts
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue

VAIN_MAX = 16
"""For so many jobs of one cycle a start is sought in vain; for further ones it is not sought."""


def plan_start(session: Session, queue: Queue, job: JobView, sheet: Callable[[], Worksheet]) -> None:
    """Plan the start of a job whose turn came to nothing, if the policy allows it and the time can be said.

    ``sheet`` gives the tasks that it has to place.
    """
    kept, planner = session.reserved.planned, session.reserved.planner
    if kept is None or planner is None or job.is_pipelined or not session.plugins.tasks_missing(job):
        return
    if kept.of(job.key) is not None:
        return
    why_not = _not_sought(session, job, kept, planner) or _search(session, queue, job, sheet, kept)
    if why_not is not None:
        kept.unplanned[job.key] = why_not


def _not_sought(session: Session, job: JobView, kept: KeptRoom, planner: PlannedStarts) -> NoStart | None:
    """Why no start is sought for the job; None where one is."""
    if len(kept.planned) >= planner.planned_starts():
        return NoStart.DEPTH
    if not planner.may_plan(job):
        return NoStart.LEFT_OUT
    limit = session.plugins.start_limit(job)
    if limit is not None and limit.code is not Code.RUNNING_JOBS:
        return NoStart.WALL_TIME
    return NoStart.NOT_SOUGHT if kept.in_vain >= VAIN_MAX else None


def _search(
    session: Session, queue: Queue, job: JobView, sheet: Callable[[], Worksheet], kept: KeptRoom
) -> NoStart | None:
    """Keep room for the earliest start; says why not where there is none."""
    tasks = tuple(sheet())
    if len(tasks) < session.plugins.tasks_missing(job):
        return NoStart.INCOMPLETE
    with kept.foreseeing():
        found = Foresight(session, queue, job, tasks, kept).earliest()
    if isinstance(found, NoStart):
        kept.in_vain += 1
        return found
    kept.plan(job, found.at, found.places, found.leaving, found.ahead, found.left, found.starts_left)
    return None

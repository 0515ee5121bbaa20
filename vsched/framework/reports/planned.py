"""The planned start of a job, as a record of the report and as a part of the reason why the job waits."""

from __future__ import annotations

from vsched.framework.jobs import JobView
from vsched.framework.reports.limits import UnschedulableReason
from vsched.framework.session import Session
from vsched.framework.times import at_and_in
from vsched.framework.words import jobs as words
from vsched.model.plan import PLANNED_NODES_MAX, PlannedStart


def planned_start(session: Session, key: str) -> PlannedStart | None:
    """When and where a job with a planned start will start; None for any other job."""
    found = None if session.reserved.planned is None else session.reserved.planned.of(key)
    if found is None:
        return None
    names = session.nodes.statics.names
    nodes = tuple(names[row] for row in found.rows[:PLANNED_NODES_MAX].tolist())
    return PlannedStart(found.at, nodes, len(found.rows), tuple(found.ahead[:PLANNED_NODES_MAX]))


def unplanned(session: Session, view: JobView) -> str:
    """Why no start is planned for a job without room, as a code; empty where that does not matter."""
    planned = session.reserved.planned
    if planned is None or view.is_pipelined or planned.of(view.key) is not None:
        return ""
    return str(planned.unplanned.get(view.key, ""))


def with_start(session: Session, headline: UnschedulableReason, planned: PlannedStart | None) -> UnschedulableReason:
    """The reason why a job waits, with its planned start at the end."""
    if planned is None or not headline.message:
        return headline
    return headline._replace(message=f"{headline.message}; {starts_at(planned, session.snapshot.now)}")


def starts_at(planned: PlannedStart, now: float) -> str:
    """``its start is planned for 14:05 UTC (in 12m), on n1, n2 and 6 more nodes``."""
    return words.starts_at(at_and_in(planned.at, now), planned.nodes, planned.node_count)

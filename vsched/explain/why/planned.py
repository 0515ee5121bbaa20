"""Which jobs go before which, where room is kept for planned starts."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.framework.codes import NoStart
from vsched.framework.words.lists import listed_jobs
from vsched.model.plan import CycleReport, JobOutcome
from vsched.model.snapshot import Snapshot

_THEN = "even when all work with a known end has ended"
WHY_NONE = {
    NoStart.DEPTH: "easy-backfill already plans as many starts as its depth allows",
    NoStart.LEFT_OUT: "reserveFor of easy-backfill leaves it out for now",
    NoStart.RUNNING_JOBS: f"limits on running jobs would not let it start, {_THEN}",
    NoStart.WALL_TIME: "its wall time is over, or it asks for more than is allowed",
    NoStart.INCOMPLETE: "too few of its pods exist and can be placed",
    NoStart.NOT_SOUGHT: "no start was found for many jobs before it, so the search stopped",
    NoStart.LIMITS: f"its queue or namespace would not admit it, {_THEN}",
    NoStart.ROOM: f"the nodes would have too little free, {_THEN}",
    NoStart.DEVICES: f"too few of the devices that it claims would be free, {_THEN}",
}


def goes_before(snapshot: Snapshot, report: CycleReport, key: str) -> Iterator[str]:
    """Notes on a job: which jobs go before it on the nodes that are kept for it, or which job it goes before."""
    for other, outcome in report.jobs.items():
        planned = outcome.planned
        if planned is None:
            continue
        if other == key and planned.ahead:
            others = listed_jobs([*map(snapshot.called, planned.ahead)])
            yield f"until its start, {others} may use its nodes: started after it began to wait"
        if key in planned.ahead:
            yield f"it goes before {snapshot.called(other)}, on nodes that are reserved for the start of that job"


def why_no_start(outcome: JobOutcome | None) -> str:
    """A note on a job without room that says why no start is planned for it; empty where that is no question."""
    if outcome is None or not outcome.unplanned:
        return ""
    return f"not planned: {WHY_NONE[NoStart(outcome.unplanned)]} ({outcome.unplanned})"

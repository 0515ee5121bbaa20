"""Which jobs go before which, where room is kept for planned starts."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.explain.why import words
from vsched.framework.codes import NoStart
from vsched.framework.words.lists import listed_jobs
from vsched.model.plan import CycleReport, JobOutcome
from vsched.model.snapshot import Snapshot


def goes_before(snapshot: Snapshot, report: CycleReport, key: str) -> Iterator[str]:
    """Notes on a job: which jobs go before it on the nodes that are kept for it, or which job it goes before."""
    for other, outcome in report.jobs.items():
        planned = outcome.planned
        if planned is None:
            continue
        if other == key and planned.ahead:
            others = listed_jobs([*map(snapshot.called, planned.ahead)])
            yield words.others_until_its_start(others)
        if key in planned.ahead:
            yield words.goes_before(snapshot.called(other))


def why_no_start(outcome: JobOutcome | None) -> str:
    """A note on a job without room that says why no start is planned for it; empty where that is no question."""
    if outcome is None or not outcome.unplanned:
        return ""
    return words.not_planned(NoStart(outcome.unplanned))

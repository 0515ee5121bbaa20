"""Jobs in an overview, and their sums for queues and namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vsched.model.jobs.job import Job
from vsched.model.plan import CycleReport, JobOutcome
from vsched.model.pods.status import Phase, Status
from vsched.model.snapshot import Snapshot
from vsched.web.overview.document import JobRow

MOST_JOBS = 10_000

Pair = tuple[str, str]
"""Queue and namespace."""


@dataclass(slots=True)
class JobTable:
    """Rows, and counts over all jobs, with a row or without."""

    rows: dict[str, JobRow] = field(default_factory=dict)
    waiting: Counter[Pair] = field(default_factory=Counter)
    """Jobs that wait for their minimum."""
    listed: Counter[Pair] = field(default_factory=Counter)
    """Jobs that wait or run."""
    running: int = 0
    """Jobs that have their minimum."""
    pods_waiting: int = 0
    left_out: int = 0


def job_rows(
    snapshot: Snapshot,
    report: CycleReport,
    outcomes: Mapping[str, JobOutcome],
    positions: Mapping[str, int],
    columns: Sequence[int],
    most: int = MOST_JOBS,
) -> JobTable:
    """Every job that waits or runs. One whose pods are bound and about to start counts as running."""
    found = JobTable()
    rows = []
    ahead = goes_before({**outcomes, **report.jobs})
    for key, job in snapshot.jobs.items():
        row = job_row(job, report.jobs.get(key) or outcomes.get(key), positions.get(key), columns, ahead.get(key, ""))
        if row.phase == Phase.COMPLETED and not row.pending and not row.running:
            continue
        pair = (row.queue, job.spec.namespace)
        found.listed[pair] += 1
        found.pods_waiting += row.pending
        if row.waits:
            found.waiting[pair] += 1
        else:
            found.running += 1
        rows.append(row)
    found.left_out = max(0, len(rows) - most)
    found.rows = {row.key: row for row in (_first(rows, most) if found.left_out else rows)}
    return found


def goes_before(outcomes: Mapping[str, JobOutcome]) -> dict[str, str]:
    """By job that began on nodes which are kept for a planned start: the job that they are kept for."""
    planned = ((key, found.planned) for key, found in outcomes.items() if found.planned is not None)
    return {first: key for key, start in planned for first in start.ahead}


def job_row(
    job: Job, outcome: JobOutcome | None, position: int | None, columns: Sequence[int], ahead_of: str = ""
) -> JobRow:
    """The row of a job, by its outcome if there is one."""
    spec, request = job.spec, job.pending_request
    asked = tuple([request.get(column, 0) for column in columns])
    if outcome is None:
        pending, running = len(job.pending), job.counts[Status.RUNNING]
        counts = (spec.phase, job.priority, spec.min_member, job.ready, pending, running)
        return JobRow(job.key, spec.queue, *counts, spec.created, position, "", "", asked, job.user, ahead_of=ahead_of)
    return JobRow(
        key=job.key,
        queue=spec.queue,
        phase=outcome.phase,
        priority=job.priority,
        min_member=outcome.min_member,
        ready=outcome.ready,
        pending=outcome.pending,
        running=outcome.running,
        created=spec.created,
        position=position,
        reason=outcome.code,
        message=outcome.message,
        request=asked if outcome.pending else (0,) * len(columns),
        user=job.user,
        start=None if outcome.planned is None else outcome.planned.at,
        start_nodes=0 if outcome.planned is None else outcome.planned.node_count,
        ahead_of=ahead_of,
    )


def _first(rows: Iterable[JobRow], most: int) -> list[JobRow]:
    """The rows that are listed: waiting jobs in the order of their queues, then running ones by name."""

    def rank(row: JobRow) -> tuple[bool, float, str]:
        return not row.pending, float("inf") if row.position is None else row.position, row.key

    return sorted(rows, key=rank)[:most]

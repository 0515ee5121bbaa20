"""Jobs in an overview, and their sums for queues and namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import inf

from msgspec.structs import replace

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
    most: int,
) -> JobTable:
    """Every job that waits or runs. One whose pods are bound and about to start counts as running."""
    found = JobTable()
    ahead = goes_before({**outcomes, **dict(report.jobs.items())})
    shown: list[tuple[bool, float, str]] = []
    for key, job in snapshot.jobs.items():
        outcome = report.jobs.get(key) or outcomes.get(key)
        phase, least, ready, pending, running = _counts(job, outcome)
        if phase == Phase.COMPLETED and not pending and not running:
            continue
        pair = (job.spec.queue, job.spec.namespace)
        found.listed[pair] += 1
        found.pods_waiting += pending
        if ready < least and phase != Phase.COMPLETED:
            found.waiting[pair] += 1
        else:
            found.running += 1
        # Waiting jobs in the order of their queues, then running ones by name.
        shown.append((not pending, positions.get(key, inf), key))
    if len(shown) > most:
        found.left_out = len(shown) - most
        shown = nsmallest(most, shown)
    for _, _, key in shown:
        outcome = report.jobs.get(key) or outcomes.get(key)
        found.rows[key] = job_row(snapshot.jobs[key], outcome, positions.get(key), columns, ahead.get(key, ""))
    return found


def _counts(job: Job, outcome: JobOutcome | None) -> tuple[str, int, int, int, int]:
    """Its phase, how many pods it needs, and how many are ready, wait and run: by its outcome if there is one."""
    if outcome is not None:
        return outcome.phase, outcome.min_member, outcome.ready, outcome.pending, outcome.running
    return job.spec.phase, job.spec.min_member, job.ready, len(job.pending), job.counts[Status.RUNNING]


def goes_before(outcomes: Mapping[str, JobOutcome]) -> dict[str, str]:
    """By job that began on nodes which are kept for a planned start: the job that they are kept for."""
    planned = ((key, found.planned) for key, found in outcomes.items() if found.planned is not None)
    return {first: key for key, start in planned for first in start.ahead}


def job_row(
    job: Job, outcome: JobOutcome | None, position: int | None, columns: Sequence[int], ahead_of: str = ""
) -> JobRow:
    """The row of a job, by its outcome if there is one."""
    spec, request = job.spec, job.pending_request
    called = job.called if spec.made_for else ""
    asked = tuple([request.get(column, 0) for column in columns])
    if outcome is None:
        phase, least, ready, pending, running = _counts(job, None)
        counts = (phase, job.priority, least, ready, pending, running)
        row = JobRow(job.key, spec.queue, *counts, spec.created, position, "", "", asked, job.user, ahead_of=ahead_of)
        return replace(row, called=called) if called else row
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
        called=called,
    )

"""Annotations of queues with limits on the jobs in them. An invalid one is ignored, with a remark."""

from __future__ import annotations

import re
from typing import Any

from vsched.mirror.ingest.annotations import Annotations, Remarks, duration_of, remark
from vsched.mirror.ingest.words import groups as words
from vsched.model.queues.limits import (
    MAX_RUNNING_JOBS,
    MAX_RUNNING_JOBS_PER_USER,
    MAX_WALL_TIME,
    NO_JOB_LIMITS,
    QueueJobLimits,
)

COUNTS = {
    MAX_RUNNING_JOBS: "running_jobs",
    MAX_RUNNING_JOBS_PER_USER: "running_jobs_per_user",
}
"""The field of ``QueueJobLimits`` for each annotation with a number of jobs."""
_COUNT = re.compile(r"[0-9]{1,9}")


def job_limits_of(annotations: Annotations, remarks: Remarks) -> QueueJobLimits:
    """The limits that a queue states; zero counts, because then no job starts."""
    stated: dict[str, Any] = {}
    for name, field in COUNTS.items():
        text = annotations.get(name)
        if text is None:
            continue
        if _COUNT.fullmatch(text):
            stated[field] = int(text)
        else:
            remark(remarks, name, text, words.NUMBER_OF_JOBS)
    if (seconds := duration_of(annotations, MAX_WALL_TIME, remarks)) is not None:
        stated["wall_time"] = seconds
    return QueueJobLimits(**stated) if stated else NO_JOB_LIMITS

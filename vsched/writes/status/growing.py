"""Gangs whose pods are still being made: what they lack changes with every pod, and is told once no more come."""

from __future__ import annotations

from vsched.framework.codes import Code
from vsched.model.jobs.job import Job
from vsched.model.plan import JobOutcome

GROWING_SECONDS = 3.0
"""A gang with too few pods grows if the last of them came less than so long ago."""


def is_growing(job: Job, outcome: JobOutcome, now: float) -> bool:
    """Whether a gang has too few pods, and more seem to come; ``now`` is the time of the snapshot."""
    if outcome.code != Code.GANG_INCOMPLETE or not job.waits:
        return False  # a job of which no pod waits is told of once, and would never be told of again
    return has_new_pods(job, now)


def has_new_pods(job: Job, now: float) -> bool:
    """Whether more pods of a job seem to come."""
    last = next(reversed(job.tasks.values()), None)
    return last is not None and now - last.created < GROWING_SECONDS

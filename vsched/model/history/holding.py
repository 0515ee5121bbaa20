"""What holders have now."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.model.amounts.resources import Vector, add
from vsched.model.history.records import Holder
from vsched.model.jobs.job import Job


def holder_of(job: Job) -> Holder:
    """The holder that a job counts for."""
    return Holder(job.spec.queue, job.spec.namespace, job.user)


def held_by(jobs: Iterable[Job]) -> dict[Holder, Vector]:
    """The sums of what jobs hold, by holder; only holders that have something."""
    found: dict[Holder, Vector] = {}
    for job in jobs:
        if any(job.allocated.values()):
            add(found.setdefault(holder_of(job), {}), job.allocated.items())
    return found

"""Jobs whose pods leave together: what leaves with a task, and whether all of it can.

Jobs say so themselves (native PodGroups whose disruption mode is ``all``). An action may ask the same of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vsched.framework.jobs import JobView
from vsched.model.jobs.job import Job
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task

EVICTABLE = frozenset({Status.RUNNING, Status.BOUND})


def members(job: Job) -> Iterator[Task]:
    """The tasks of a job that hold a node and are not leaving it."""
    return (task for task in job.tasks.values() if HOLDS[task.status].allocated)


def unit_of(job: JobView, rows: Mapping[str, int]) -> list[tuple[Task, int]] | None:
    """The tasks of a job that hold a node and that this session has not evicted, by name, with their nodes' rows.

    None where one of them cannot be evicted: it may not be preempted, is only being bound, or got its node in this
    session.
    """
    if any(status is not Status.RELEASING for status, _, _ in job.moved.values()):
        return None
    found: list[tuple[Task, int]] = []
    for task in members(job.job):
        if task.uid in job.moved:
            continue
        row = rows.get(task.node)
        if row is None or task.status not in EVICTABLE or not task.preemptable:
            return None
        found.append((task, row))
    return sorted(found, key=lambda member: member[0].name)

"""Units of victims: tasks that leave together.

Most victims leave alone. Some take their whole job along: where the job says so (native PodGroups whose disruption mode
is ``all``), and where an action may break up a job that would fall below its minimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.session import Session
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task

EVICTABLE = frozenset({Status.RUNNING, Status.BOUND})


def unit_of(session: Session, job: JobView) -> list[tuple[Task, int]] | None:
    """The tasks of a job that hold a node and that this session has not evicted, with the rows of their nodes.

    None where one of them cannot be evicted: it may not be preempted, is only being bound, or got its node in this
    session.
    """
    if any(status is not Status.RELEASING for status, _, _ in job.moved.values()):
        return None
    found: list[tuple[Task, int]] = []
    for task in job.job.tasks.values():
        if not HOLDS[task.status].allocated or task.uid in job.moved:
            continue
        row = session.nodes.statics.row.get(task.node)
        if row is None or task.status not in EVICTABLE or not task.preemptable:
            return None
        found.append((task, row))
    return found


def units(evictions: Sequence[LedgerEntry], together: Iterable[str]) -> Iterator[list[LedgerEntry]]:
    """The evictions in their order, those of the jobs ``together`` as one unit each; where its last one stands."""
    keys, by_job = frozenset(together), dict[str, list[LedgerEntry]]()
    for eviction in evictions:
        if eviction.job.key in keys:
            by_job.setdefault(eviction.job.key, []).append(eviction)
    for eviction in evictions:
        unit = by_job.get(eviction.job.key)
        if unit is None:
            yield [eviction]
        elif eviction is unit[-1]:
            yield unit

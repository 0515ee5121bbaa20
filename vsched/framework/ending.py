"""Ends the jobs that have run for as long as they may, at the start of a cycle.

All of their pods leave, whatever protects them: minimum run times, disruption budgets, ``preemptable: false``. Else
they would never make room.
"""

from __future__ import annotations

from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.ledger.units import EVICTABLE
from vsched.framework.session import Session
from vsched.model.plan import WALL_TIME

CAUSE = EvictionCause(WALL_TIME, beneficiary="")


def end_overdue(session: Session) -> None:
    """Evict the pods of the jobs that plugins want ended; pods that are being bound go once they are."""
    rows = session.nodes.statics.row
    for key in session.plugins.overdue():
        job = session.view(key)
        if job is None:
            continue
        with session.statement() as statement:
            for task in job.job.tasks.values():
                if task.status in EVICTABLE and not task.spared and (row := rows.get(task.node)) is not None:
                    statement.evict(job, task, row, CAUSE)
            statement.commit()

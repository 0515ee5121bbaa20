"""Places that a session has found for tasks and has not committed: others are to leave, or the gang is not complete.

Outcomes of queues and namespaces do not count them: they count what runs, is bound, or is bound in this session.
"""

from __future__ import annotations

from vsched.framework.ledger.ledger import NO_CAUSE
from vsched.framework.session import Session
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


def placed_on_paper(session: Session) -> dict[str, list[tuple[Task, int]]]:
    """The tasks with such places and their node rows, by job."""
    committed = {entry.task.uid for entry in session.decisions.committed}
    at = session.nodes.statics.row
    found: dict[str, list[tuple[Task, int]]] = {}
    jobs = session.jobs
    for view in (jobs[key] for key in sorted(session.ledger.touched) if key in jobs):
        for uid, (status, node, task) in view.moved.items():
            waits = status is Status.PIPELINED or (status is Status.ALLOCATED and uid not in committed)
            if waits and node in at:
                found.setdefault(view.key, []).append((task, at[node]))
    return found


def give_up(session: Session) -> None:
    """Give up these places, until the end of the statement that is open."""
    for key, placed in placed_on_paper(session).items():
        for task, row in placed:
            session.ledger.end(session.jobs[key], task, row, NO_CAUSE)
    for entry in session.decisions.moving:
        session.ledger.end(entry.job, entry.task, entry.row, NO_CAUSE)

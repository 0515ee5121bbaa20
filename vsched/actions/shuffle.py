"""shuffle: evicts running tasks that had better be elsewhere, as plugins name them (reference 3.7).

Nobody is evicted in vain: a victim goes only where another node than its own would take it, and its queue as well, with
all earlier victims out and their successors placed in the books. The reference does not look. A victim whose node is
wanted back goes in any case (``VictimTasks.must_leave``): it is evicted for the node's sake, not for its own. And where
the reference shows plugins all running tasks, those that say they may not be preempted are never among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

from vsched.actions.pools import is_moved
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Cause
from vsched.framework.ledger.statement import Statement
from vsched.framework.session import Session
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

CAUSE = Cause("shuffle", beneficiary="")


def shuffle(session: Session) -> None:
    """Have the tasks leave that plugins name and that have a place to go to."""
    leaving = movable(session, session.plugins.victim_tasks(RunningTasks(session)))
    if leaving:
        with session.statement() as statement:
            for job, task, row in leaving:
                statement.evict(job, task, row, CAUSE)
            statement.commit()


def movable(session: Session, victims: Sequence[Task]) -> list[tuple[JobView, Task, int]]:
    """The victims that may go, in their order, with their jobs and rows: tried on the books, where nothing is left."""
    found: list[tuple[JobView, Task, int]] = []
    with session.statement() as trial:
        for task in victims:
            row, job = session.nodes.statics.row.get(task.node), session.view(task.job)
            if row is None or job is None:
                continue
            before = trial.savepoint()
            trial.evict(job, task, row, CAUSE)
            if _moves(session, trial, job, task, row) or session.plugins.must_leave(task):
                found.append((job, task, row))
            else:
                trial.rollback(before)
    return found


def _moves(session: Session, trial: Statement, job: JobView, task: Task, row: int) -> bool:
    """Whether a successor of an evicted task has a place elsewhere; then it is put there."""
    queue = session.snapshot.queues.get(job.queue)
    if task.unsupported or job.job.unsupported:
        return False  # it runs, and another one in its place would wait
    if queue is None or not (task.shape.best_effort or _may_have_again(session, queue, task)):
        return False
    successor = task.moved(Status.PENDING, "")
    choice = session.node_selection.choose(successor, besides=row)
    if choice is not None:
        trial.pipeline(job, successor, choice.row)
    return choice is not None


def _may_have_again(session: Session, queue: Queue, task: Task) -> bool:
    """Whether the queue would be given the task again, as allocate asks; of a best-effort one nobody asks."""
    if session.plugins.overused(queue):
        return False
    return session.plugins.grantable(queue, task.namespace, task.shape) is None


class RunningTasks(Sequence[Task]):
    """All running tasks that may be preempted, the first to go first; collected when first looked at.

    In most cycles no plugin looks, and then a hundred thousand running pods cost nothing.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def _tasks(self) -> list[Task]:
        return list(_running(self._session))

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        return self._tasks[index]

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)


def _running(session: Session) -> Iterator[Task]:
    """What goes last in every order goes first: the last queue, its last job, that job's last task."""
    plugins, queues, holders = session.plugins, session.snapshot.queues, session.snapshot.holders
    known = sorted((name for name in holders if name in queues), key=lambda name: plugins.queue_key(queues[name]))
    unknown = sorted(name for name in holders if name not in queues)
    for name in (*unknown, *reversed(known)):
        views = (view for key in holders[name] if (view := session.view(key)) is not None)
        for job in sorted(views, key=plugins.job_key, reverse=True):
            running = (task for task in job.job.tasks.values() if task.status is Status.RUNNING and task.preemptable)
            yield from reversed(plugins.ordered_tasks(task for task in running if not is_moved(session, task)))

"""The action shuffle: evicts running tasks that plugins want on other nodes.

A victim is evicted only if another node has room for its successor and its queue may hold it. This is tried with all
earlier victims evicted and their successors placed. The reference does not check this. A victim whose node must be
freed (``VictimTasks.must_leave``) is evicted in any case. The reference also offers plugins tasks that are marked as
not preemptable; vsched never does. A victim that is still protected (``VictimProtection``) stays as well,
and so do pods that the preemptibility of their jobs protects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

from vsched.actions.candidates import is_out
from vsched.actions.close_choice import choose_close
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.ledger.statement import Statement
from vsched.framework.nodes.selection import Choice
from vsched.framework.session import Session
from vsched.framework.surplus import protected_by
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

CAUSE = EvictionCause("shuffle", beneficiary="")


def shuffle(session: Session) -> None:
    """Evict the tasks that plugins name, if they have another node to go to or must leave."""
    leaving = movable(session, session.plugins.victim_tasks(RunningTasks(session)))
    if leaving:
        with session.statement() as statement:
            for job, task, row in leaving:
                statement.evict(job, task, row, CAUSE)
            statement.commit()


def movable(session: Session, victims: Sequence[Task]) -> list[tuple[JobView, Task, int]]:
    """The victims to evict, in their order, with their jobs and rows. The trial statement is rolled back."""
    found: list[tuple[JobView, Task, int]] = []
    protected = session.plugins.victim_rules.protected(None)
    with session.statement() as trial:
        for task in victims:
            row, job = session.nodes.statics.row.get(task.node), session.view(task.job)
            if row is None or not session.node_selection.is_ours(row):
                continue
            if job is None or (protected is not None and protected(task)):
                continue
            own_protection = protected_by(job)
            if own_protection is not None and own_protection(task):
                continue
            before = trial.savepoint()
            trial.evict(job, task, row, CAUSE)
            if _moves(session, trial, job, task, row) or session.plugins.must_leave(task):
                found.append((job, task, row))
            else:
                trial.rollback(before)
    return found


def _moves(session: Session, trial: Statement, job: JobView, task: Task, row: int) -> bool:
    """Whether a successor of an evicted task fits on another node; if so, the trial places it there."""
    queue = session.snapshot.queues.get(job.queue)
    if task.unsupported or job.job.unsupported:
        return False  # the running pod is fine, but a new one like it would not be scheduled
    if queue is None or not (task.best_effort or may_have_again(session, queue, task)):
        return False
    successor = task.moved(Status.PENDING, "")
    choice = choose_close(session, job, (successor,), lambda: session.node_selection.choose(successor, besides=row))
    if not isinstance(choice, Choice):
        return False
    trial.pipeline(job, successor, choice.row)
    return True


def may_have_again(session: Session, queue: Queue, task: Task) -> bool:
    """Whether the queue may hold the task again, by the same rules as in ``allocate``."""
    if session.plugins.overused(queue):
        return False
    return session.plugins.grantable(queue, task) is None


class RunningTasks(Sequence[Task]):
    """All running tasks that may be preempted, in the order of eviction. They are collected on first use.

    In most cycles no plugin uses them, so a hundred thousand running pods cost nothing.
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
    """The running tasks in reverse order of queues, jobs and tasks: the last queue, its last job, its last task."""
    plugins, queues, holders = session.plugins, session.snapshot.queues, session.snapshot.holders
    known = sorted((name for name in holders if name in queues), key=lambda name: plugins.queue_key(queues[name]))
    unknown = sorted(name for name in holders if name not in queues)
    for name in (*unknown, *reversed(known)):
        views = (
            view for key in holders[name] if (view := session.view(key)) is not None and not view.spec.leaves_whole
        )
        for job in sorted(views, key=plugins.job_key, reverse=True):
            running = (task for task in job.job.tasks.values() if task.status is Status.RUNNING and task.preemptable)
            yield from reversed(plugins.ordered_tasks(task for task in running if not is_out(session, task)))

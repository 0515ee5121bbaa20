"""Jobs that are held back without a try, and the reason that people are told.

What is told first is the nodes' own reason where they have no room anyway, whatever a queue may have: "Insufficient
cpu" is something to act on, a share that is used up in a full cluster is not.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.feasibility import Room
from vsched.framework.nodes.why import Explanation
from vsched.framework.refusal import PASSES, Refusal
from vsched.framework.session import Session, is_whole
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

Worksheet = deque[Task]
"""The tasks of a job that still want a place, in order."""

QUEUE_OVERUSED = "QueueOverused"


def held_back(session: Session, queue: Queue, job: JobView, sheet: Worksheet) -> bool:
    """Whether it is certain that a gang cannot reach its minimum in this cycle: then nothing is tried."""
    missing = session.plugins.tasks_missing(job)
    if missing < 2 or session.plugins.job_pipelined(job):
        return False
    return beyond_queue(session, queue, job, sheet, missing) or no_room(session, sheet, missing)


def beyond_queue(session: Session, queue: Queue, job: JobView, sheet: Worksheet, missing: int) -> bool:
    """Whether the queue, or the job's namespace, cannot take what is missing of the job's minimum.

    Asked of gangs of one shape, for all that is missing at once; task by task the answer would be the same, later.
    """
    refusal = gang_refusal(session, queue, job, sheet, missing)
    if refusal is not None:
        note(session, job, sheet, missing, refusal)
    return refusal is not None


def gang_refusal(session: Session, queue: Queue, job: JobView, tasks: Sequence[Task], missing: int) -> Refusal | None:
    """The objection of queue or namespace to so many of these tasks at once; None as well where nobody can tell."""
    if len(tasks) < missing or any(task.shape is not tasks[0].shape for task in tasks):
        return None
    return session.plugins.grantable(queue, job.namespace, tasks[0].shape, missing)


def no_room(session: Session, sheet: Worksheet, missing: int) -> bool:
    """Whether the nodes cannot hold what is missing of the job's minimum, whatever the order.

    The room of each shape is counted as if the others were not there, so a job that could fit is never turned away.
    It is counted only for shapes that failed before in this cycle: the work is for backlogs, not for the common case.
    """
    tasks = Counter(task.shape for task in sheet)
    first = {task.shape: task for task in reversed(sheet)}
    if not any(session.node_selection.has_failed(task) for task in first.values()):
        return False
    fits = 0
    for shape, count in tasks.items():
        fits += min(count, session.node_selection.room(first[shape]).tasks)
        if fits >= missing:
            return False
    stopped = next((task for task in sheet if session.node_selection.room(task).tasks < tasks[task.shape]), None)
    if stopped is None:
        return False  # all of them fit: what is missing is held back by scheduling gates
    told = short_of_room(session.node_selection.room(stopped), tasks[stopped.shape])
    session.task_refusals[stopped.uid] = told._replace(fits=fits)
    return True


def note_overused(session: Session, queue: Queue, job: JobView, sheet: Worksheet) -> None:
    """What to say of a job whose queue has had its share."""
    missing = max(1, session.plugins.tasks_missing(job))
    refusal = gang_refusal(session, queue, job, sheet, missing)
    if refusal is None:
        refusal = session.plugins.grantable(queue, job.namespace, sheet[0].shape)
    if refusal is None or refusal.rank == PASSES:
        message = f"queue {queue.name} holds all that it deserves"
        refusal = Refusal(QUEUE_OVERUSED, message, code=Code.QUEUE_SHARE, subject=queue.name)
    note(session, job, sheet, missing, refusal)


def note(session: Session, job: JobView, sheet: Worksheet, missing: int, refusal: Refusal) -> None:
    """Say of a job that waits why it does: the nodes' reason for its next task, else the refusal for all of it."""
    told = nodes_first(session, sheet[0], missing, refusal)
    if isinstance(told, Refusal):
        session.job_refusals.setdefault(job.key, told)
    else:
        session.task_refusals[sheet[0].uid] = told


def nodes_first(session: Session, task: Task, wanted: int, refusal: Refusal) -> Explanation | Refusal:
    """The nodes' reason, then the refusal, where they have no room for ``wanted`` tasks like this; else the refusal."""
    room = session.node_selection.room_at_hand(task) if refusal.rank else None
    if room is None or room.tasks >= wanted:
        return refusal
    told = short_of_room(room, wanted)
    if is_whole(session.snapshot, refusal):
        return told
    return told._replace(message=f"{told.message} Also, {refusal.message}.", also=refusal)


def short_of_room(room: Room, wanted: int) -> Explanation:
    """The nodes' reason, with how many would fit where more than one is wanted."""
    if wanted == 1:
        return room.full
    message = f"{room.full.message} There is room for {room.tasks} of {wanted}."
    return room.full._replace(message=message, fits=room.tasks)

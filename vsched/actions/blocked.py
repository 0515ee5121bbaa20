"""Jobs that are refused without a try, and the reasons that are reported for them.

Where the nodes have no room anyway, their reason is reported before the refusal of a queue. Users can act on
"Insufficient cpu"; that a queue's share is used up in a full cluster helps them less.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from vsched.actions import words
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.shapes import ShapeRoom
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import PASSES, Refusal
from vsched.framework.session import Session
from vsched.framework.starting import is_whole
from vsched.model.amounts.resources import Vector, add
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

PendingTasks = deque[Task]
"""The tasks of a job that still need a node, in order."""

QUEUE_OVERUSED = "QueueOverused"


def may_start(session: Session, job: JobView) -> bool:
    """Whether limits on running jobs let a job start; records why not."""
    if not session.plugins.limits_starts:
        return True
    refusal = session.plugins.start_limit(job)
    if refusal is not None:
        session.refused.jobs[job.key] = refusal
    return refusal is None


def is_blocked(session: Session, queue: Queue, job: JobView, pending: PendingTasks) -> bool:
    """Whether a gang certainly cannot reach its minimum in this cycle, so that no try is made."""
    missing = session.plugins.tasks_missing(job)
    if missing < 2 or session.plugins.job_pipelined(job):
        return False
    if job.asks_closeness and not session.places.meets_topology(job):
        return False  # no domain may hold it, whatever its room: the try fails, and gives that reason
    return (
        lacks_claims(session, pending, missing)
        or beyond_queue(session, queue, job, pending, missing)
        or no_room(session, pending, missing)
    )


def lacks_claims(session: Session, tasks: Sequence[Task], missing: int) -> bool:
    """Whether claims that cannot be used, because they do not exist for instance, leave too few of the tasks.

    False where there are fewer tasks than ``missing`` anyway.
    """
    obstacles = {
        task.uid: obstacle
        for task in tasks
        if task.claims is not None and (obstacle := session.claims.obstacle(task)) is not None
    }
    if not obstacles or len(tasks) < missing or len(tasks) - len(obstacles) >= missing:
        return False
    session.refused.tasks.update(obstacles)
    return True


def beyond_queue(session: Session, queue: Queue, job: JobView, pending: PendingTasks, missing: int) -> bool:
    """Whether the queue or the namespace refuses the tasks that the job lacks of its minimum.

    Gangs of one shape are checked for all missing tasks at once. A check task by task would give the same answer later.
    """
    refusal = gang_refusal(session, queue, job, pending, missing)
    if refusal is not None:
        note_refusal(session, job, pending, missing, refusal)
    return refusal is not None


def gang_refusal(session: Session, queue: Queue, job: JobView, tasks: Sequence[Task], missing: int) -> Refusal | None:
    """The refusal by queue or namespace of ``missing`` of these tasks at once.

    None where there is no refusal, and where the tasks are too few or differ in shape.
    """
    if len(tasks) < missing or any(task.shape is not tasks[0].shape for task in tasks):
        return None
    return session.plugins.grantable_together(queue, tasks, missing)


def explain_gang_limit(session: Session, queue: Queue, job: JobView, placed: Sequence[Task]) -> None:
    """Give tasks that the queue refused beside others of their gang the refusal of all of them together.

    The try that placed the others is rolled back: they hold nothing.
    """
    total: Vector = {}
    for task in placed:
        add(total, task.shape.request)
    needs_all = session.plugins.tasks_missing(job) >= job.pending_count
    for uid, task in job.job.pending.items() if placed else ():
        why = session.refused.tasks.get(uid)
        if not isinstance(why, Refusal) or why.code not in (Code.QUEUE_CAPABILITY, Code.QUEUE_SHARE):
            continue
        asked = total.copy()
        add(asked, task.shape.request)
        refusal = session.plugins.allocatable(queue, tuple(sorted(asked.items())))
        if refusal is not None and (needs_all or refusal.rank == PASSES):
            session.refused.tasks[uid] = refusal


def no_room(session: Session, pending: PendingTasks, missing: int) -> bool:
    """Whether the nodes cannot hold the tasks that the job lacks of its minimum, in whatever order.

    The room for each shape and kind of claims is counted without the others, so a job that could fit is never refused.
    Room is counted only if a task of one of the kinds found no node earlier in this cycle, because counting takes time.
    """
    selection = session.node_selection
    if not selection.is_short:
        return False
    first = {selection.kind(task): task for task in reversed(pending)}
    return any(selection.has_failed(task) for task in first.values()) and note_no_room(session, pending, missing)


def note_no_room(session: Session, tasks: Sequence[Task], missing: int) -> bool:
    """Whether all nodes together cannot hold ``missing`` of these tasks, each shape counted alone; records why."""
    selection = session.node_selection
    kinds = [selection.kind(task) for task in tasks]
    counts = Counter(kinds)
    first = dict(zip(reversed(kinds), reversed(tasks), strict=True))
    fits = 0
    for kind, count in counts.items():
        fits += min(count, selection.room(first[kind]).tasks)
        if fits >= missing:
            return False
    stopped = next((kind for kind in counts if selection.room(first[kind]).tasks < counts[kind]), None)
    if stopped is None:
        return False  # all of them fit: the missing tasks have scheduling gates
    why = short_of_room(selection.room(first[stopped]), counts[stopped])
    session.refused.tasks[first[stopped].uid] = why._replace(fits=fits)
    return True


def note_cluster_room(session: Session, job: JobView) -> None:
    """Record that the whole cluster lacks room for a job, in place of its domains, where that is so.

    The job asks for closeness, and no domain that it may use has room for it. Where no domain could have room, because
    of what the job asks for or where its pods are, that refusal stays.
    """
    refusals = session.refused.tasks
    pending = (task for uid, task in job.job.pending.items() if uid not in job.moved and not task.gated)
    tasks = session.plugins.ordered_tasks(pending)
    near = [task.uid for task in tasks if _is_about_domains(refusals.get(task.uid))]
    if not near or not session.places.meets_topology(job):
        return
    missing = max(1, session.plugins.tasks_missing(job) - job.waiting)
    before = {uid: refusals.pop(uid) for uid in near}
    if not note_no_room(session, tasks, missing):
        refusals.update(before)


def _is_about_domains(why: NodeReasons | Refusal | None) -> bool:
    return isinstance(why, Refusal) and why.code is Code.TOPOLOGY


def note_overused(session: Session, queue: Queue, job: JobView, pending: PendingTasks) -> None:
    """Record why a job of an overused queue waits."""
    missing = max(1, session.plugins.tasks_missing(job))
    refusal = gang_refusal(session, queue, job, pending, missing)
    if refusal is None:
        refusal = session.plugins.grantable(queue, pending[0])
    if refusal is None or refusal.rank == PASSES:
        refusal = Refusal(QUEUE_OVERUSED, words.queue_overused(queue.name), code=Code.QUEUE_SHARE, subject=queue.name)
    note_refusal(session, job, pending, missing, refusal)


def note_refusal(session: Session, job: JobView, pending: PendingTasks, missing: int, refusal: Refusal) -> None:
    """Record why a job waits: the nodes' reason for its next task, else the refusal for the whole job."""
    why = nodes_first(session, pending[0], missing, refusal)
    if isinstance(why, Refusal):
        session.refused.jobs.setdefault(job.key, why)
    else:
        session.refused.tasks[pending[0].uid] = why


def nodes_first(session: Session, task: Task, wanted: int, refusal: Refusal) -> NodeReasons | Refusal:
    """The nodes' reason, then the refusal, where nodes lack room for ``wanted`` such tasks; else only the refusal."""
    obstacle = session.claims.obstacle(task)
    if obstacle is not None:
        return obstacle
    room = session.node_selection.room_at_hand(task) if refusal.rank else None
    if room is None or room.tasks >= wanted:
        return refusal
    why = short_of_room(room, wanted)
    if is_whole(session.snapshot, refusal):
        return why
    return why._replace(message=words.also(why.message, refusal.message), also=refusal)


def short_of_room(room: ShapeRoom, wanted: int) -> NodeReasons:
    """The nodes' reason; where more than one task is wanted, also how many would fit."""
    if wanted == 1:
        return room.full
    message = words.room_for(room.full.message, room.tasks, wanted)
    return room.full._replace(message=message, fits=room.tasks)

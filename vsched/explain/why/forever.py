"""What cannot come by waiting, as the cluster and the policy are: told apart from what only takes its time.

Each of these is certain; ``framework.reports.lasting`` is about one pod. What may pass by itself is no reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.explain.records import Constraint
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.reports.lasting import never_on_nodes, rooms_if_empty, rows_open
from vsched.framework.session import Session
from vsched.framework.wording import larger_than_nodes
from vsched.kernels.registering import awaited
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

IDLE_SECONDS = 30.0
"""After so long without another pod nobody is expected to make one who is not known to."""
SHAPES_MAX = 8
"""So many kinds of pods of a job are looked at; nothing is certain of a job that has more."""


class Kind(NamedTuple):
    """The pods of one shape that a job has."""

    tasks: Sequence[Task]
    """All that are not done, wherever they are."""
    open_rows: Mask
    """bool[nodes]: open to them for all that lasts."""
    room: int
    """How many of them could be placed on the nodes if these were empty, and nobody else's rule in the way."""
    counted: int
    """The same, with those that count for a gang before they are placed: what asks for nothing."""


def never_placed(session: Session, view: JobView) -> Iterator[Constraint]:
    """Why the minimum of a job, or of a role, would not fit on the nodes if these were empty; nothing where it would,
    for all one can tell."""
    kinds, done = _kinds(session, view)
    if not kinds:
        return
    together = min(sum(kind.counted for kind in kinds), _room_in_all(session, kinds))
    enough = done + together >= view.min_member
    role = _role_never_placed(view, kinds)
    if enough and role is None and any(kind.room for kind in kinds):
        return
    short = [kind for kind in kinds if kind.counted < len(kind.tasks) or not kind.room]
    beyond = [one for kind in short for one in shape_never_placed(session, kind.tasks[0])]
    yield from dict.fromkeys(beyond)
    who, needed, room = role or ("", view.min_member - done, together)
    if room if role else any(kind.room for kind in short) or together < sum(kind.counted for kind in kinds):
        yield Constraint(Code.GANG_SIZE, larger_than_nodes(needed, room, who), lasting=True)


def shape_never_placed(session: Session, task: Task) -> Iterator[Constraint]:
    """Why a pod would not fit on any node if all were empty; nothing where it would, for all one can tell."""
    found = never_on_nodes(session, task)
    if found is not None:
        yield Constraint(found.code, found.message, lasting=True, resource=found.resource)


def never_complete(session: Session, view: JobView) -> str:
    """What is said of a gang with too few pods that nobody is known to make more for; empty where somebody may."""
    others = session.snapshot.foreign.get(view.key)
    if others:
        return others
    tasks = view.job.tasks.values()
    if not tasks or any(task.owned for task in tasks):
        return ""
    if session.snapshot.now - max(task.created for task in tasks) < IDLE_SECONDS:
        return ""
    return "no controller owns its pods, so somebody has to make more"


def is_to_hold(task: Task) -> bool:
    """Whether a pod may make up a minimum that is held at once: one that leaves may if another is made in its place."""
    if task.status is Status.RELEASING:
        return task.owned
    return task.status not in (Status.SUCCEEDED, Status.FAILED)


def _kinds(session: Session, view: JobView) -> tuple[list[Kind], int]:
    """The kinds of pods that are not done, a few at most, and how many are done; nothing where these are too many.

    What asks for nothing counts for a gang before it is placed.
    """
    by_shape: dict[Shape, list[Task]] = {}
    done = 0
    for task in view.job.tasks.values():
        if task.status is Status.SUCCEEDED:
            done += 1
        elif is_to_hold(task):
            by_shape.setdefault(task.shape, []).append(task)
    if len(by_shape) > SHAPES_MAX or not len(session.nodes):
        return [], done
    return [_kind(session, shape, tasks) for shape, tasks in by_shape.items()], done


def _kind(session: Session, shape: Shape, tasks: Sequence[Task]) -> Kind:
    open_rows = rows_open(session, tasks[0])[0]
    room = min(len(tasks), _room_apart(session, tasks, rooms_if_empty(session, shape, open_rows)))
    return Kind(tasks, open_rows, room, len(tasks) if shape.best_effort else room)


def _room_apart(session: Session, tasks: Sequence[Task], rows: Ints) -> int:
    """How many of these tasks of one shape have room at once, that keep apart from each other as they state.

    ``rows`` is how many of them each node could hold, were they on good terms.
    """
    labels = {task.labels for task in tasks}
    rooms = (one.most_together(tasks[0].shape, labels, rows) for one in session.plugins.node_plugins.filters)
    return min(rooms, default=int(rows.sum()))


def _room_in_all(session: Session, kinds: Sequence[Kind]) -> int:
    """How many of the pods all nodes that are open to any have enough of each resource for, the smallest first."""
    open_rows = np.logical_or.reduce([kind.open_rows for kind in kinds])
    least = sum(len(kind.tasks) for kind in kinds)
    columns = {column for kind in kinds for column, _ in kind.tasks[0].shape.request}
    for column in columns:
        if (awaited(session.nodes, column) & open_rows).any():
            continue
        left, count = int(session.nodes.allocatable[column][open_rows].sum()), 0
        asked = ((dict(kind.tasks[0].shape.request).get(column, 0), kind) for kind in kinds)
        for amount, kind in sorted(asked, key=lambda one: one[0]):
            fits = kind.counted if kind.tasks[0].shape.best_effort or not amount else min(kind.counted, left // amount)
            left, count = left - fits * amount, count + fits
        least = min(least, count)
    return least


def _role_never_placed(view: JobView, kinds: Sequence[Kind]) -> tuple[str, int, int] | None:
    """A role whose minimum is more than there could be room for, that minimum, and the room; None where there is none.

    The name is ready to be put before a verb.
    """
    if not view.gates_minimum:
        return None
    succeeded = Counter(task.role for task in view.job.tasks.values() if task.status is Status.SUCCEEDED)
    for role, minimum in view.spec.min_task_member:
        own = [(sum(task.role == role for task in kind.tasks), kind.counted) for kind in kinds]
        exist = succeeded[role] + sum(count for count, _ in own)
        room = succeeded[role] + sum(min(count, room) for count, room in own)
        if exist >= minimum > room:
            return f"of role {role} ", minimum, room
    return None

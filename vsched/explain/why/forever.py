"""Finds lasting constraints: those for which waiting cannot help, as long as cluster and policy stay as they are.

Each of them is certain: what may change by itself is not lasting. This module is about whole jobs,
``framework.reports.lasting`` is about single pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.explain.records import Constraint
from vsched.explain.why import words
from vsched.framework.codes import Code
from vsched.framework.empty_nodes import rooms_if_empty, rows_open
from vsched.framework.jobs import JobView
from vsched.framework.places.words import tier_words
from vsched.framework.refusal import Refusal
from vsched.framework.reports.lasting import never_on_nodes
from vsched.framework.reports.unfit import CELLS_MAX
from vsched.framework.session import Session
from vsched.framework.words.nodes import larger_than_nodes
from vsched.kernels.infeasibility import GangDemand, OpenNodes, infeasible
from vsched.kernels.registering import awaited
from vsched.model.amounts.resources import Vector, add
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

IDLE_SECONDS = 30.0
"""A job whose pods have no controller gets no more pods, if none was created for this long."""
SHAPES_MAX = 8
"""The most shapes of pods in a job that are examined; a job with more has no lasting constraints from here."""


class ShapeCount(NamedTuple):
    """The pods of one shape in a job."""

    tasks: Sequence[Task]
    """All that have not finished and do not stay (``_staying``), pending or placed."""
    open_rows: Mask
    """bool[nodes]: nodes that no lasting constraint closes to all of them."""
    room: int
    """How many of them would fit on the nodes if all nodes were empty."""
    counted: int
    """The number that counts for the gang: ``room``, but all of the pods if they are best-effort."""


def never_placed(session: Session, view: JobView) -> Iterator[Constraint]:
    """Lasting constraints of a job whose minimum, or that of a role, would not fit even on empty nodes.

    Empty if it would fit, or if that is not certain.
    """
    kinds, settled = _kinds(session, view)
    if not kinds:
        return
    done = settled.total()
    together = min(sum(kind.counted for kind in kinds), _room_in_all(session, kinds))
    domain, where = _room_in_a_domain(session, view, kinds)
    where, together = ("", together) if together <= domain else (where, domain)
    if done + together >= view.min_member:
        together = min(together, _room_in_any_way(session, view, kinds, settled))
    enough = done + together >= view.min_member
    role = _role_never_placed(view, kinds, settled)
    if enough and role is None and any(kind.room for kind in kinds):
        return
    short = [kind for kind in kinds if kind.counted < len(kind.tasks) or not kind.room]
    beyond = [one for kind in short for one in shape_never_placed(session, kind.tasks[0])]
    yield from dict.fromkeys(beyond)
    who, needed, room = role or ("", view.min_member - done, together)
    if room if role else any(kind.room for kind in short) or together < sum(kind.counted for kind in kinds):
        yield Constraint(Code.GANG_SIZE, larger_than_nodes(needed, room, who, "" if role else where), lasting=True)


def shape_never_placed(session: Session, task: Task) -> Iterator[Constraint]:
    """The lasting constraint of a pod that would not fit on any node even if all were empty; none if not certain."""
    found = never_on_nodes(session, task)
    if found is not None:
        yield Constraint(found.code, found.message, lasting=True, resource=found.resource)


def never_complete(session: Session, view: JobView) -> str:
    """The message for a gang with too few pods and no known source of more; empty if a controller may make more."""
    others = session.snapshot.foreign.get(view.key)
    if others:
        return others
    tasks = view.job.tasks.values()
    if not tasks or any(task.owned for task in tasks):
        return ""
    if session.snapshot.now - max(task.created for task in tasks) < IDLE_SECONDS:
        return ""
    return words.NO_CONTROLLER


def is_to_hold(task: Task) -> bool:
    """Whether a pod may count for a minimum that runs at once; a terminating pod does if a controller replaces it."""
    if task.status is Status.RELEASING:
        return task.owned
    return task.status not in (Status.SUCCEEDED, Status.FAILED)


def _kinds(session: Session, view: JobView) -> tuple[list[ShapeCount], Counter[str]]:
    """The kinds of pods that need a place, and by role the number of pods that need none: finished or staying.

    The list is empty if there are more than ``SHAPES_MAX`` kinds, or no nodes.
    """
    by_shape: dict[Shape, list[Task]] = {}
    settled: Counter[str] = Counter()
    for task in view.job.tasks.values():
        if task.status is Status.SUCCEEDED:
            settled[task.role] += 1
        elif is_to_hold(task):
            by_shape.setdefault(task.shape, []).append(task)
    if len(by_shape) > SHAPES_MAX or not len(session.nodes):
        return [], settled
    kinds = [(tasks, _rows_open(session, tasks)) for tasks in by_shape.values()]
    staying = _staying(session, kinds)
    settled.update(task.role for tasks, _ in kinds for task in tasks if task.uid in staying)
    left = [([task for task in tasks if task.uid not in staying], rows) for tasks, rows in kinds]
    return [_kind(session, tasks, rows) for tasks, rows in left if tasks], settled


def _staying(session: Session, kinds: Sequence[tuple[Sequence[Task], Mask]]) -> set[str]:
    """The uids of pods on nodes where they would not be placed again, but stay.

    Their node is gone, is closed to them by now, or has less than they ask for together.
    """
    found: set[str] = set()
    on: dict[int, list[Task]] = {}
    for tasks, open_rows in kinds:
        for task in tasks:
            if not task.node or task.status is Status.RELEASING:
                continue
            row = session.nodes.statics.row.get(task.node)
            if row is not None and open_rows[row]:
                on.setdefault(row, []).append(task)
            else:
                found.add(task.uid)
    for row, tasks in on.items():
        asked: Vector = {}
        for task in tasks:
            add(asked, task.shape.request)
        if any(amount > session.nodes.allocatable[column][row] for column, amount in asked.items()):
            found.update(task.uid for task in tasks)
    return found


def _kind(session: Session, tasks: Sequence[Task], open_rows: Mask) -> ShapeCount:
    shape = tasks[0].shape
    room = min(len(tasks), _room_apart(session, tasks, rooms_if_empty(session, shape, open_rows)))
    return ShapeCount(tasks, open_rows, room, len(tasks) if shape.best_effort else room)


def _rows_open(session: Session, tasks: Sequence[Task]) -> Mask:
    """bool[nodes]: the nodes that no lasting check closes to all of these tasks of one shape."""
    firsts: dict[Hashable, Task] = {}
    for task in tasks:
        claims = session.claims.of(task)
        firsts.setdefault(None if claims is None else claims.kind, task)
    if len(firsts) > SHAPES_MAX:
        return rows_open(session, tasks[0], by_claims=False)[0]
    found: Mask = np.logical_or.reduce([rows_open(session, task)[0] for task in firsts.values()])
    return found


def _room_apart(session: Session, tasks: Sequence[Task], rows: Ints) -> int:
    """How many of these tasks of one shape fit at once, given their constraints about each other.

    ``rows`` is how many of them each node could hold without these constraints (pod anti-affinity, host ports).
    """
    labels = {task.labels for task in tasks}
    rooms = (one.most_together(tasks[0].shape, labels, rows) for one in session.plugins.node_plugins.filters)
    return min(rooms, default=int(rows.sum()))


def _room_in_all(session: Session, kinds: Sequence[ShapeCount]) -> int:
    """An upper bound of the pods that fit together, by the totals of open nodes; the smallest pods go first."""
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


def _room_in_any_way(session: Session, view: JobView, kinds: Sequence[ShapeCount], settled: Counter[str]) -> int:
    """An upper bound of the pods that count for the minimum and fit together, in whatever way they are placed."""
    asking = [kind for kind in kinds if not kind.tasks[0].shape.best_effort]
    total = sum(len(kind.tasks) for kind in kinds)
    others = total - sum(len(kind.tasks) for kind in asking)
    columns = sorted({column for kind in asking for column, _ in kind.tasks[0].shape.request})
    missing = view.min_member - settled.total() - others
    if len(asking) < 2 or missing < 1 or any(awaited(session.nodes, column).any() for column in columns):
        return total
    minima = dict(view.spec.min_task_member) if view.gates_minimum else {}
    by_role = [(kind, Counter(task.role for task in kind.tasks)) for kind in asking]
    roles = [*dict.fromkeys(role for _, counts in by_role for role in counts)]
    parts = [(kind, role, count) for kind, counts in by_role for role, count in counts.items()]
    requests = [[dict(kind.tasks[0].shape.request).get(column, 0) for column in columns] for kind, _, _ in parts]
    gang = GangDemand(
        np.array(requests, dtype=np.int64),
        tuple(count for _, _, count in parts),
        tuple(roles.index(role) for _, role, _ in parts),
        tuple(max(0, minima.get(role, 0) - settled[role]) for role in roles),
        missing,
    )
    nodes = OpenNodes(session.nodes.allocatable[columns].T, np.stack([kind.open_rows for kind, _, _ in parts], axis=1))
    found, _ = infeasible(gang, nodes, CELLS_MAX)
    return total if found is None or found.fits_in_all is None else others + found.fits_in_all


def _room_in_a_domain(session: Session, view: JobView, kinds: Sequence[ShapeCount]) -> tuple[int, str]:
    """An upper bound of the pods that fit into one domain that the job allows, and its tier as a phrase."""
    topology, total = view.spec.topology, sum(len(kind.tasks) for kind in kinds)
    if topology is None or not topology.hard or view.spec.sub_groups:
        return total, ""
    allowed = session.places.allowed(topology)
    if isinstance(allowed, Refusal):
        return total, ""
    asking = [kind for kind in kinds if not kind.tasks[0].shape.best_effort]
    most = 0
    for tier in allowed if asking else ():
        sums = session.places.grouping(tier).sums
        rooms = [np.minimum(sums(_rooms(session, kind)), kind.counted) for kind in asking]
        most = max(most, int(np.sum(rooms, axis=0).max(initial=0)))
    most += total - sum(len(kind.tasks) for kind in asking)
    return most, words.in_one_domain(tier_words(allowed[-1]))


def _rooms(session: Session, kind: ShapeCount) -> Ints:
    """int64[nodes]: how many of the pods of one kind fit on each node if it is empty; at most all of them."""
    return np.minimum(rooms_if_empty(session, kind.tasks[0].shape, kind.open_rows), len(kind.tasks))


def _role_never_placed(
    view: JobView, kinds: Sequence[ShapeCount], settled: Counter[str]
) -> tuple[str, int, int] | None:
    """A role whose minimum exceeds the room on empty nodes, with the minimum and the room; None if there is none.

    The role comes as a phrase that goes before a verb.
    """
    if not view.gates_minimum:
        return None
    for role, minimum in view.spec.min_task_member:
        own = [(sum(task.role == role for task in kind.tasks), kind.counted) for kind in kinds]
        exist = settled[role] + sum(count for count, _ in own)
        room = settled[role] + sum(min(count, room) for count, room in own)
        if exist >= minimum > room:
            return words.of_role(role), minimum, room
    return None

"""Levers of nodes, and of the constraints by which a job's pods select nodes.

Of several suitable nodes, those with the most room for the pods go first, so that a change touches few nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vsched.explain.candidates.device_parts import device_resources
from vsched.explain.candidates.devices import DeviceWish, device_levers, device_wishes, toleration_levers
from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank, grain_of
from vsched.explain.candidates.places import near_rows, place_levers
from vsched.explain.candidates.volumes import volume_levers
from vsched.kernels.domains import HOSTNAME
from vsched.kernels.selectors import affinity_mask
from vsched.kernels.taints import REPELLING, UNSCHEDULABLE, cordoned, is_tolerated, passes, taint_lists
from vsched.mirror.whatif.edits import (
    AddNodes,
    DropRule,
    Edit,
    LabelNodes,
    RemoveTaint,
    SetNodeAmount,
    Tolerate,
    Uncordon,
)
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints, Mask, NodeTable, Taint
from vsched.model.pods.shape import Rules, Shape

TAINTS_MAX, KINDS_MAX, NODES_MAX = 8, 4, 256
LABELS_MAX = 16
"""No lever sets more labels on a node than this."""
GPU = "/gpu"
"""The suffix of taint keys that reserve nodes for pods with accelerators, before the nodes offer these."""

Rows = np.ndarray[tuple[int], np.dtype[np.intp]]


class NodeFit(NamedTuple):
    """Which nodes pods of one shape can use, without regard to amounts; each mask is ``bool[nodes]``."""

    selected: Mask
    """Nodes that match the node selector, the node affinity and the node groups of the queue."""
    tolerated: Mask
    """Nodes whose taints the pods tolerate, without regard to the taint of a cordon."""
    welcome: Mask
    """Nodes that are not cordoned; all nodes if the pods tolerate a cordon."""


class Ground(NamedTuple):
    """What nodes offer to the pods of one shape."""

    room: Ints
    """int64[nodes]: how many of the pods fit by amounts, without regard to constraints."""
    precious: Mask
    """bool[nodes]: nodes with accelerators that the pods do not ask for."""


def node_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """All levers of nodes that could help the job."""
    nodes = wants.situation.snapshot.nodes
    if not len(nodes) or not wants.waiting:
        return
    shape = wants.waiting[0].shape
    standing = standing_of(shape, nodes, _nodes_of_queue(wants))
    ground = Ground(room_for(shape, nodes), precious_nodes(wants))
    yield from _cordons(wants, standing, ground)
    yield from _taints(wants, shape, standing, ground)
    yield from _labels(wants, shape, standing, ground)
    yield from volume_levers(wants)
    yield from toleration_levers(wants)
    wishes = device_wishes(wants)
    yield from device_levers(wants, wishes, standing.selected & standing.tolerated & standing.welcome, ground.room)
    able = np.where(standing.selected & standing.tolerated & standing.welcome, ground.room, 0)
    yield from place_levers(wants, able)
    near = near_rows(wants, able)
    if near is not None and (near & standing.selected).any():
        standing = standing._replace(selected=standing.selected & near)
    yield from _machines(wants, shape, standing, ground.precious, wishes)


def _able(wants: MissingMinimum, shape: Shape) -> Mask | None:
    """bool[nodes]: nodes that could hold a pod of this shape if they were empty, by the plugins; None for all."""
    snapshot = wants.situation.snapshot
    masks = [mask for one in wants.plugins if (mask := one.nodes_for(shape, snapshot)) is not None]
    return np.logical_and.reduce(masks) if masks else None


def precious_nodes(wants: MissingMinimum) -> Mask:
    """bool[nodes]: nodes with accelerators, or a taint that reserves them; all False if the job asks for accelerators.

    A device that every node offers does not count.
    """
    nodes = wants.situation.snapshot.nodes
    names, asked = nodes.axis.names, wants.columns
    found: Mask = np.zeros(len(nodes), dtype=np.bool_)
    claiming = any(task.claims is not None and task.claims.devices for task in wants.waiting)
    if claiming or any(_is_device(names[column]) for column in asked):
        return found
    for column in range(nodes.width):
        offered = nodes.allocatable[column] > 0
        if _is_device(names[column]) and not offered.all():
            found |= offered
    keys = {name for name in names if _is_device(name)}
    numbers, lists = taint_lists(nodes.statics, REPELLING)
    kept = [any(taint.key in keys or taint.key.endswith(GPU) for taint in taints) for taints in lists]
    return found | np.array(kept, dtype=np.bool_)[numbers]


def _is_device(resource: str) -> bool:
    return "/" in resource


def _nodes_of_queue(wants: MissingMinimum) -> Mask | None:
    """bool[nodes]: nodes that the job's queue may use; None if no plugin restricts them."""
    snapshot = wants.situation.snapshot
    queue = snapshot.queues.get(wants.job.spec.queue)
    if queue is None:
        return None
    masks = [mask for one in wants.plugins if (mask := one.nodes_of(queue, snapshot.nodes)) is not None]
    return np.logical_and.reduce(masks) if masks else None


def standing_of(shape: Shape, nodes: NodeTable, groups: Mask | None = None) -> NodeFit:
    """Which nodes pods of a shape can use, without regard to amounts; ``groups`` masks the nodes of their queue."""
    everywhere = np.ones(len(nodes), dtype=np.bool_)
    mask = affinity_mask(shape.rules, nodes.statics)
    selected = everywhere if mask is None else mask
    tolerated = _tolerated(shape, nodes, lambda taint: taint.key == UNSCHEDULABLE.key)
    if groups is not None:
        selected = selected & groups
    tolerant = is_tolerated(UNSCHEDULABLE, shape.rules.tolerations)
    return NodeFit(selected, tolerated, everywhere if tolerant else ~cordoned(nodes.statics))


def room_for(shape: Shape, nodes: NodeTable) -> Ints:
    """int64[nodes]: how many pods of the shape fit on each node now, without regard to constraints."""
    rows: Ints = np.full(len(nodes), UNLIMITED, dtype=np.int64)
    for column, amount in shape.request:
        np.minimum(rows, nodes.idle[column] // amount, out=rows)
    return np.maximum(rows, 0)


# -- existing nodes --------------------------------------------------------------------------------------------------


def _cordons(wants: MissingMinimum, standing: NodeFit, ground: Ground) -> Iterator[Lever]:
    names = _roomiest(wants, ~standing.welcome, standing.selected & standing.tolerated, ground)
    if names:
        yield _of_nodes(names, Uncordon)


def _taints(wants: MissingMinimum, shape: Shape, standing: NodeFit, ground: Ground) -> Iterator[Lever]:
    """Levers that tolerate or remove taints, except taints that the cluster sets itself, as on unreachable nodes."""
    statics = wants.situation.snapshot.nodes.statics
    numbers, lists = taint_lists(statics, REPELLING)
    bearers: dict[Taint, list[int]] = {}
    for number, taints in enumerate(lists):
        for taint in taints:
            if not passes(taint) and not is_tolerated(taint, shape.rules.tolerations):
                bearers.setdefault(taint, []).append(number)
    for taint in list(bearers)[:TAINTS_MAX]:
        rows = np.isin(numbers, bearers[taint])
        rank = Rank.PRECIOUS if (rows & ground.precious).any() else Rank.ELSEWHERE
        yield Lever(rank, partial(_tolerate, wants.job.key, taint), kind="tolerations")
        removal = partial(RemoveTaint, key=taint.key, value=taint.value, effect=taint.effect)
        yield from _by_worth(wants, rows, standing.selected & standing.welcome, ground, removal, "taints")


def _by_worth(
    wants: MissingMinimum, rows: Mask, others: Mask, ground: Ground, edit: Callable[[tuple[str, ...]], Edit], kind: str
) -> Iterator[Lever]:
    """One lever for plain nodes, and one of the last rank for nodes with accelerators that the job does not ask for."""
    for rank, those in ((Rank.NODES_AS_THEY_ARE, ~ground.precious), (Rank.PRECIOUS, ground.precious)):
        names = _roomiest(wants, rows & those, others, ground)
        if names:
            yield _of_nodes(names, edit, rank, kind)


def _tolerate(key: str, taint: Taint, _: int) -> Tolerate:
    return Tolerate(key, taint.key, taint.value, taint.effect)


def _labels(wants: MissingMinimum, shape: Shape, standing: NodeFit, ground: Ground) -> Iterator[Lever]:
    """Levers that remove the node constraints of the pods, or set the required labels on nodes."""
    mask = affinity_mask(shape.rules, wants.situation.snapshot.nodes.statics)
    if mask is None or mask.all():
        return
    opened = ~mask & standing.tolerated & standing.welcome
    rank = Rank.PRECIOUS if (opened & ground.precious).any() else Rank.ELSEWHERE
    yield Lever(rank, lambda _: DropRule(wants.job.key, "nodeSelector"), kind="rules")
    labels = labels_asked(shape.rules)
    if labels is None:
        return
    others = standing.tolerated & standing.welcome
    yield from _by_worth(wants, ~mask, others, ground, partial(LabelNodes, labels=labels), "labels")


def labels_asked(rules: Rules) -> dict[str, str] | None:
    """Labels that make a node match the constraints; None if no labels can, or only that of the host name."""
    labels = dict(rules.node_selector)
    if rules.node_name or HOSTNAME in labels:
        return None
    if rules.required is not None:
        term = next((one for one in rules.required if not one.fields and one.expressions), None)
        if term is None:
            return None
        for one in term.expressions:
            if one.operator == "In" and labels.get(one.key, one.values[0]) in one.values:
                labels.setdefault(one.key, one.values[0])
            elif one.operator == "Exists":
                labels.setdefault(one.key, "")
            elif one.operator not in ("NotIn", "DoesNotExist"):
                return None
    return labels if labels and HOSTNAME not in labels and len(labels) <= LABELS_MAX else None


def _roomiest(wants: MissingMinimum, rows: Mask, others: Mask, ground: Ground) -> tuple[str, ...]:
    """Names of the nodes in ``rows`` that have room and no other obstacle, most room first; all ``rows`` if none."""
    useful = rows & others & (ground.room > 0)
    chosen = np.flatnonzero(useful if useful.any() else rows)
    ordered = sorted(chosen.tolist(), key=lambda row: (bool(ground.precious[row]), -int(ground.room[row]), row))
    names = wants.situation.snapshot.nodes.statics.names
    return tuple(names[row] for row in ordered[:NODES_MAX])


def _of_nodes(
    names: Sequence[str],
    edit: Callable[[tuple[str, ...]], Edit],
    rank: Rank = Rank.NODES_AS_THEY_ARE,
    kind: str = "",
) -> Lever:
    return Lever(rank, lambda step: edit(tuple(names[:step])), len(names), whole=len(names), kind=kind)


# -- new machines -----------------------------------------------------------------------------------------------------


def _machines(
    wants: MissingMinimum, shape: Shape, standing: NodeFit, precious: Mask, wishes: Sequence[DeviceWish]
) -> Iterator[Lever]:
    """Levers that enlarge one node by the resource that it lacks, or add nodes of a suitable kind."""
    nodes = wants.situation.snapshot.nodes
    usable = standing.selected & standing.tolerated & standing.welcome
    plain = usable & ~precious
    rows = np.flatnonzero(plain if plain.any() else usable) if usable.any() else np.arange(len(nodes))
    of_devices, able = device_resources(wants), _able(wants, shape)
    # Where a pod may go follows from other pods or from its volumes: then not only the best node is tried.
    bound = any(one.affinity is not None and one.affinity.required for one in wants.shapes)
    most_rows = KINDS_MAX if bound or any(task.claims is not None for task in wants.waiting) else 1
    for column, (amount, one) in _largest(wants.shapes[:KINDS_MAX]).items():
        if nodes.axis.names[column] in of_devices:
            continue  # sums of devices: a larger sum is no device
        for row in _best_but_for(one, nodes, rows, column)[:most_rows]:
            yield _larger(wants, row, column, amount)
    if able is not None:
        standing = standing._replace(selected=standing.selected & able)
    for row in _kinds(shape, nodes, standing, precious, wishes):
        like, size = nodes.statics.names[row], len(nodes)
        # A quarter more nodes counts as much as doubling an amount of one node: whole nodes cost more.
        yield Lever(
            Rank.MACHINES, partial(_adding, like), min(NODES_MAX, max(1, wants.missing)), whole=max(1, size // 4)
        )


def _larger(wants: MissingMinimum, row: int, column: int, amount: int) -> Lever:
    """A lever that enlarges a node by what pods lack there that ask for so much of a resource."""
    nodes = wants.situation.snapshot.nodes
    node, name = nodes.statics.names[row], nodes.axis.names[column]
    has, grain = int(nodes.allocatable[column, row]), grain_of(column, name)
    short = max(grain, amount - int(nodes.idle[column, row]))
    most = -(-(short + amount * wants.missing) // grain)
    first, whole = min(most, -(-short // grain)), max(1, has // grain)
    return Lever(
        Rank.MACHINES, lambda step: SetNodeAmount(node, name, has + step * grain), most, first, whole, "machines"
    )


def _largest(shapes: Sequence[Shape]) -> dict[int, tuple[int, Shape]]:
    """The largest request for each resource, and the first shape that has it."""
    found: dict[int, tuple[int, Shape]] = {}
    for shape in shapes:
        for column, amount in shape.request:
            if amount > found.get(column, (0, shape))[0]:
                found[column] = amount, shape
    return found


def _adding(like: str, step: int) -> AddNodes:
    return AddNodes(like, step)


def _best_but_for(shape: Shape, nodes: NodeTable, rows: Rows, column: int) -> list[int]:
    """The rows by how little they lack of one resource, those with enough of all others first."""
    enough = np.ones(len(nodes), dtype=np.bool_)
    for other, amount in shape.request:
        if other != column:
            enough &= nodes.idle[other] >= amount
    ordered = np.lexsort((-nodes.idle[column][rows], ~enough[rows]))
    found: list[int] = rows[ordered].tolist()
    return found


def _kinds(
    shape: Shape, nodes: NodeTable, standing: NodeFit, precious: Mask, wishes: Sequence[DeviceWish]
) -> list[int]:
    """One row of each kind of node that could take such a pod if it were empty, the smallest kind first.

    Kinds with accelerators that the pod does not ask for count only if there is no other kind.
    """
    fits = standing.selected & _tolerated(shape, nodes, passes)  # a new node has no transient taints
    for column, amount in shape.request:
        fits &= nodes.allocatable[column] >= amount
    for wish in wishes:
        fits &= wish.has >= wish.number
    plain = fits & ~precious
    rows = np.flatnonzero(plain if plain.any() else fits)
    if not rows.size:
        return []
    amounts = np.vstack([nodes.allocatable[:, rows], *(wish.has[rows] for wish in wishes)])
    kinds = rows[np.unique(amounts, axis=1, return_index=True)[1]].tolist()
    columns = [column for column, _ in shape.request]

    def size(row: int) -> tuple[list[int], list[int], int]:
        devices = [int(wish.has[row]) for wish in wishes]
        return devices, [int(nodes.allocatable[column, row]) for column in columns], row

    return sorted(kinds, key=size)[:KINDS_MAX]


def _tolerated(shape: Shape, nodes: NodeTable, leave_out: Callable[[Taint], bool]) -> Mask:
    """bool[nodes]: nodes whose taints the pods tolerate, without regard to those that ``leave_out`` accepts."""
    numbers, lists = taint_lists(nodes.statics, REPELLING)
    kept = [
        all(leave_out(taint) or is_tolerated(taint, shape.rules.tolerations) for taint in taints) for taints in lists
    ]
    found: Mask = np.array(kept, dtype=np.bool_)[numbers]
    return found

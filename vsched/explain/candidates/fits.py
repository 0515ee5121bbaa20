"""Which nodes the pods of a job could use, shape by shape, and how many of them fit there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vsched.explain.candidates.levers import MissingMinimum
from vsched.kernels.selectors import affinity_mask
from vsched.kernels.taints import REPELLING, UNSCHEDULABLE, cordoned, is_tolerated, taint_lists
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints, Mask, NodeTable, Taint
from vsched.model.pods.shape import Shape

GPU = "/gpu"
"""The suffix of taint keys that reserve nodes for pods with accelerators, before the nodes offer these."""


class NodeFit(NamedTuple):
    """Which nodes pods of one shape can use, without regard to amounts; each mask is ``bool[nodes]``."""

    selected: Mask
    """Nodes that match the node selector, the node affinity and the node groups of the queue."""
    tolerated: Mask
    """Nodes whose taints the pods tolerate, without regard to the taint of a cordon."""
    welcome: Mask
    """Nodes that are not cordoned; all nodes if the pods tolerate a cordon."""

    @property
    def usable(self) -> Mask:
        """Nodes that are all of it."""
        return self.selected & self.tolerated & self.welcome

    def near(self, rows: Mask) -> NodeFit:
        """The same among some nodes, if any of these is selected."""
        selected = self.selected & rows
        return self._replace(selected=selected) if selected.any() else self


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


def nodes_of_queue(wants: MissingMinimum) -> Mask | None:
    """bool[nodes]: nodes that the job's queue may use; None if no plugin restricts them."""
    snapshot = wants.situation.snapshot
    queue = snapshot.queues.get(wants.job.spec.queue)
    if queue is None:
        return None
    masks = [mask for one in wants.plugins if (mask := one.nodes_of(queue, snapshot.nodes)) is not None]
    return np.logical_and.reduce(masks) if masks else None


def fit_of(shape: Shape, nodes: NodeTable, groups: Mask | None = None) -> NodeFit:
    """Which nodes pods of a shape can use, without regard to amounts; ``groups`` masks the nodes of their queue."""
    everywhere = np.ones(len(nodes), dtype=np.bool_)
    mask = affinity_mask(shape.rules, nodes.statics)
    selected = everywhere if mask is None else mask
    tolerated = tolerated_by(shape, nodes, lambda taint: taint.key == UNSCHEDULABLE.key)
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


def tolerated_by(shape: Shape, nodes: NodeTable, leave_out: Callable[[Taint], bool]) -> Mask:
    """bool[nodes]: nodes whose taints the pods tolerate, without regard to those that ``leave_out`` accepts."""
    numbers, lists = taint_lists(nodes.statics, REPELLING)
    kept = [
        all(leave_out(taint) or is_tolerated(taint, shape.rules.tolerations) for taint in taints) for taints in lists
    ]
    found: Mask = np.array(kept, dtype=np.bool_)[numbers]
    return found

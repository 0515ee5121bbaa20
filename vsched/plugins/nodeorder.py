"""nodeorder: kube-scheduler's node scores, weighted and summed.

Least, most and balanced allocated and image locality depend on each node alone. Node affinity, taints, pod affinity
and soft spread are normalized over the candidate nodes; where all candidates would score the same, the score is left
out, since a constant changes no order.

Pods without spread constraints are spread softly over hosts and zones, among the pods their Services and owners select.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Annotated

import msgspec
import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import NodeScore
from vsched.kernels.allocation import (
    ScoredCapacity,
    balance,
    balance_row,
    balanced_allocation,
    balanced_allocation_row,
    capacity_at,
    capacity_of,
    least_allocated,
    least_allocated_row,
    least_and_balanced_row,
    most_allocated,
    most_allocated_row,
)
from vsched.kernels.allocation_few import AllocationOfFew
from vsched.kernels.allocation_table import AllocationTable, Scores
from vsched.kernels.domains import Rows
from vsched.kernels.images import image_locality
from vsched.kernels.representatives import Representatives
from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.nodes.table import Floats, Ints, Mask, NodeStatics, NodeTable
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.task import Task
from vsched.plugins.pods.following import Following
from vsched.plugins.pods.preferences import Preferences, PreferenceWeights

Weight = Annotated[int, msgspec.Meta(ge=0)]
GPU = "nvidia.com/gpu"
ALL_ROWS = slice(None)
SCORES_WITHOUT_TABLE = 4
"""So many requests are scored on all nodes before it pays to make a table for the next ones."""


class NodeOrderArgs(msgspec.Struct, frozen=True):
    """Weights of the scores, each 0 to 100 before; 0 leaves a score out."""

    least_requested: Weight = msgspec.field(default=1, name="leastrequested.weight")
    most_requested: Weight = msgspec.field(default=0, name="mostrequested.weight")
    balanced_resource: Weight = msgspec.field(default=1, name="balancedresource.weight")
    node_affinity: Weight = msgspec.field(default=2, name="nodeaffinity.weight")
    pod_affinity: Weight = msgspec.field(default=2, name="podaffinity.weight")
    taint_toleration: Weight = msgspec.field(default=3, name="tainttoleration.weight")
    image_locality: Weight = msgspec.field(default=1, name="imagelocality.weight")
    pod_topology_spread: Weight = msgspec.field(default=2, name="podtopologyspread.weight")


class ScoredShape(msgspec.Struct, frozen=True):
    """What scoring needs of one shape."""

    scoring: tuple[int, int]
    """Requested cpu and memory, with defaults for containers that request none."""
    balanced: tuple[tuple[int, int], ...]
    """(column, amount) of the resources to balance; empty where the pod requests none of them."""
    images: Floats | None
    """None where no node has any of them."""
    plain: tuple[int, int] | tuple[()]
    """The amounts of cpu and memory to balance, where nothing counts but these two and what is left of them."""


class NodeOrder(Plugin[NodeOrderArgs], NodeScore, PlacementListener):
    """Scores nodes as kube-scheduler does."""

    name = "nodeorder"
    timeless = True
    by_nodes_alone = True
    args_type = NodeOrderArgs

    def open(self, context: SessionContext) -> None:
        """Prepare the scores; what they need of nodes and pods is looked up at the first of them."""
        self._context = context
        self._nodes: NodeTable | None = None
        self._moves: list[int] = []
        """Rows whose amounts changed, in order; each reader knows how many of them it has seen."""

    @cached_property
    def _preferences(self) -> Preferences:
        args, context = self.args, self._context
        weights = PreferenceWeights(
            args.node_affinity, args.pod_affinity, args.taint_toleration, args.pod_topology_spread
        )
        return Preferences(context.snapshot, context.nodes.statics, weights)

    def _look_at(self, nodes: NodeTable) -> None:
        if nodes is self._nodes:
            return
        self._nodes = nodes
        gpu = nodes.axis.find(GPU)
        self._gpu = nodes.width if gpu is None else gpu
        """The column of GPUs; past the last column where no object names the resource."""
        self._table: AllocationTable | None = None
        self._few: AllocationOfFew | None = None
        self._without_table = SCORES_WITHOUT_TABLE
        """So many more requests are scored without a table; 0 where there is one, or none can be."""
        self._asked: dict[Shape, ScoredShape] = {}
        self._images: dict[tuple[tuple[str, ...], int], Floats | None] = {}
        """The scores by images and number of containers."""
        self._now: Floats | None = None
        self._now_seen = 0
        """How many of the moves ``_now`` knows."""
        self._taken = Following(nodes.scoring, self._moves)
        self._held = Following(nodes.requested[: MEMORY + 1], self._moves)
        self._capacity = nodes.of_capacity("capacity/cpu,memory", lambda: capacity_of(nodes.allocatable[: MEMORY + 1]))
        # Elements read through a view cost a third of numpy's own indexing.
        self._has = nodes.allocatable.data
        self._scoring = nodes.scoring.data
        self._requested = nodes.requested.data

    # -- by each node alone -------------------------------------------------------------------------------------

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """float64 by row: the weighted sum of least, most and balanced allocated and image locality."""
        self._look_at(nodes)
        args, asked = self.args, self._asked_by(shape, nodes)
        if isinstance(rows, Representatives) and asked.plain and (few := self._few_for(nodes, rows)) is not None:
            return few.score(asked.scoring, asked.plain, (args.least_requested, args.balanced_resource))
        at = None if rows == ALL_ROWS else rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)
        if at is None and (table := self._table_for(asked, nodes)) is not None:
            return self._by_table(asked, table)
        scoring = self._taken.current() if at is None else nodes.scoring[:, at]
        capacity = self._capacity if at is None else capacity_at(self._capacity, at)
        total: Floats | None = None
        if args.least_requested or args.most_requested:
            taken: Floats = np.add(scoring, _column(asked.scoring))
            if args.least_requested:
                total = _plus(total, least_allocated(taken, capacity), args.least_requested)
            if args.most_requested:
                total = _plus(total, most_allocated(taken, capacity), args.most_requested)
        if args.balanced_resource and asked.balanced:
            total = _plus(total, self._balanced(asked.balanced, nodes, at, capacity), args.balanced_resource)
        if asked.images is not None:
            images = asked.images if at is None else asked.images[at]
            total = _plus(total, images.copy(), args.image_locality)
        return np.zeros(scoring.shape[1]) if total is None else total

    def _table_for(self, asked: ScoredShape, nodes: NodeTable) -> AllocationTable | None:
        """The table that scores a request on all nodes; None where arrays have to do."""
        if self._table is None and self._without_table > 0:
            self._without_table -= 1
            if not self._without_table and AllocationTable.is_for(nodes.allocatable[: MEMORY + 1]):
                amounts = nodes.requested[: MEMORY + 1], nodes.allocatable[: MEMORY + 1]
                self._table = AllocationTable(self._moves, nodes.scoring, *amounts)
        fits = not self.args.most_requested and len(asked.balanced) in (0, 2)
        return self._table if fits else None

    def _few_for(self, nodes: NodeTable, rows: Representatives) -> AllocationOfFew | None:
        """What scores requests on the nodes that represent all; None where arrays have to do."""
        if (self._few is None or self._few.rows is not rows) and AllocationTable.is_for(
            nodes.allocatable[: MEMORY + 1]
        ):
            amounts = nodes.requested[: MEMORY + 1], nodes.allocatable[: MEMORY + 1]
            self._few = AllocationOfFew(rows, self._moves, nodes.scoring, *amounts)
        return self._few

    def _by_table(self, asked: ScoredShape, table: AllocationTable) -> Floats:
        args, found = self.args, list[Floats | Scores]()
        if args.balanced_resource and asked.balanced:
            (_, cpu), (_, memory) = asked.balanced
            found.append(_times(table.balanced((cpu, memory)), args.balanced_resource))
        if args.least_requested:
            found.append(_times(table.least(asked.scoring), args.least_requested))
        if asked.images is not None:
            found.append(_times(asked.images, args.image_locality))
        if not found:
            return np.zeros(len(self._capacity.counted))
        return (found[0] + found[1] if len(found) == 2 else reduce(np.add, found)).astype(np.float64)

    def _balanced(
        self, asked: Sequence[tuple[int, int]], nodes: NodeTable, at: slice | Rows | None, capacity: ScoredCapacity
    ) -> Floats:
        """``capacity`` is that of cpu and memory on these nodes."""
        requested: Floats | Ints
        now: Floats | None = None
        if len(asked) == 2:
            if at is not None and self._now is None:
                return balanced_allocation(self._held.at(at), _column([amount for _, amount in asked]), capacity)
            requested, now = self._held.current(), self._balance_now(nodes)
            if at is not None:
                requested, now = requested[:, at], now[at]
        else:
            columns = [column for column, _ in asked]
            requested = nodes.requested[columns]
            capacity = nodes.of_capacity(f"capacity/{columns}", lambda: capacity_of(nodes.allocatable[columns]))
            if at is not None:
                requested, capacity = requested[:, at], capacity_at(capacity, at)
        return balanced_allocation(requested, _column([amount for _, amount in asked]), capacity, now)

    def _balance_now(self, nodes: NodeTable) -> Floats:
        """The balance of cpu and memory on each node now; it does not depend on the shape, so it is cached."""
        if self._now is None:
            self._now = balance(self._held.current(), self._capacity)
        else:
            for row in {*self._moves[self._now_seen :]}:
                taken = (self._requested[CPU, row], self._requested[MEMORY, row])
                self._now[row] = balance_row(taken, (self._has[CPU, row], self._has[MEMORY, row]))
        self._now_seen = len(self._moves)
        return self._now

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The same for one node."""
        self._look_at(nodes)
        args, asked = self.args, self._asked.get(shape) or self._asked_by(shape, nodes)
        has, scoring = self._has, self._scoring
        capacity = (has[CPU, row], has[MEMORY, row])
        taken = (scoring[0, row] + asked.scoring[0], scoring[1, row] + asked.scoring[1])
        if asked.plain and capacity[0] and capacity[1]:
            requested = self._requested
            held = (requested[CPU, row], requested[MEMORY, row])
            least, balanced = least_and_balanced_row(taken, held, asked.plain, capacity)
            return float(least * args.least_requested + balanced * args.balanced_resource)
        total = 0.0
        if args.least_requested:
            total += least_allocated_row(taken, capacity) * args.least_requested
        if args.most_requested:
            total += most_allocated_row(taken, capacity) * args.most_requested
        if args.balanced_resource and asked.balanced:
            holds = [self._requested[column, row] for column, _ in asked.balanced]
            of = [has[column, row] for column, _ in asked.balanced]
            more = [amount for _, amount in asked.balanced]
            total += balanced_allocation_row(holds, more, of) * args.balanced_resource
        if asked.images is not None:
            total += asked.images.item(row) * args.image_locality
        return total

    def scores_by_amounts(self, shape: Shape, nodes: NodeTable) -> bool:
        """True unless some node has an image of the pod."""
        self._look_at(nodes)
        return self._asked_by(shape, nodes).images is None

    def _asked_by(self, shape: Shape, nodes: NodeTable) -> ScoredShape:
        found = self._asked.get(shape)
        if found is None:
            found = self._asked[shape] = self._asks(shape, nodes)
        return found

    def _asks(self, shape: Shape, nodes: NodeTable) -> ScoredShape:
        cpu = memory = gpu = 0
        for column, amount in shape.request:
            if column == CPU:
                cpu = amount
            elif column == MEMORY:
                memory = amount
            elif column == self._gpu:
                gpu = amount
        balanced: tuple[tuple[int, int], ...] = ((CPU, cpu), (MEMORY, memory))
        if gpu and self._gpu < nodes.width:
            # As in kube-scheduler, an extended resource is balanced only for pods that request it.
            balanced = (*balanced, (self._gpu, gpu))
        elif not cpu and not memory:
            balanced = ()
        images = self._images_of(shape, nodes.statics) if shape.images and self.args.image_locality else None
        plain = len(balanced) == 2 and images is None and not self.args.most_requested
        return ScoredShape((shape.scoring_cpu, shape.scoring_memory), balanced, images, (cpu, memory) if plain else ())

    def _images_of(self, shape: Shape, statics: NodeStatics) -> Floats | None:
        key = (shape.images, shape.containers)
        if key not in self._images:
            self._images[key], _ = statics.remember(
                ("images", *key), lambda: (image_locality(shape.images, shape.containers, statics), True)
            )
        return self._images[key]

    # -- among candidates ---------------------------------------------------------------------------------------

    def is_relative(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether any preference could give nodes different scores for such a pod."""
        return self._preferences.concern(shape, labels)

    def relative_score(self, shape: Shape, labels: PodLabels, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """The weighted sum of node affinity, taints, pod affinity and soft spread; None where it is constant."""
        return self._preferences.score(shape, labels, candidates)

    def relative_state(self, shape: Shape, labels: PodLabels) -> bytes:
        """The counts of the pods that the preferences are about."""
        return self._preferences.state(shape, labels)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Count one more pod on the node."""
        self._moves.append(row)
        self._preferences.move(task, row, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Count one pod less on the node."""
        self._moves.append(row)
        self._preferences.move(task, row, -1)


def _column(amounts: Sequence[int]) -> Floats:
    return np.array(amounts, dtype=np.float64)[:, None]


def _times(scores: Floats | Scores, weight: int) -> Floats | Scores:
    return scores if weight == 1 else np.multiply(scores, float(weight))


def _plus(total: Floats | None, scores: Floats, weight: int) -> Floats:
    """The total plus the weighted scores; may overwrite both arrays."""
    if weight != 1:
        scores *= weight
    return scores if total is None else np.add(total, scores, out=total)

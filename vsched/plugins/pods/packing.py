"""Base class of the plugins that score nodes by how full they would be (binpack and resource-strategy-fit).

Used means not idle: room that leaving pods will free does not count as idle.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import msgspec
import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import PlacementListener
from vsched.framework.points.nodes import NodeScore
from vsched.kernels.binpack import PackedResource, binpack, binpack_by_used, binpack_row
from vsched.kernels.lowest import LowestIdle
from vsched.kernels.representatives import Representatives
from vsched.model.nodes.table import Floats, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.plugins.pods.following import Following, Used, UsedByFew

MAX_SCORE = 100.0
ALL_ROWS = slice(None)
SCORES_WITHOUT_SUMS = 4
"""So many requests are scored on all nodes before it pays to keep what is used on them."""


class PackedRequest(msgspec.Struct, frozen=True):
    """The part of one shape's request that counts for the score."""

    wishes: Sequence[PackedResource]
    lacking: Sequence[bool]
    """For each wish: whether some node has none of the resource."""
    weight_sum: int
    by_used: bool
    """Whether all that counts is what is used of resources that every node has."""


class Packing(NodeScore, PlacementListener):
    """Scores nodes by their idle and allocatable amounts; reads them at the first score."""

    def _begin(self, weight: int) -> None:
        """Start a cycle; ``weight`` is that of the whole score."""
        self._scale = MAX_SCORE * weight
        self._nodes: NodeTable | None = None
        self._moves: list[int] = []
        """Rows whose amounts changed, in order; each reader knows how many of them it has seen."""

    def _read(self, nodes: NodeTable) -> None:
        """Read a new node table."""
        self._nodes = nodes
        self._free = Following(nodes.idle, self._moves)
        self._used: Used | None = None
        self._few: UsedByFew | None = None
        self._scored_all = 0
        """How many requests were scored on all nodes."""
        self._lowest = LowestIdle(nodes.idle, self._moves)
        self._allocatable, self._lacking = nodes.of_capacity(
            "allocatable/packing",
            lambda: (nodes.allocatable.astype(np.float64), tuple((nodes.allocatable == 0).any(axis=1).tolist())),
        )
        # Elements read through a view cost a third of numpy's own indexing.
        self._idle = nodes.idle.data
        self._has = nodes.allocatable.data
        self._wanted: dict[Shape, PackedRequest] = {}

    @abstractmethod
    def _wishes(self, shape: Shape) -> tuple[list[PackedResource], int]:
        """The requested resources that count and that some node has, and the sum of all weights."""

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """0 to 100 times the weight; None where the shape requests no resource that counts."""
        self._look_at(nodes)
        wanted = self._wanted_by(shape)
        if not wanted.wishes:
            return None
        if isinstance(rows, Representatives) and wanted.by_used:
            if self._few is None or self._few.rows is not rows:
                self._few = UsedByFew(rows, nodes.allocatable, nodes.idle, self._moves)
            used, allocatable = self._few.current()
            may_lack = self._few.may_lack(wanted.wishes)
            return binpack_by_used(wanted.wishes, used, allocatable, wanted.weight_sum, self._scale, may_lack)
        if rows == ALL_ROWS:
            return self._score_all(wanted, nodes)
        at = rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)
        idle, has = self._free.at(at), self._allocatable[:, at]
        return binpack(wanted.wishes, idle, has, wanted.weight_sum, self._scale, wanted.lacking)

    def _score_all(self, wanted: PackedRequest, nodes: NodeTable) -> Floats:
        self._scored_all += 1
        wishes, weight_sum = wanted.wishes, wanted.weight_sum
        if self._scored_all <= SCORES_WITHOUT_SUMS or not wanted.by_used:
            return binpack(wishes, self._free.current(), self._allocatable, weight_sum, self._scale, wanted.lacking)
        if self._used is None:
            self._used = Used(nodes.allocatable, nodes.idle, self._moves)
        used, allocatable = self._used.current(), self._allocatable
        return binpack_by_used(wishes, used, allocatable, weight_sum, self._scale, self._may_lack(wishes))

    def _may_lack(self, wishes: Sequence[PackedResource]) -> Sequence[bool]:
        """For each wish: whether some node may have too little left of it; empty where none has."""
        covers = self._lowest.covers
        lacking = [not covers(wish.column, wish.amount) for wish in wishes]
        return lacking if True in lacking else ()

    def scores_by_amounts(self, shape: Shape, nodes: NodeTable) -> bool:
        """True: amounts are all that is looked at."""
        return True

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The same for one node."""
        self._look_at(nodes)
        wanted = self._wanted.get(shape) or self._wanted_by(shape)
        if not wanted.wishes:
            return 0.0
        return binpack_row(wanted.wishes, self._idle, self._has, row, wanted.weight_sum, self._scale)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Note that the idle amounts of the node changed."""
        self._moves.append(row)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Note that the idle amounts of the node changed."""
        self._moves.append(row)

    def _look_at(self, nodes: NodeTable) -> None:
        if nodes is not self._nodes:
            self._read(nodes)

    def _wanted_by(self, shape: Shape) -> PackedRequest:
        found = self._wanted.get(shape)
        if found is None:
            wishes, weight_sum = self._wishes(shape)
            lacking = [self._lacking[wish.column] for wish in wishes]
            by_used = True not in lacking and True not in [wish.free for wish in wishes]
            found = self._wanted[shape] = PackedRequest(wishes, lacking, weight_sum, by_used)
        return found

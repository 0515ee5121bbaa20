"""binpack: prefers nodes that are already fuller in what a pod asks for (reference 4.9).

What is used is what is not idle: room that waits for others to leave does not count, and where the request exceeds what
is idle the node scores 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import msgspec
import numpy as np

from vsched.framework.extension import NodeScore, Opening, PlacementListener, Plugin
from vsched.framework.jobs import JobView
from vsched.kernels.binpack import Wish, binpack, binpack_row
from vsched.model.nodes import Floats, NodeTable
from vsched.model.shape import Shape
from vsched.model.task import Task
from vsched.plugins._following import Following

MAX_SCORE = 100.0
ALL_ROWS = slice(None)


class BinpackArgs(msgspec.Struct, frozen=True):
    """Weights; of resources, a negative one means 1 and 0 leaves the resource out."""

    weight: int = msgspec.field(default=1, name="binpack.weight")
    """Of the whole score; 0 turns the plugin off."""
    cpu: int = msgspec.field(default=1, name="binpack.cpu")
    memory: int = msgspec.field(default=1, name="binpack.memory")
    resources: str = msgspec.field(default="", name="binpack.resources")
    """Further resources, by name, comma-separated; others than these, cpu and memory do not count."""
    resource_weights: dict[str, int] = msgspec.field(default_factory=dict, name="binpack.resources.*")
    """Weights of the further resources, 1 where not given."""

    def normalised(self) -> Self:
        """The same with 1 in place of negative weights of resources."""
        return msgspec.structs.replace(
            self,
            cpu=_lenient(self.cpu),
            memory=_lenient(self.memory),
            resource_weights={name: _lenient(weight) for name, weight in self.resource_weights.items()},
        )

    def by_resource(self) -> dict[str, int]:
        """The weight of every resource that counts."""
        listed = [name.strip() for name in self.resources.split(",")]
        weights = {name: self.resource_weights.get(name, 1) for name in listed if name}
        return weights | {"cpu": self.cpu, "memory": self.memory}


class Wanted(NamedTuple):
    """What of one shape's request binpack looks at."""

    wishes: tuple[Wish, ...]
    lacking: tuple[bool, ...]
    """For each wish: whether some node has none of it at all."""
    weight_sum: int


class Binpack(Plugin[BinpackArgs], NodeScore, PlacementListener):
    """Scores nodes by how full they would be."""

    name = "binpack"
    args_type = BinpackArgs

    def open(self, opening: Opening) -> None:
        """Note the weights by column; amounts are looked at when the first score is asked for."""
        axis = opening.nodes.axis
        columns = ((axis.find(name), weight) for name, weight in self.args.by_resource().items())
        self._weights = {column: weight for column, weight in columns if column is not None}
        self._scale = MAX_SCORE * self.args.weight
        self._wanted: dict[Shape, Wanted] = {}
        self._nodes: NodeTable | None = None

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """0 to 100 times the weight; None where nothing that counts is asked for."""
        self._look_at(nodes)
        wanted = self._wanted_by(shape)
        if not wanted.wishes:
            return None
        idle, has = self._free.current(), self._allocatable
        if rows != ALL_ROWS:
            at = rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)
            idle, has = idle[:, at], has[:, at]
        return binpack(wanted.wishes, idle, has, wanted.weight_sum, self._scale, wanted.lacking)

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The same for one node."""
        self._look_at(nodes)
        wishes, _, weight_sum = self._wanted.get(shape) or self._wanted_by(shape)
        if not wishes:
            return 0.0
        idle, has = self._idle, self._has
        return binpack_row(
            wishes,
            [idle[wish.column, row] for wish in wishes],
            [has[wish.column, row] for wish in wishes],
            weight_sum,
            self._scale,
        )

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Less is free on the node."""
        self._touch(row)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """More is free on the node."""
        self._touch(row)

    def _touch(self, row: int) -> None:
        if self._nodes is not None:
            self._free.touch(row)

    def _look_at(self, nodes: NodeTable) -> None:
        if nodes is self._nodes:
            return
        self._nodes = nodes
        self._free = Following(nodes.idle)
        self._allocatable = nodes.allocatable.astype(np.float64)
        self._lacking: list[bool] = (nodes.allocatable == 0).any(axis=1).tolist()
        # Elements read through a view cost a third of numpy's own indexing.
        self._idle = nodes.idle.data
        self._has = nodes.allocatable.data
        self._wanted.clear()

    def _wanted_by(self, shape: Shape) -> Wanted:
        found = self._wanted.get(shape)
        if found is None:
            found = self._wanted[shape] = self._wants(shape)
        return found

    def _wants(self, shape: Shape) -> Wanted:
        if not self.args.weight:
            return Wanted((), (), 0)
        counted = [(column, amount, self._weights.get(column, 0)) for column, amount in shape.request]
        width = len(self._lacking)
        wishes = tuple(Wish(*one) for one in counted if one[2] > 0 and one[0] < width)
        lacking = tuple(self._lacking[wish.column] for wish in wishes)
        return Wanted(wishes, lacking, sum(weight for _, _, weight in counted))


def _lenient(weight: int) -> int:
    return weight if weight >= 0 else 1

"""binpack: prefers nodes that are already fuller in the resources a pod requests.

Used means not idle: room that leaving pods will free does not count as idle. A node with less idle than the request
scores 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

import msgspec

from vsched.framework.points.extension import Plugin, SessionContext
from vsched.kernels.binpack import PackedResource
from vsched.model.pods.shape import Shape
from vsched.plugins.pods.packing import Packing
from vsched.plugins.pods.weights import by_resource, lenient


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
            cpu=lenient(self.cpu),
            memory=lenient(self.memory),
            resource_weights={name: lenient(weight) for name, weight in self.resource_weights.items()},
        )

    def by_resource(self) -> dict[str, int]:
        """The weight of every resource that counts."""
        return by_resource(self.cpu, self.memory, self.resources, self.resource_weights)


class Binpack(Plugin[BinpackArgs], Packing):
    """Scores nodes by how full they would be."""

    name = "binpack"
    timeless = True
    by_nodes_alone = True
    args_type = BinpackArgs

    def open(self, context: SessionContext) -> None:
        """Weights and the amounts of nodes are looked up at the first score."""
        self._axis = context.nodes.axis
        self._begin(self.args.weight)

    @cached_property
    def _weights(self) -> dict[int, int]:
        """By column."""
        columns = ((self._axis.find(name), weight) for name, weight in self.args.by_resource().items())
        return {column: weight for column, weight in columns if column is not None}

    def _wishes(self, shape: Shape) -> tuple[list[PackedResource], int]:
        if not self.args.weight:
            return [], 0
        weights, width, total = self._weights, len(self._lacking), 0
        wishes: list[PackedResource] = []
        for column, amount in shape.request:
            weight = weights.get(column, 0)
            total += weight
            if weight > 0 and column < width:
                wishes.append(PackedResource(column, amount, weight))
        return wishes, total

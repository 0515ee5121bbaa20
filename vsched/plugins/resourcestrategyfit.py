"""resource-strategy-fit: prefers fuller nodes for some resources and emptier nodes for others.

Each requested resource is scored by its own strategy; a pod may set strategies in annotations. As with binpack, used
means not idle, and a node with less idle than the request scores 0. Two more policies keep nodes with scarce resources
for the pods that need them. ``sra`` gives higher scores to nodes without scarce resources. ``proportional`` rules out a
node if a pod that requests no scarce resource would leave too little cpu or memory beside the idle scarce resources.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Self

import msgspec
import numpy as np

from vsched.framework.codes import Code
from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.nodes import Check, NodeFilter
from vsched.framework.points.terms import PlacementTerm
from vsched.kernels.binpack import PackedResource
from vsched.model.amounts.resources import CPU, MEMORY, scale_of
from vsched.model.nodes.table import Floats, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.plugins.pods.packing import MAX_SCORE, Packing
from vsched.plugins.words import arguments
from vsched.plugins.words import nodes as words

MOST = "MostAllocated"
DEFAULT_WEIGHT = 10
MILLI_PER_CORE, BYTES_PER_GB = 1000, 10**9


class ResourceStrategy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one resource counts."""

    type: Literal["LeastAllocated", "MostAllocated"] = "LeastAllocated"
    """Whether emptier or fuller nodes are better."""
    weight: int = 1
    """Against the other resources; below 1 it means 1."""


class ScarceResources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``sra``: pods keep off nodes that have resources which are scarce."""

    enable: bool = False
    resources: tuple[str, ...] = ()
    """The scarce ones, by name."""
    weight: int = 1
    """Of this score, 0 to 100 before; 0 and below turn it off."""
    resource_weight: dict[str, int] = msgspec.field(default_factory=dict, name="resourceWeight")
    """By resource; 1 where not given or negative."""


class Proportional(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``proportional``: beside idle resources that are scarce, cpu and memory stay idle as well."""

    enable: bool = False
    resources: tuple[str, ...] = ()
    """The scarce ones, by name; cpu and memory are none."""
    proportion: dict[str, float] = msgspec.field(default_factory=dict, name="resourceProportion")
    """For each idle unit, ``<name>.cpu``: cores, ``<name>.memory``: GB (10**9 bytes); 1 where not given or negative."""

    def beside(self, resource: str, other: str) -> float:
        """How many cores or GB are kept for one unit of a resource."""
        rate = self.proportion.get(f"{resource}.{other}", 1.0)
        return rate if rate >= 0 else 1.0


def _cpu_and_memory() -> dict[str, ResourceStrategy]:
    return {"cpu": ResourceStrategy(), "memory": ResourceStrategy()}


class ResourceStrategyFitArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Strategies by resource, and two policies for what is scarce."""

    weight: int = msgspec.field(default=DEFAULT_WEIGHT, name="resourceStrategyFitWeight")
    """Of the score by strategies, 0 to 100 before; 0 turns it off, a negative one means 10."""
    resources: dict[str, ResourceStrategy] = msgspec.field(default_factory=_cpu_and_memory)
    """By name, or by the beginning of names with a star after it: a name comes first, then the longest beginning. A
    star alone is passed over."""
    sra: ScarceResources = ScarceResources()
    proportional: Proportional = Proportional()

    def normalised(self) -> Self:
        """The same with defaults in place of weights that mean none; ValueError for a star that is not at the end."""
        for pattern in self.resources:
            if "*" in pattern[:-1]:
                raise ValueError(arguments.star_inside(pattern))
        resources = {
            pattern: msgspec.structs.replace(one, weight=one.weight if one.weight > 0 else 1)
            for pattern, one in self.resources.items()
        }
        weight = self.weight if self.weight >= 0 else DEFAULT_WEIGHT
        return msgspec.structs.replace(self, weight=weight, resources=resources)


class Reserve(NamedTuple):
    """The cpu and memory that ``proportional`` keeps idle beside one scarce resource."""

    column: int
    reason: str
    has_none: Mask
    """bool[nodes]: the node does not have the resource."""
    cpu: float
    """Milli-cores for each idle base unit."""
    memory: float
    """Bytes for each idle base unit."""


class ResourceStrategyFit(Plugin[ResourceStrategyFitArgs], NodeFilter, Packing):
    """Scores nodes by how full or free they would be, and saves nodes with scarce resources."""

    name = "resource-strategy-fit"
    terms = frozenset({PlacementTerm.STRATEGY})
    args_type = ResourceStrategyFitArgs

    def open(self, context: SessionContext) -> None:
        """Look up the columns; node amounts are read at the first score or check."""
        self._axis = context.nodes.axis
        self._begin(self.args.weight)
        self._scarcity: dict[Shape, Floats | None] = {}
        self._kept = self._columns(self.args.proportional.resources if self.args.proportional.enable else ())
        for column in (CPU, MEMORY):
            self._kept.pop(column, None)

    # -- scores -------------------------------------------------------------------------------------------------

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """The sum of two scores, each 0 to 100 times its weight; None where no requested resource counts."""
        scores = super().score(shape, nodes, rows)
        scarcity = self._scarcity_for(shape)
        if scarcity is None:
            return scores
        at = rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)
        return scarcity[at].copy() if scores is None else np.add(scores, scarcity[at], out=scores)

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The same for one node."""
        score = super().score_row(shape, nodes, row)
        scarcity = self._scarcity_for(shape)
        return score if scarcity is None else score + scarcity.item(row)

    def _wishes(self, shape: Shape) -> tuple[list[PackedResource], int]:
        wishes: list[PackedResource] = []
        weight_sum = 0
        for column, amount in shape.request if self.args.weight else ():
            most, weight = self._strategy(shape, self._axis.names[column])
            weight_sum += weight
            if weight and column < len(self._lacking):
                wishes.append(PackedResource(column, amount, weight, free=not most))
        return wishes, weight_sum

    def _strategy(self, shape: Shape, resource: str) -> tuple[bool, int]:
        """Whether fuller nodes are better for a resource, and its weight; weight 0 where it does not count."""
        own = shape.strategy
        if own is not None:
            weights = dict(own.weights)
            pattern = closest(resource, weights)
            return own.most, 0 if pattern is None else weights[pattern]
        pattern = closest(resource, self.args.resources)
        if pattern is None:
            return False, 0
        strategy = self.args.resources[pattern]
        return strategy.type == MOST, strategy.weight

    # -- scarce resources ---------------------------------------------------------------------------------------

    def _scarcity_for(self, shape: Shape) -> Floats | None:
        """float64[nodes]: what ``sra`` adds to the scores; None where it adds nothing; read-only."""
        if self._spared is None:
            return None
        if shape not in self._scarcity:
            self._scarcity[shape] = self._scarcity_of(shape, self._spared)
        return self._scarcity[shape]

    def _scarcity_of(self, shape: Shape, spared: Floats) -> Floats | None:
        """Up to 100 times the weight of ``sra``: the fewer scarce resources a node has, the more.

        0 for nodes without a requested resource; None where no node has one of the requested resources.
        """
        width = len(self._lacking)
        if any(column >= width for column, _ in shape.request):
            return None
        lacking = [column for column, _ in shape.request if self._lacking[column]]
        if lacking:
            spared = np.where((self._allocatable[lacking] > 0.0).all(axis=0), spared, 0.0)
        return spared

    def _spare(self) -> Floats | None:
        """The same for a pod that finds all requested resources on each node; None where ``sra`` is off."""
        sra = self.args.sra
        columns = self._columns(sra.resources)
        given = {name: sra.resource_weight.get(name, 1) for name in sra.resources}
        weights = {name: weight if weight >= 0 else 1 for name, weight in given.items()}
        weight_sum = sum(weights.values())
        if not sra.enable or sra.weight <= 0 or not weight_sum:
            return None
        found = np.zeros(self._allocatable.shape[1])
        for column, name in columns.items():
            if column < len(self._lacking):
                found += float(weights[name]) * (self._allocatable[column] > 0.0)
        return (1.0 - found / float(weight_sum)) * (MAX_SCORE * sra.weight)

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whether ``proportional`` applies to such a pod: it requests no scarce resource."""
        return bool(self._kept) and not any(column in self._kept for column, _ in shape.request)

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """Checks that enough cpu and memory stay idle beside each idle scarce resource."""
        if not self.is_dynamic(shape, task_class):
            return ()
        self._look_at(nodes)
        idle, request = self._free.current(), dict(shape.request)
        cpu, memory = idle[CPU] - request.get(CPU, 0), idle[MEMORY] - request.get(MEMORY, 0)
        return [
            Check(
                kept.reason,
                kept.has_none | ((cpu >= idle[kept.column] * kept.cpu) & (memory >= idle[kept.column] * kept.memory)),
                resolvable=True,
                code=Code.KEPT,
            )
            for kept in self._reserves
        ]

    def _reserve(self, column: int, name: str) -> Reserve:
        proportional, scale = self.args.proportional, scale_of(name)
        return Reserve(
            column,
            words.reserved_beside(name),
            self._allocatable[column] == 0.0,
            proportional.beside(name, "cpu") * (MILLI_PER_CORE / scale),
            proportional.beside(name, "memory") * (BYTES_PER_GB / scale),
        )

    # -- the nodes ----------------------------------------------------------------------------------------------

    def _read(self, nodes: NodeTable) -> None:
        super()._read(nodes)
        self._spared = self._spare()
        self._reserves = [
            self._reserve(column, name) for column, name in self._kept.items() if column < len(self._lacking)
        ]
        self._scarcity.clear()

    def _columns(self, names: Iterable[str]) -> dict[int, str]:
        """Names by column; resources that no object names are left out."""
        columns = ((self._axis.find(name), name) for name in names)
        return {column: name for column, name in columns if column is not None}


def closest(resource: str, patterns: Mapping[str, object]) -> str | None:
    """The pattern that matches a resource: its name, else the longest prefix of it followed by a star."""
    if resource in patterns:
        return resource
    found = [pattern for pattern in patterns if len(pattern) > 1 and pattern.endswith("*")]
    return max((pattern for pattern in found if resource.startswith(pattern[:-1])), key=len, default=None)

"""One node in the mirror: what it offers, its pods, and the sums over them."""

from __future__ import annotations

from vsched.model.amounts.resources import NOTHING, Amounts, Vector
from vsched.model.nodes.table import NodeAttributes
from vsched.model.pods.task import Task


class NodeRecord:
    """One node with its allocatable amounts and the sums over its pods."""

    __slots__ = (
        "allocatable",
        "attributes",
        "memory",
        "milli_cpu",
        "name",
        "releasing",
        "served",
        "stated",
        "tasks",
        "used",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.attributes: NodeAttributes | None = None
        """None until the node object has been seen."""
        self.stated: Amounts = NOTHING
        """What the node object offers."""
        self.served: Amounts = NOTHING
        """Extended resources that devices serve there."""
        self.allocatable: Amounts = NOTHING
        """Both."""
        self.tasks: dict[str, Task] = {}
        self.used: Vector = {}
        self.releasing: Vector = {}
        self.milli_cpu = 0
        self.memory = 0

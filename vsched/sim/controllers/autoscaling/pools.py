"""Node pools: the nodes that the autoscaler may add."""

from __future__ import annotations

from dataclasses import dataclass

from vsched.apimachinery.meta.kinds import Obj

POOL = "vsched.io/node-pool"
"""The label of nodes that a pool added."""


@dataclass(frozen=True, slots=True)
class SimulatedPool:
    """Nodes of one kind that can be added, and how many."""

    name: str
    templates: tuple[Obj, ...]
    """A Node for each zone; added nodes take them in turn."""
    least: int = 0
    """How many nodes it always has."""
    most: int = 10
    delay: float = 0.0
    """From the decision until a node is there, seconds."""
    idle: float | None = None
    """After how long a node without pods is removed, seconds; None for never."""
    price: float = 0.0
    """Of several pools the cheapest is taken, of equal ones the first."""
    out_of_stock: str = ""
    """Why no node can be had now; empty where nodes can be had."""

    def node(self, number: int) -> Obj:
        """The Node with this number, as it is created."""
        template = self.templates[number % len(self.templates)]
        name = f"{self.name}-{number}"
        labels = {**(template["metadata"].get("labels") or {}), "kubernetes.io/hostname": name, POOL: self.name}
        return {**template, "metadata": {**template["metadata"], "name": name, "labels": labels}}

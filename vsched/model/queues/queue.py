"""A queue, a namespace and a priority class as the scheduler sees them. Immutable records."""

from __future__ import annotations

import msgspec

from vsched.model.amounts.resources import NOTHING, Amounts

OPEN, CLOSED, CLOSING, UNKNOWN = "Open", "Closed", "Closing", "Unknown"
SHUT = (CLOSING, CLOSED)
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"
"""Annotation, "true": the queue is closed for its parent's sake alone."""
ROOT = "root"
"""The queue that all others are below of."""


class NodeGroups(msgspec.Struct, frozen=True):
    """Which groups of nodes a queue's pods belong on (``spec.affinity``, reference 4.17)."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    """In the order of preference."""
    anti_required: tuple[str, ...] = ()
    anti_preferred: tuple[str, ...] = ()


class Queue(msgspec.Struct, frozen=True):
    """A Queue object (reference 5.1)."""

    name: str
    uid: str = ""
    created: float = 0.0
    weight: int = 1
    capability: Amounts = NOTHING
    """Zeros are kept, as in what is deserved and guaranteed: a limit of none is not the absence of a limit."""
    deserved: Amounts = NOTHING
    guarantee: Amounts = NOTHING
    reclaimable: bool = True
    priority: int = 0
    """``spec.priority``, else the value of the queue's priority class, else 0."""
    parent: str = ""
    state: str = OPEN
    annotations: tuple[tuple[str, str], ...] = ()
    affinity: NodeGroups | None = None
    group_limits: tuple[tuple[str, Amounts], ...] | None = ()
    """What it may hold on each group of nodes, zeros kept (``volcano.sh/nodegroup-resource-limits``).

    None where that cannot be read, so that nothing may be placed by it.
    """
    missing_class: str = ""
    """The PriorityClass that it has its priority from by its object, and that does not exist."""

    @property
    def open(self) -> bool:
        """Whether new work may enter."""
        return self.state == OPEN

    @property
    def closed_by_parent(self) -> bool:
        """Whether it is closed for its parent's sake alone, and opens with it."""
        return (CLOSED_BY_PARENT, "true") in self.annotations


class PriorityClass(msgspec.Struct, frozen=True):
    """A priority class."""

    name: str
    value: int
    is_default: bool = False
    """Jobs that name no class have its value, unless their queue has a priority."""
    preempts: bool = True
    """False for ``preemptionPolicy: Never``, which new pods of the class are given."""


class Namespace(msgspec.Struct, frozen=True):
    """A namespace: its weight in fair shares and the labels that selectors look at."""

    name: str
    weight: int = 1
    """The largest valid ``volcano.sh/namespace.weight`` of its ResourceQuotas, else 1 (seed 000)."""
    labels: tuple[tuple[str, str], ...] = ()
    queue: str = ""
    """Default queue named by annotation, empty where there is none."""

"""Which roles of a job should share nodes, and which should not."""

from __future__ import annotations

import msgspec

Roles = tuple[str, ...]


class TaskTopology(msgspec.Struct, frozen=True):
    """What the annotations ``volcano.sh/task-topology-*`` of a PodGroup say. A group of one role is about that role."""

    affinity: tuple[Roles, ...] = ()
    """Groups of roles whose pods should be on one node."""
    anti_affinity: tuple[Roles, ...] = ()
    """Groups of roles whose pods should be on different nodes."""
    order: Roles = ()
    """Roles whose pods are placed first, in this order."""

    @property
    def roles(self) -> frozenset[str]:
        """Every role that is named."""
        return frozenset(role for group in (*self.affinity, *self.anti_affinity, self.order) for role in group)

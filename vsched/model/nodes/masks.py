"""Masks of nodes: which nodes a scheduler may use, or should use first, where several share a cluster."""

from __future__ import annotations

import msgspec
import numpy as np

from vsched.model.marks import NodeName
from vsched.model.nodes.table import Mask, NodeStatics


class NodeMask(msgspec.Struct, frozen=True):
    """Some nodes, by name; the others belong to other schedulers, or to other shards of this one."""

    nodes: tuple[NodeName, ...]
    """Sorted."""
    hard: bool = True
    """Whether pods go to these nodes alone; else they go to others only where none of these has room."""
    name: str = ""
    """The shard that has the nodes, for people."""


def rows_of(mask: NodeMask, statics: NodeStatics) -> Mask:
    """bool[nodes]: the rows of a mask's nodes; read only, and worked out once while neither changes."""

    def compute() -> Mask:
        ours = frozenset(mask.nodes)
        rows = np.fromiter((name in ours for name in statics.names), dtype=np.bool_, count=len(statics))
        rows.flags.writeable = False
        return rows

    return statics.remember(("node mask", mask), compute)

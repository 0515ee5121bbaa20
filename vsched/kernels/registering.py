"""Devices that nodes are to have and have not registered yet: what a device plugin brings comes after the node."""

from __future__ import annotations

import numpy as np

from vsched.model.nodes.groups import announces, pool_of
from vsched.model.nodes.table import Ids, Mask, NodeStatics, NodeTable


def awaited(nodes: NodeTable, column: int) -> Mask:
    """bool[nodes]: is to have some of a resource, by its labels or as others made like it have some, and has none.

    A node that has registered any devices of the vendor has registered what it has.
    """
    name = nodes.axis.names[column]
    domain, _, device = name.partition("/")
    if not device:
        return np.zeros(len(nodes), dtype=np.bool_)
    has: Mask = nodes.allocatable[column] > 0
    registered = [at for at, one in enumerate(nodes.axis.names[: nodes.width]) if one.startswith(f"{domain}/")]
    statics = nodes.statics
    pools, count = statics.remember(("pools",), lambda: _pools(statics))
    named: Mask = statics.remember(("announces", name), lambda: _announcing(statics, name))
    rich = np.zeros(count, dtype=np.bool_)
    rich[pools[has]] = True
    rich[0] = False
    found: Mask = ~(nodes.allocatable[registered] > 0).any(axis=0) & (named | rich[pools])
    return found


def _announcing(statics: NodeStatics, resource: str) -> Mask:
    return np.array([announces(node.labels, resource) for node in statics.attributes], dtype=np.bool_)


def _pools(statics: NodeStatics) -> tuple[Ids, int]:
    """int32[nodes]: the number of what each node was made like, 0 where nothing says so; and how many there are."""
    numbers = {"": 0}
    ids = [numbers.setdefault(pool_of(node.labels), len(numbers)) for node in statics.attributes]
    return np.array(ids, dtype=np.int32), len(numbers)

"""Finds nodes that should have devices but have not registered them yet.

A device plugin registers its devices some time after the kubelet has registered the node.
"""

from __future__ import annotations

import numpy as np

from vsched.model.nodes.groups import announces, pool_of
from vsched.model.nodes.table import Ids, Mask, NodeStatics, NodeTable


def awaited(nodes: NodeTable, column: int) -> Mask:
    """bool[nodes]: nodes that should have a resource but have none yet.

    A node should have it if its labels announce it, or if other nodes of its pool have it. A node that has registered
    any device of the same vendor is not waited for.
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
    """int32[nodes]: the number of each node's pool, 0 where its labels name none; and the number of pools plus one."""
    numbers = {"": 0}
    ids = [numbers.setdefault(pool_of(node.labels), len(numbers)) for node in statics.attributes]
    return np.array(ids, dtype=np.int32), len(numbers)

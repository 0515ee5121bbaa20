"""Counts infeasible nodes by node group and reason; a node group is the node pool that people know by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from vsched.framework.nodes.why import Failing
from vsched.model.nodes.groups import group_of
from vsched.model.nodes.table import Ids, NodeStatics

ALL, OTHERS = "all nodes", "other nodes"
GROUPS_MAX = 20
"""The largest groups have counts of their own, at most this many; the others are counted together."""


def reasons_by_group(statics: NodeStatics, found: Iterable[Failing]) -> dict[str, dict[str, int]]:
    """The number of nodes by group, then reason; a node that lacks several resources counts for each."""
    ids, names = statics.remember(("explain", "groups"), lambda: _groups(statics))
    table: dict[str, Counter[str]] = {}
    for reason, _, rows in found:
        counts = np.bincount(ids[rows], minlength=len(names)).tolist()
        for name, count in zip(names, counts, strict=True):
            if count:
                table.setdefault(name, Counter())[reason] += count
    return {name: dict(table[name]) for name in sorted(table)}


def _groups(statics: NodeStatics) -> tuple[Ids, tuple[str, ...]]:
    """The index of each node's group (int32[nodes]), and the names of the groups."""
    groups = [group_of(node.labels) for node in statics.attributes]
    sizes = Counter(group for group in groups if group)
    if not sizes:
        return np.zeros(len(groups), dtype=np.int32), (ALL,)
    kept = sorted(sizes, key=lambda name: (-sizes[name], name))[:GROUPS_MAX]
    at = {name: position for position, name in enumerate(kept)}
    ids = np.array([at.get(group, len(kept)) for group in groups], dtype=np.int32)
    return ids, (*kept, OTHERS)

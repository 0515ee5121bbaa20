"""Whether pods fit on nodes, by trying all ways."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Size = tuple[int, int]
"""Cpu and GPUs, of a node or a pod."""


def fits(nodes: Sequence[Size], pods: Sequence[Size]) -> bool:
    """Whether all pods fit."""
    if not pods:
        return True
    (cpu, gpu), *others = pods
    return any(
        fits([*nodes[:at], (free - cpu, left - gpu), *nodes[at + 1 :]], others)
        for at, (free, left) in enumerate(nodes)
        if free >= cpu and left >= gpu and nodes.index((free, left)) == at
    )


def most(nodes: Sequence[Size], pods: Sequence[Size]) -> int:
    """How many of the pods fit together at most."""
    return next(
        size for size in range(len(pods), -1, -1) if any(fits(nodes, some) for some in combinations(pods, size))
    )

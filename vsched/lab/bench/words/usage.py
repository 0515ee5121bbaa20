"""What ``vsched bench-usage`` says."""

from __future__ import annotations


def no_gang(filled: float, pods: int) -> str:
    return f"--filled {filled:g}: no gang of {pods} pods comes of that: ask for more of the nodes"


def not_all_bound(missing: int, pods: int, seconds: float) -> str:
    return f"{missing} of {pods} pods were not bound within {seconds:.0f} s"


def size(pods: int, nodes: int) -> str:
    return f"{pods:,} pods on {nodes:,} nodes"


CPU_MEAN = "cpu of nodes, mean"
CPU_LOWEST = "cpu of nodes, lowest"
CPU_HIGHEST = "cpu of nodes, highest"
CPU_VARIATION = "cpu of nodes, coefficient of variation"


def nodes_above(share: float) -> str:
    return f"nodes above {share:.0%} of their cpu"


MEMORY_HIGHEST = "memory of nodes, highest"
MEMORY_VARIATION = "memory of nodes, coefficient of variation"

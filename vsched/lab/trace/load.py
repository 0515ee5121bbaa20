"""How much a trace requests of its cluster, parts of it, and heavier loads: fewer nodes, faster arrivals.

Pure. The load of a trace is what its pods would use of the scarcest resource at the busiest moment if each started on
arrival, as a share of the cluster. Above 1 some pods have to wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf

import numpy as np

from vsched.errors import BadInput
from vsched.lab.trace import words
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, NodeLabels, TraceNode, TracePod
from vsched.lab.trace.measures import Floats, peak

RESOURCES: Mapping[str, tuple[Callable[[TraceNode], int], Callable[[TracePod], int]]] = {
    "cpu": (lambda node: node.cpu_milli, lambda pod: pod.cpu_milli),
    "memory": (lambda node: node.memory_mib, lambda pod: pod.memory_mib),
    "gpu": (lambda node: node.gpus * WHOLE_GPU, lambda pod: pod.gpu_amount),
}
"""Resources of nodes and pods, in thousandths of cores, MiB, and thousandths of GPUs."""

SLOWEST, FASTEST = 1e-3, 1e9
"""Bounds of the factor by which arrivals are made faster."""
_HALVINGS = 60
DAY = 86_400


def capacity_of(nodes: Sequence[TraceNode]) -> dict[str, int]:
    """The sum over the nodes, by resource."""
    return {name: sum(has(node) for node in nodes) for name, (has, _) in RESOURCES.items()}


def loads_of(trace: ClusterTrace) -> dict[str, float]:
    """The load of each resource that the nodes have."""
    return {name: _Demand(trace, name).load(1.0) for name, amount in capacity_of(trace.nodes).items() if amount}


def scarcest(trace: ClusterTrace) -> str:
    """The resource with the largest load; GPUs where two are equal."""
    loads = loads_of(trace)
    return max(sorted(loads, reverse=True), key=lambda name: (loads[name], name == "gpu"))


def with_share_of_nodes(trace: ClusterTrace, share: float) -> ClusterTrace:
    """The same pods on a part of the nodes (0 to 1) of each kind; at least one of each kind stays."""
    if not 0.0 < share <= 1.0:
        raise BadInput(words.no_share(share))
    kinds: dict[tuple[int, int, int, str, NodeLabels], list[TraceNode]] = defaultdict(list)
    for node in trace.nodes:
        kinds[node.cpu_milli, node.memory_mib, node.gpus, node.model, node.labels].append(node)
    kept: set[str] = set()
    for nodes in kinds.values():
        kept.update(node.name for node in nodes[: max(1, round(len(nodes) * share))])
    return replace(trace, nodes=tuple(node for node in trace.nodes if node.name in kept))


def part_of(trace: ClusterTrace, begin: datetime | float | None, days: float | None) -> ClusterTrace:
    """The pods that come from a date or a day of the trace on, for so many days.

    Pods that had come before and would run then, had each started on arrival, come at the beginning and run for the
    rest of their time. So the part does not begin on an empty cluster. Raises BadInput where nothing is left.
    """
    if begin is None and days is None:
        return trace
    first, last = trace.pods[0].created, trace.pods[-1].created
    since = first if begin is None else _second_of(trace, begin)
    until = inf if days is None else since + days * DAY
    pods = []
    for pod in trace.pods:
        left = pod.created + pod.run_seconds - since
        if since <= pod.created < until:
            pods.append(pod)
        elif pod.created < since and left > 0:
            pods.append(replace(pod, created=since, run_seconds=left))
    if since > last or not pods:
        raise BadInput(words.no_pod_in_time(_times_of(trace)))
    return replace(trace, pods=tuple(sorted(pods, key=lambda pod: (pod.created, pod.name))))


def _second_of(trace: ClusterTrace, begin: datetime | float) -> int:
    if not isinstance(begin, datetime):
        return trace.pods[0].created + int(begin * DAY)
    if trace.epoch is None:
        raise BadInput(words.no_dates(begin))
    return int(begin.timestamp()) - trace.epoch


def _times_of(trace: ClusterTrace) -> str:
    first, last = trace.pods[0].created, trace.pods[-1].created
    if trace.epoch is None:
        return f"0 to {(last - first) / DAY:.1f} days"
    return " to ".join(f"{datetime.fromtimestamp(trace.epoch + at, UTC):%Y-%m-%dT%H:%M}" for at in (first, last))


def declaring(trace: ClusterTrace, factor: float) -> ClusterTrace:
    """The same pods that say how long they will run: so many times as long as they do, a second at least."""
    pods = [replace(pod, declared_seconds=max(1, round(pod.run_seconds * factor))) for pod in trace.pods]
    return replace(trace, pods=tuple(pods))


def faster(trace: ClusterTrace, factor: float) -> ClusterTrace:
    """The same pods with the same run times, arriving so many times as fast."""
    first = trace.pods[0].created
    pods = [replace(pod, created=first + int((pod.created - first) / factor)) for pod in trace.pods]
    return replace(trace, pods=tuple(sorted(pods, key=lambda pod: (pod.created, pod.name))))


def faster_for(trace: ClusterTrace, load: float) -> float:
    """The factor by which pods have to arrive faster for a load; raises BadInput where no factor gives it."""
    demand = _Demand(trace, scarcest(faster(trace, FASTEST)))
    most = demand.load(FASTEST)
    if load > most:
        raise BadInput(words.load_too_large(load, most, demand.name))
    least = demand.load(SLOWEST)
    if load < least:
        raise BadInput(words.load_too_small(load, least, demand.name))
    low, high = SLOWEST, FASTEST
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if demand.load(middle) < load else (low, middle)
    return high


class _Demand:
    """The request of the pods for one resource, over time."""

    def __init__(self, trace: ClusterTrace, name: str) -> None:
        self.name = name
        asks = RESOURCES[name][1]
        self._capacity = capacity_of(trace.nodes)[name]
        self._asked: Floats = np.array([asks(pod) for pod in trace.pods], float)
        first = trace.pods[0].created
        self._created: Floats = np.array([pod.created - first for pod in trace.pods], float)
        self._run: Floats = np.array([pod.run_seconds for pod in trace.pods], float)

    def load(self, factor: float) -> float:
        """The load with arrivals so many times as fast; it never falls as the factor grows."""
        began = np.floor(self._created / factor)
        return peak(began, began + self._run, self._asked) / self._capacity

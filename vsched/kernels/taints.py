"""Matches taints with tolerations. The work is done once for each distinct list of taints, not for each node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vsched.kernels.selectors import remembered
from vsched.model.nodes.table import Floats, Mask, NodeStatics, Taint
from vsched.model.pods.shape import Toleration

REPELLING = ("NoSchedule", "NoExecute")
DISCOURAGING = ("PreferNoSchedule",)
UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint that stands for ``spec.unschedulable``: pods that tolerate it may run on a cordoned node."""

PASSING_BEGIN = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "readiness.k8s.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/unregistered",
    "karpenter.sh/disrupt",
    "node.cluster.x-k8s.io/",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "cloud.google.com/gke-quick-remove",
    "ToBeDeletedByClusterAutoscaler",
    "ToBeDeletedTaint",
    "DeletionCandidateOfClusterAutoscaler",
)
"""Keys (or their beginnings) of taints that controllers add to nodes that start, are unhealthy or will be removed.

The controllers remove the taint, or the node with it."""
PASSING_END = (
    "not-ready",
    "notready",
    "not-registered",
    "uninitialized",
    "initializing",
    "unregistered",
    "unavailable",
    "unreachable",
)
PASSING_PARTS = ("startup", "starting", "not-ready", "pressure")
"""Parts of names that other products use for such taints: ``node.cilium.io/agent-not-ready``, …"""


class TaintLists(NamedTuple):
    """The distinct lists of taints with certain effects, and which list each node has."""

    numbers: npt.NDArray[np.intp]
    """intp[nodes]: position in ``lists``."""
    lists: tuple[tuple[Taint, ...], ...]
    """The first one is the empty list."""


def taint_lists(statics: NodeStatics, effects: Sequence[str]) -> TaintLists:
    """The taints of all nodes with one of these effects."""
    return statics.remember(("taints", *effects), lambda: _taint_lists(statics, effects))


def passes(taint: Taint) -> bool:
    """Whether controllers add and remove the taint with the state of its node."""
    return passes_by_itself(taint.key)


@lru_cache(1024)
def passes_by_itself(key: str) -> bool:
    """Whether controllers remove taints with this key by themselves, as the state of the node changes."""
    if key.startswith(PASSING_BEGIN):
        return True
    name = key.rpartition("/")[2].lower()
    return name.endswith(PASSING_END) or any(part in name for part in PASSING_PARTS)


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Whether any toleration covers the taint."""
    return any(toleration.tolerates(taint.key, taint.value, taint.effect) for toleration in tolerations)


def untolerated(statics: NodeStatics, tolerations: Sequence[Toleration]) -> list[tuple[Taint, Mask]]:
    """The taints that keep a pod off nodes, each with bool[nodes], which is False on the nodes concerned.

    A node with several untolerated taints counts for one of them: the first lasting one, or else the first. Waiting for
    a passing taint would not help on a node that has a lasting one.
    """
    numbers, lists = taint_lists(statics, REPELLING)
    keeps_off: dict[tuple[str, str], tuple[Taint, list[int]]] = {}
    for number, taints in enumerate(lists):
        hits = [taint for taint in taints if not is_tolerated(taint, tolerations)]
        first = next((taint for taint in hits if not passes_by_itself(taint.key)), hits[0] if hits else None)
        if first is not None:
            keeps_off.setdefault((first.key, first.value), (first, []))[1].append(number)
    found = []
    for taint, hit in keeps_off.values():
        free = np.ones(len(lists), dtype=np.bool_)
        free[hit] = False
        found.append((taint, free[numbers]))
    return found


def tolerated_mask(statics: NodeStatics, tolerations: tuple[Toleration, ...]) -> Mask | None:
    """bool[nodes]: nodes without untolerated taints; None where no node has taints."""
    if len(taint_lists(statics, REPELLING).lists) == 1:
        return None

    def compute() -> Mask:
        mask = np.ones(len(statics), dtype=np.bool_)
        for _, free in untolerated(statics, tolerations):
            mask &= free
        return mask

    return remembered(statics, ("tolerated", tolerations), compute)


def cordoned(statics: NodeStatics) -> Mask:
    """bool[nodes]: cordoned nodes (``spec.unschedulable``)."""
    return remembered(
        statics,
        "cordoned",
        lambda: np.array([node.unschedulable for node in statics.attributes], dtype=np.bool_),
    )


def discourages(statics: NodeStatics) -> bool:
    """Whether any node has a PreferNoSchedule taint."""
    return len(taint_lists(statics, DISCOURAGING).lists) > 1


def discouraged(statics: NodeStatics, tolerations: tuple[Toleration, ...]) -> Floats | None:
    """float64[nodes]: the number of untolerated PreferNoSchedule taints; None where it is the same on all nodes."""
    if not discourages(statics):
        return None
    counts = statics.remember(("discouraged", tolerations), lambda: _discouraged(statics, tolerations))
    return counts if counts.size and counts.max() > counts.min() else None


def _discouraged(statics: NodeStatics, tolerations: tuple[Toleration, ...]) -> Floats:
    numbers, lists = taint_lists(statics, DISCOURAGING)
    counts = np.array(
        [sum(not is_tolerated(taint, tolerations) for taint in taints) for taints in lists], dtype=np.float64
    )
    spread = counts[numbers]
    spread.flags.writeable = False
    return spread


def _taint_lists(statics: NodeStatics, effects: Sequence[str]) -> TaintLists:
    positions: dict[tuple[Taint, ...], int] = {(): 0}
    numbers = np.zeros(len(statics), dtype=np.intp)
    for row, node in enumerate(statics.attributes):
        if node.taints:
            taints = tuple(taint for taint in node.taints if taint.effect in effects)
            numbers[row] = positions.setdefault(taints, len(positions))
    return TaintLists(numbers, tuple(positions))

"""Taints against tolerations, once for each distinct list of taints, not for each node."""

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
"""The taint that stands for ``spec.unschedulable``: who tolerates it may go to a cordoned node."""

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
"""Taints that machinery puts on nodes that start, are not well or are about to go, and takes off or goes with them."""
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
"""What others name such taints: ``node.cilium.io/agent-not-ready``, ``ebs.csi.aws.com/agent-not-ready``, …"""


class TaintLists(NamedTuple):
    """The distinct lists of taints with some effects, and which node has which."""

    numbers: npt.NDArray[np.intp]
    """intp[nodes]: position in ``lists``."""
    lists: tuple[tuple[Taint, ...], ...]
    """The first one is the empty list."""


def taint_lists(statics: NodeStatics, effects: Sequence[str]) -> TaintLists:
    """The taints of all nodes with one of these effects."""
    return statics.remember(("taints", *effects), lambda: _taint_lists(statics, effects))


def passes(taint: Taint) -> bool:
    """Whether the taint comes and goes by itself, with how its node is doing."""
    return passes_by_itself(taint.key)


@lru_cache(1024)
def passes_by_itself(key: str) -> bool:
    """Whether a taint of this key is one that machinery takes off again, without anybody changing anything."""
    if key.startswith(PASSING_BEGIN):
        return True
    name = key.rpartition("/")[2].lower()
    return name.endswith(PASSING_END) or any(part in name for part in PASSING_PARTS)


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Whether any toleration covers the taint."""
    return any(toleration.tolerates(taint.key, taint.value, taint.effect) for toleration in tolerations)


def untolerated(statics: NodeStatics, tolerations: Sequence[Toleration]) -> list[tuple[Taint, Mask]]:
    """Each taint that keeps the pod off some node as the first of its list, and bool[nodes]: where it does not.

    Those that stay go before those that pass by themselves: waiting for one of these would be in vain.
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
    """bool[nodes]: where no taint keeps the pod off; None where that is everywhere."""
    if len(taint_lists(statics, REPELLING).lists) == 1:
        return None

    def compute() -> Mask:
        mask = np.ones(len(statics), dtype=np.bool_)
        for _, free in untolerated(statics, tolerations):
            mask &= free
        return mask

    return remembered(statics, ("tolerated", tolerations), compute)


def cordoned(statics: NodeStatics) -> Mask:
    """bool[nodes]: where new pods are not wanted (``spec.unschedulable``)."""
    return remembered(
        statics,
        "cordoned",
        lambda: np.array([node.unschedulable for node in statics.attributes], dtype=np.bool_),
    )


def discouraged(statics: NodeStatics, tolerations: tuple[Toleration, ...]) -> Floats | None:
    """float64[nodes]: how many untolerated PreferNoSchedule taints each has; None where all nodes are alike."""
    if len(taint_lists(statics, DISCOURAGING).lists) == 1:
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

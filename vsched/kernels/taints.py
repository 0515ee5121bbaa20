"""Taints against tolerations, once for each distinct list of taints, not for each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vsched.kernels.selectors import remembered
from vsched.model.nodes import Floats, Mask, NodeStatics, Taint
from vsched.model.shape import Toleration

REPELLING = ("NoSchedule", "NoExecute")
DISCOURAGING = ("PreferNoSchedule",)
UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint that stands for ``spec.unschedulable``: who tolerates it may go to a cordoned node."""


PASSING = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",
    "readiness.k8s.io/",
)
"""How the keys of taints begin that machines give and take: a node is dead or ill, begins, or is about to go."""
NOT_YET = ("not-ready", "not-registered", "uninitialized")
"""How such keys end, whoever's they are (``node.cilium.io/agent-not-ready``)."""


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
    return taint.key.startswith(PASSING) or taint.key.endswith(NOT_YET)


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Whether any toleration covers the taint."""
    return any(toleration.tolerates(taint.key, taint.value, taint.effect) for toleration in tolerations)


def untolerated(statics: NodeStatics, tolerations: Sequence[Toleration]) -> list[tuple[Taint, Mask]]:
    """Each taint that keeps the pod off some node as the first of its list, and bool[nodes]: where it does not."""
    numbers, lists = taint_lists(statics, REPELLING)
    keeps_off: dict[tuple[str, str], tuple[Taint, list[int]]] = {}
    for number, taints in enumerate(lists):
        first = next((taint for taint in taints if not is_tolerated(taint, tolerations)), None)
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

"""The objects that every cluster starts with, besides definitions: namespaces and priority classes."""

from __future__ import annotations

from vsched.apimachinery.meta.kinds import Obj

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)


def system_priority_classes() -> list[Obj]:
    """The priority classes of a new cluster; users may not create classes with these values."""
    return [
        {
            "kind": "PriorityClass",
            "apiVersion": "scheduling.k8s.io/v1",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
            "description": description,
        }
        for name, value, description in _PRIORITY_CLASSES
    ]

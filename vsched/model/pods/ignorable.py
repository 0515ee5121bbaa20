"""Unsupported features of pods, PodGroups and Queues, by the word that a configuration ignores them with."""

from __future__ import annotations

PRIORITY_CLASSES = "priority-classes"
IGNORABLE = {
    "volumes": "disks that pods name without a claim, and that one node has at a time",
    "scheduling-groups": "PodGroups as Kubernetes 1.35 had them (spec.workloadRef)",
    PRIORITY_CLASSES: "PriorityClasses that do not exist",
}
SUPPORTED = ("claims", "devices", "topology", "numa", "subgroups")
"""Words of features that are supported by now. Configurations may still have them; they have no effect."""

"""Unsupported features of pods, PodGroups and Queues, by the word that a configuration ignores them with."""

from __future__ import annotations

from vsched.model import words

PRIORITY_CLASSES = "priority-classes"
IGNORABLE = {
    "volumes": words.DISKS,
    "scheduling-groups": words.OLD_PODGROUPS,
    PRIORITY_CLASSES: words.LOST_PRIORITY_CLASSES,
}
SUPPORTED = ("claims", "devices", "topology", "numa", "subgroups")
"""Words of features that are supported by now. Configurations may still have them; they have no effect."""

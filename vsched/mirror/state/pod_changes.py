"""What a change of a pod means: whether it says anything new, and whether a decision can follow from that."""

from __future__ import annotations

from operator import attrgetter

import msgspec

from vsched.model.pods.shape import PodLabels
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

ON_ITS_WAY = frozenset(
    {(Status.BINDING, Status.BOUND), (Status.BINDING, Status.RUNNING), (Status.BOUND, Status.RUNNING)}
)
"""Changes of status that follow from a binding."""
COME_WITH_NODES = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
"""Labels that API servers give a pod with its node."""
INDECISIVE = frozenset(
    {
        "condition",
        "started",
        "expected",
        "limit",
        "endless",
        "unready",
        "finished",
        "zones",
        "devices",
        "checkpoint",
        "deletion_cost",
        "cooperates",
        "responds",
    }
)
"""Fields that make no placement possible: the text of a condition, a start, the expected duration, readiness, what was
decided about zones and devices, and what an eviction costs."""
_ASKED_APART = frozenset({"status", "labels", "protected_until"})
_decisive = attrgetter(*(name for name in Task.__struct_fields__ if name not in INDECISIVE | _ASKED_APART))


def says_the_same(before: Task, after: Task) -> bool:
    """Whether two records of a pod are equal."""
    return before.status is after.status and msgspec.structs.astuple(before) == msgspec.structs.astuple(after)


def matters(before: Task, after: Task) -> bool:
    """Whether a changed pod can change a decision.

    The arrival of an assumed binding cannot, with the labels that come with it, nor can a longer cool-down.
    """
    arrived = before.node == after.node and (before.status, after.status) in ON_ITS_WAY
    if before.status is not after.status and not arrived:
        return True
    if before.labels != after.labels and not (arrived and _only_of_node(before.labels, after.labels)):
        return True
    return after.protected_until < before.protected_until or _decisive(before) != _decisive(after)


def _only_of_node(before: PodLabels, after: PodLabels) -> bool:
    """Whether a pod has the labels that it had, and besides only those that come with nodes."""
    return [pair for pair in after.pairs if pair[0] not in COME_WITH_NODES] == list(before.pairs)

"""conformance: what the cluster itself lives on is nobody's victim (reference 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.extension import NoArgs, Plugin, Preemptable, Reclaimable
from vsched.model.task import Task

CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")
SYSTEM_NAMESPACE = "kube-system"


class Conformance(Plugin[NoArgs], Preemptable, Reclaimable):
    """Keeps critical pods and the system namespace out of the victims."""

    name = "conformance"

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """All but critical ones."""
        return _ordinary(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """All but critical ones."""
        return _ordinary(candidates)


def _ordinary(candidates: Sequence[Task]) -> list[Task]:
    return [
        victim
        for victim in candidates
        if victim.priority_class not in CRITICAL_CLASSES and victim.namespace != SYSTEM_NAMESPACE
    ]

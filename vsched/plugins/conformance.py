"""conformance: what the cluster itself lives on is nobody's victim (reference 4.3)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from vsched.framework.extension import NoArgs, Plugin, Standing
from vsched.framework.victim_points import Preemptable, Reclaimable
from vsched.model.task import Task

CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")
SYSTEM_NAMESPACE = "kube-system"


class Conformance(Plugin[NoArgs], Preemptable, Reclaimable):
    """Keeps critical pods and the system namespace out of the victims."""

    name = "conformance"
    protects_absolutely = True

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """All but critical ones."""
        return _ordinary(candidates)

    def could_retake(self, victim: Task, evictor: Task) -> bool:
        """Not from a critical task."""
        return bool(_ordinary([evictor]))

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """All but critical ones."""
        return _ordinary(candidates)

    def keeps_from_preemptor(self, preemptor: Task, job: Standing) -> bool:
        """Jobs of the system namespace."""
        return job.spec.namespace == SYSTEM_NAMESPACE

    def keeps_from_reclaimer(self, reclaimer: Task, job: Standing) -> bool:
        """Jobs of the system namespace."""
        return job.spec.namespace == SYSTEM_NAMESPACE

    def preemptor_class(self, preemptor: Task) -> Hashable:
        """Who asks does not matter."""
        return None

    def reclaimer_class(self, reclaimer: Task) -> Hashable:
        """Who asks does not matter."""
        return None


def _ordinary(candidates: Sequence[Task]) -> list[Task]:
    return [
        victim
        for victim in candidates
        if victim.priority_class not in CRITICAL_CLASSES and victim.namespace != SYSTEM_NAMESPACE
    ]

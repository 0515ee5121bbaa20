"""conformance: protects critical pods and the namespace kube-system from eviction."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.points.extension import JobState, NoArgs, Plugin
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.model.pods.task import Task
from vsched.plugins.words import victims

CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")
SYSTEM_NAMESPACE = "kube-system"


class Conformance(Plugin[NoArgs], Preemptable, Reclaimable):
    """Excludes critical pods and pods of the system namespace from the victims."""

    name = "conformance"
    timeless = True
    votes_by_kind = True
    protects_absolutely = True
    judges_moves = True

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """All candidates except critical pods and pods of the system namespace."""
        return Votes(_ordinary, victims.SYSTEM_CRITICAL, _is_system, depends_on=None)


def _ordinary(candidates: Sequence[Task]) -> list[Task]:
    return [
        victim
        for victim in candidates
        if victim.priority_class not in CRITICAL_CLASSES and victim.namespace != SYSTEM_NAMESPACE
    ]


def _is_system(job: JobState) -> bool:
    return job.spec.namespace == SYSTEM_NAMESPACE

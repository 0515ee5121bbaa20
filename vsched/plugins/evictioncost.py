"""eviction-cost: of possible victims of equal priority, those are evicted first whose eviction wastes least work.

The work of a pod is what it asks for, as a share of the cluster, times how long it has run since its start or since its
last checkpoint (annotation ``vsched.io/last-checkpoint`` of the pod or of its PodGroup). Among the pods of a job, the
pod deletion cost of Kubernetes goes first.
"""

from __future__ import annotations

import msgspec

from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.victims import VictimCost
from vsched.model.amounts.resources import PODS
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.words import arguments


class EvictionCostArgs(msgspec.Struct, frozen=True):
    """How much each resource counts."""

    weights: dict[str, float] = msgspec.field(default_factory=dict, name="resourceWeights.*")
    """By resource: the weight of its share of the cluster; 1 where not given. Pod slots do not count unless given."""

    def normalised(self) -> EvictionCostArgs:
        """The same; raises ValueError for a negative weight."""
        for name, weight in self.weights.items():
            if not weight >= 0:
                raise ValueError(arguments.negative_weight(name, weight))
        return self


class EvictionCost(Plugin[EvictionCostArgs], VictimCost):
    """Prefers victims that lose little work."""

    name = "eviction-cost"
    args_type = EvictionCostArgs

    def open(self, context: SessionContext) -> None:
        """Keep the time, the jobs, and what one base unit of each resource counts."""
        snapshot = context.snapshot
        self._now = snapshot.now
        self._job_state = context.job_state
        names = snapshot.axis.names
        self._rates = [
            self.args.weights.get(names[column], 0.0 if column == PODS else 1.0) / total if total else 0.0
            for column, total in enumerate(snapshot.total)
        ]
        self._of_shapes: dict[Shape, float] = {}

    def work_lost(self, victim: Task) -> float:
        """The pod's weighted share of the cluster, times the seconds since its start or its last checkpoint."""
        if victim.status is not Status.RUNNING:
            return 0.0
        job = self._job_state(victim.job)
        saved = 0.0 if job is None else job.spec.checkpoint
        since = max(victim.started or victim.created, victim.checkpoint, saved)
        return self._share(victim.shape) * max(0.0, self._now - since)

    def among_its_job(self, victim: Task) -> int:
        """Pods with a lower pod deletion cost go first."""
        return victim.deletion_cost

    def _share(self, shape: Shape) -> float:
        share = self._of_shapes.get(shape)
        if share is None:
            rates = self._rates
            share = self._of_shapes[shape] = sum(
                amount * rates[column] for column, amount in shape.request if column < len(rates)
            )
        return share

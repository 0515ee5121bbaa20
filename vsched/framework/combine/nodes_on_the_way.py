"""No pod is evicted for a gang while nodes for it are being provisioned, which a ProvisioningRequest asked for."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.framework.jobs import JobView
from vsched.framework.points.victims import EvictionDelay
from vsched.framework.words import jobs as words
from vsched.model.jobs.provisioning import Provisioning

ASK_SECONDS = 10.0
"""For so long no pod is evicted for a new gang, so that nodes can be asked for first."""


class NodesOnTheWay(EvictionDelay):
    """The delays that follow from the ProvisioningRequests of gangs."""

    delays_because = words.NODES_ON_THE_WAY

    def __init__(self, found: Mapping[str, Provisioning]) -> None:
        self._found = found

    def may_evict_from(self, job: JobView) -> float:
        """As its request says; without one, a moment after the gang is complete."""
        if job.min_member < 2 or job.spec.implicit or job.is_ready:
            return 0.0
        found = self._found.get(job.key)
        if found is not None:
            return found.evict_from
        newest = max((task.created for task in job.job.pending.values() if not task.gated), default=0.0)
        return newest + ASK_SECONDS

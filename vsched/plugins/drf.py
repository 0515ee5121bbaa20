"""drf: dominant resource fairness among the jobs, and among the namespaces, of a queue (reference 4.4, seed 000).

A job's share is the largest part it holds of any resource of the cluster; a namespace's share is the same for what it
holds in the queue, divided by its weight. The smaller share goes first.
"""

from __future__ import annotations

from collections.abc import Mapping

from vsched.framework.extension import JobOrder, NamespaceOrder, NoArgs, Opening, Plugin
from vsched.framework.jobs import JobView
from vsched.kernels.fairness import dominant_share


class Drf(Plugin[NoArgs], JobOrder, NamespaceOrder):
    """Orders jobs and namespaces by dominant share."""

    name = "drf"

    def open(self, opening: Opening) -> None:
        """Keep the cluster's total and what namespaces hold."""
        self._total = opening.snapshot.total
        self._holdings = opening.holdings
        self._namespaces = opening.snapshot.namespaces

    def job_key(self, job: JobView) -> float:
        """The job's dominant share; what it waits for counts as held."""
        return dominant_share(job.allocated, self._total)

    def namespace_key(self, queue: str, namespace: str) -> float:
        """The namespace's dominant share in the queue over its weight."""
        held: Mapping[int, int] = self._holdings.namespace(queue, namespace)
        known = self._namespaces.get(namespace)
        return dominant_share(held, self._total) / (1 if known is None else known.weight)

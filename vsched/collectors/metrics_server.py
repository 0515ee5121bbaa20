"""Node usage from the metrics server (``metrics.k8s.io``), as ``kubectl top nodes`` shows it.

It reports only current amounts: percentages are of allocatable, and averages are over the samples of earlier rounds.
After a start there are few samples, so the spread is 0 at first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import numpy as np

from vsched.clock import Clock
from vsched.collectors import words
from vsched.collectors.cluster_api import ClusterApi, moment, number_of
from vsched.collectors.endpoint import decoded
from vsched.collectors.figures import CPU, CPU_SPREAD, MEMORY, MEMORY_SPREAD, Asked, collect
from vsched.collectors.history import SampleHistory
from vsched.collectors.source import CollectedUsage, NodeTarget
from vsched.kube.client import ApiClient
from vsched.model.nodes.usage import period_seconds
from vsched.settings.metrics import MetricsSource

GROUP = "metrics.k8s.io"
PATH = f"/apis/{GROUP}/v1beta1/nodes"


class NodeName(msgspec.Struct, frozen=True):
    """The name of the node."""

    name: str


class MetricsUsage(msgspec.Struct, frozen=True):
    """The usage of a node, as quantities."""

    cpu: str = ""
    memory: str = ""


class NodeMetrics(msgspec.Struct, frozen=True):
    """One node."""

    metadata: NodeName
    timestamp: str
    usage: MetricsUsage


class NodeMetricsList(msgspec.Struct, frozen=True):
    """All nodes."""

    items: list[NodeMetrics]


_LIST = msgspec.json.Decoder(NodeMetricsList)


class MetricsServer(ClusterApi):
    """The metrics server, through the client of the cluster."""

    def __init__(self, source: MetricsSource, client: ApiClient, clock: Clock) -> None:
        super().__init__(GROUP, source, client, clock)
        self._history: SampleHistory | None = None

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        """One request for all nodes."""
        taken = self._clock.now()
        body = await self._get(PATH, lambda _: words.no_metrics_server(self._server, GROUP))
        return await asyncio.to_thread(self._put_together, taken, targets, periods, body)

    def _put_together(
        self, taken: float, targets: Sequence[NodeTarget], periods: Sequence[str], body: bytes
    ) -> CollectedUsage:
        seconds = {period: period_seconds(period) or 0.0 for period in periods}
        if self._history is None:
            self._history = SampleHistory(2, max(seconds.values(), default=0.0))
        samples = parse_nodes(body)
        has = {target.instance or target.name: target for target in targets}
        names = [name for name in samples if name in has]
        rows = np.array([samples[name] for name in names]).reshape(len(names), 3)
        capacity = np.array([(has[name].milli_cpu / 1000, has[name].memory) for name in names]).reshape(len(names), 2)
        amounts = rows[:, 1:].T
        percent = np.divide(100.0 * amounts, capacity.T, out=np.full(amounts.shape, np.nan), where=capacity.T > 0)
        self._history.add(taken, names, rows[:, 0], percent)
        found: dict[Asked, dict[str, float]] = {}
        for period in periods:
            summary = self._history.over(seconds[period], taken)
            for row, (average, spread) in enumerate(((CPU, CPU_SPREAD), (MEMORY, MEMORY_SPREAD))):
                found[average, period] = dict(zip(names, summary.average[row].tolist(), strict=True))
                found[spread, period] = dict(zip(names, summary.spread[row].tolist(), strict=True))
        measured = {name: at for name, (at, _, _) in samples.items()}
        return collect(taken, targets, measured, found)


def parse_nodes(body: bytes) -> dict[str, tuple[float, float, float]]:
    """Time, cores and bytes by node, NaN for missing values; raises SourceError."""
    items = decoded(_LIST, GROUP, body).items
    return {
        item.metadata.name: (moment(item.timestamp), number_of(item.usage.cpu), number_of(item.usage.memory))
        for item in items
    }

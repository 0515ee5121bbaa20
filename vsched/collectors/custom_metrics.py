"""Node usage from the Custom Metrics API of the cluster (Prometheus Adapter): one request a figure, for all nodes.

Which window the averages are over is set in the adapter's rules; they count for every period that is asked for. A
metric's name with ``{period}`` in it gives each period a metric of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from vsched.clock import Clock
from vsched.collectors import words
from vsched.collectors.cluster_api import ClusterApi, moment, number_of
from vsched.collectors.endpoint import decoded
from vsched.collectors.figures import CPU, CPU_SPREAD, MEMORY, MEMORY_SPREAD, Asked, collect
from vsched.collectors.source import CollectedUsage, NodeTarget, SourceError, answers_to
from vsched.errors import VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.kube.paths import segment
from vsched.settings.metrics import MetricsSource, Queries

GROUP = "custom.metrics.k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
"""Those we read, the best first."""
DEFAULTS = Queries(cpu="node_cpu_usage_avg", memory="node_memory_usage_avg")


class Described(msgspec.Struct, frozen=True):
    """What a value is of."""

    name: str


class MetricValue(msgspec.Struct, frozen=True):
    """One value; v1beta1 and v1beta2 differ in what is not read here."""

    described: Described = msgspec.field(name="describedObject")
    timestamp: str
    value: str


class MetricValueList(msgspec.Struct, frozen=True):
    """All values of one metric."""

    items: list[MetricValue]


_LIST = msgspec.json.Decoder(MetricValueList)


class CustomMetrics(ClusterApi):
    """The Custom Metrics API, through the client of the cluster."""

    def __init__(self, source: MetricsSource, client: ApiClient, clock: Clock) -> None:
        super().__init__(GROUP, source, client, clock)
        asked = source.queries
        self._metrics = {
            CPU: asked.cpu or DEFAULTS.cpu,
            MEMORY: asked.memory or DEFAULTS.memory,
            CPU_SPREAD: asked.cpu_spread,
            MEMORY_SPREAD: asked.memory_spread,
        }
        self._version = ""

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        """One request a metric; the API version is requested once, and again after a failure."""
        taken = self._clock.now()
        wanted = {
            (figure, period): metric.replace("{period}", period)
            for figure, metric in self._metrics.items()
            for period in periods
            if metric
        }
        try:
            self._version = self._version or await self._served_version()
            bodies = await answers_to({metric: self._ask(metric) for metric in {*wanted.values()}})
        except SourceError:
            self._version = ""
            raise
        return await asyncio.to_thread(_put_together, taken, targets, wanted, bodies)

    async def _served_version(self) -> str:
        try:
            found = await self._client.get(f"/apis/{GROUP}")
        except NotFound:
            raise SourceError(words.no_prometheus_adapter(self._server, GROUP)) from None
        except VschedError as error:
            raise SourceError(str(error)) from error
        served = {str(each.get("version")) for each in found.get("versions") or ()}
        version = next((version for version in VERSIONS if version in served), "")
        if not version:
            raise SourceError(words.served_as_other_version(GROUP, ", ".join(sorted(served)), " or ".join(VERSIONS)))
        return version

    async def _ask(self, metric: str) -> bytes:
        path = f"/apis/{GROUP}/{self._version}/nodes/*/{segment(metric)}"
        return await self._get(path, lambda message: words.no_such_metric(metric, message))


def _put_together(
    taken: float, targets: Sequence[NodeTarget], wanted: Mapping[Asked, str], bodies: Mapping[str, bytes]
) -> CollectedUsage:
    values = {metric: parse_values(metric, body) for metric, body in bodies.items()}
    averages = {metric: {name: number for name, (number, _) in found.items()} for metric, found in values.items()}
    measured: dict[str, float] = {}
    for found in values.values():
        for name, (_, at) in found.items():
            # The sample of a node is as old as its oldest figure.
            measured[name] = min(at, measured.get(name, at))
    return collect(taken, targets, measured, {asked: averages[metric] for asked, metric in wanted.items()})


def parse_values(metric: str, body: bytes) -> dict[str, tuple[float, float]]:
    """Percent and time by node; raises SourceError."""
    items = decoded(_LIST, metric, body).items
    return {item.described.name: (100.0 * number_of(item.value), moment(item.timestamp)) for item in items}

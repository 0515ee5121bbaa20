"""Node usage from Elasticsearch, as Metricbeat writes it: one aggregation a period, for all nodes.

Nothing newer than what version 1.5 and version 8 both read is asked. Fields hold fractions, from 0 to 1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec
import orjson

from vsched.clock import Clock
from vsched.collectors import words
from vsched.collectors.endpoint import Endpoint, decoded
from vsched.collectors.figures import CPU, CPU_SPREAD, MEMORY, MEMORY_SPREAD, Asked, collect
from vsched.collectors.source import MOST_NAMED, CollectedUsage, NodeTarget, SourceError, answers_to
from vsched.model.nodes.usage import period_seconds
from vsched.settings.metrics import MetricsSource

JSON = "application/json"
CPU_FIELD = "host.cpu.usage"
MEMORY_FIELD = "system.memory.actual.used.pct"
TIME_FIELD = "@timestamp"
NODES_A_QUESTION = 5_000
"""Servers limit the number of buckets, by default to 10,000."""


class Extended(msgspec.Struct, frozen=True):
    """Statistics of one field; null where no document has it."""

    avg: float | None = None
    std_deviation: float | None = None


class Newest(msgspec.Struct, frozen=True):
    """The largest value of one field."""

    value: float | None = None


class Host(msgspec.Struct, frozen=True):
    """One bucket."""

    key: str
    cpu: Extended = Extended()
    memory: Extended = Extended()
    newest: Newest = Newest()


class Hosts(msgspec.Struct, frozen=True):
    """All buckets."""

    buckets: list[Host]


class Aggregations(msgspec.Struct, frozen=True):
    """What was asked for."""

    hosts: Hosts


class Shards(msgspec.Struct, frozen=True):
    """How much of the index answered."""

    total: int = 0
    failed: int = 0


class SearchAnswer(msgspec.Struct, frozen=True):
    """A successful answer; without aggregations where no index matches."""

    aggregations: Aggregations | None = None
    timed_out: bool = False
    shards: Shards = msgspec.field(default=Shards(), name="_shards")


_ANSWER = msgspec.json.Decoder(SearchAnswer)


class Elasticsearch:
    """An Elasticsearch, or what speaks its language, at an address."""

    def __init__(self, source: MetricsSource, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._timeout_seconds = source.timeout
        self._index = source.elasticsearch.index
        self._host_field = source.elasticsearch.hostname_field
        self._fields = source.queries.cpu or CPU_FIELD, source.queries.memory or MEMORY_FIELD
        self.label = f"elasticsearch {endpoint.address}"

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        """One request a period, or several if there are too many nodes for one.

        An index may contain many hosts that are not nodes. If it knows none of our nodes, it is asked for its hosts.
        """
        taken = self._clock.now()
        names = [target.instance or target.name for target in targets]
        portions = {start: names[start : start + NODES_A_QUESTION] for start in range(0, len(names), NODES_A_QUESTION)}
        bodies = await answers_to(
            {
                (period, start): self._ask(self._body(period, portion))
                for period in periods
                for start, portion in portions.items()
            }
        )
        answers = [(period, body) for (period, _), body in bodies.items()]
        collected = await asyncio.to_thread(self._put_together, taken, targets, answers)
        if collected.reading.nodes:
            return collected
        others = await self._ask(self._body(periods[0], ()))
        return await asyncio.to_thread(self._put_together, taken, targets, [(periods[0], others)])

    async def close(self) -> None:
        await self._endpoint.close()

    def _body(self, period: str, names: Sequence[str]) -> bytes:
        """A question about hosts of these names; about any, where none is given."""
        seconds = max(1, round(period_seconds(period) or 0.0))
        must: list[dict[str, Any]] = [{"range": {TIME_FIELD: {"gte": f"now-{seconds}s", "lt": "now"}}}]
        if names:
            must.append({"terms": {self._host_field: names}})
        cpu, memory = self._fields
        figures = {
            "cpu": {"extended_stats": {"field": cpu}},
            "memory": {"extended_stats": {"field": memory}},
            "newest": {"max": {"field": TIME_FIELD}},
        }
        hosts = {"terms": {"field": self._host_field, "size": len(names) or MOST_NAMED}, "aggs": figures}
        return orjson.dumps({"size": 0, "query": {"bool": {"must": must}}, "aggs": {"hosts": hosts}})

    async def _ask(self, body: bytes) -> bytes:
        path = f"/{quote(self._index, safe='*,-_.')}/_search"
        return await self._endpoint.post(path, body, JSON, self._timeout_seconds)

    def _put_together(
        self, taken: float, targets: Sequence[NodeTarget], answers: Sequence[tuple[str, bytes]]
    ) -> CollectedUsage:
        found: dict[Asked, dict[str, float]] = {}
        measured: dict[str, float] = {}
        for period, body in answers:
            for host in parse_hosts(self._index, body):
                figures = (
                    (CPU, host.cpu.avg),
                    (MEMORY, host.memory.avg),
                    (CPU_SPREAD, host.cpu.std_deviation),
                    (MEMORY_SPREAD, host.memory.std_deviation),
                )
                for figure, part in figures:
                    if part is not None:
                        found.setdefault((figure, period), {})[host.key] = 100.0 * part
                if host.newest.value is not None:
                    measured[host.key] = host.newest.value / 1000
        return collect(taken, targets, measured, found)


def parse_hosts(index: str, body: bytes) -> list[Host]:
    """The hosts of an answer; raises SourceError."""
    answer = decoded(_ANSWER, index, body)
    if answer.timed_out:
        raise SourceError(words.search_out_of_time(index))
    if answer.shards.total and answer.shards.failed == answer.shards.total:
        raise SourceError(words.all_shards_failed(index, answer.shards.total))
    if answer.aggregations is None:
        raise SourceError(words.no_such_index(index))
    return answer.aggregations.hosts.buckets

"""Node usage from Prometheus: each figure of all nodes in one query.

The queries are made for node_exporter. Averages are over the momentary usage, twice a minute: unlike the rate over a
whole period they are right from a node's second sample on, and their deviation says how much the usage swings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from vsched.clock import Clock
from vsched.collectors import words
from vsched.collectors.endpoint import Endpoint, misread
from vsched.collectors.figures import CPU, CPU_SPREAD, MEMORY, MEMORY_SPREAD, Asked, collect
from vsched.collectors.source import CollectedUsage, NodeTarget, SourceError, answers_to
from vsched.errors import UNREADABLE
from vsched.kube.errors import one_line
from vsched.model.nodes.usage import period_seconds
from vsched.settings.metrics import MetricsSource, Queries

FORM = "application/x-www-form-urlencoded"
PATH = "/api/v1/query"
NEWEST: Asked = ("measured", "")
"""The question for the newest samples."""

_CPU = '(1 - avg by ({instance}) (irate(node_cpu_seconds_total{mode="idle"}[5m])))[{period}:30s]'
_MEMORY = (
    "(1 - avg by ({instance}) (node_memory_MemAvailable_bytes) / avg by ({instance}) (node_memory_MemTotal_bytes))"
    "[{period}:30s]"
)
_NEWEST = "max by ({instance}) (timestamp(node_memory_MemTotal_bytes))"
_NEWEST_OF_SILENT = "max by ({instance}) (max_over_time(timestamp(node_memory_MemTotal_bytes)[10m:30s]))"
DEFAULTS = Queries(
    cpu=f"100 * avg_over_time({_CPU})",
    memory=f"100 * avg_over_time({_MEMORY})",
    cpu_spread=f"100 * stddev_over_time({_CPU})",
    memory_spread=f"100 * stddev_over_time({_MEMORY})",
    measured=f"{_NEWEST} or {_NEWEST_OF_SILENT}",
)
"""What is asked unless the policy says otherwise. A node whose exporter is silent keeps its averages for a while; the
time of its newest sample gives it away."""


class Series(msgspec.Struct, frozen=True):
    """One row of an answer."""

    metric: dict[str, str]
    value: tuple[float, str]
    """When it was worked out, by Prometheus' own clock, and the number."""


class ResultType(msgspec.Struct, frozen=True):
    """Of which kind the result is."""

    result_type: str = msgspec.field(name="resultType")
    result: msgspec.Raw


class QueryAnswer(msgspec.Struct, frozen=True):
    """A successful answer."""

    data: ResultType


class Vector(NamedTuple):
    """The numbers of one figure by what Prometheus calls the node."""

    at: float | None
    """When they were worked out, by Prometheus' own clock; None where there are none."""
    numbers: dict[str, float]


_ANSWER = msgspec.json.Decoder(QueryAnswer)
_SERIES = msgspec.json.Decoder(list[Series])


class Prometheus:
    """A Prometheus, or what speaks its language, at an address."""

    def __init__(self, source: MetricsSource, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._timeout_seconds = source.timeout
        self._instance = source.instance_label
        self._queries = in_force(source.queries)
        self.label = f"prometheus {endpoint.address}"

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        """One query a figure and period, and one for the newest samples."""
        questions = self._questions(periods)
        taken = self._clock.now()
        bodies = await answers_to({key: self._ask(key, query) for key, query in questions.items()})
        return await asyncio.to_thread(self._put_together, taken, targets, bodies)

    async def close(self) -> None:
        await self._endpoint.close()

    def _questions(self, periods: Sequence[str]) -> dict[Asked, str]:
        """By figure and period; the newest samples under no period."""
        queries = self._queries
        figures = {
            CPU: queries.cpu,
            MEMORY: queries.memory,
            CPU_SPREAD: queries.cpu_spread,
            MEMORY_SPREAD: queries.memory_spread,
        }
        found = {
            (figure, period): spelled(query, period, self._instance)
            for period in periods
            for figure, query in figures.items()
            if query
        }
        if queries.measured:
            found[NEWEST] = spelled(queries.measured, "", self._instance)
        return found

    async def _ask(self, key: Asked, query: str) -> bytes:
        form = urlencode({"query": query, "timeout": f"{max(1, round(1e3 * self._timeout_seconds))}ms"}).encode()
        try:
            return await self._endpoint.post(PATH, form, FORM, self._timeout_seconds)
        except SourceError as error:
            raise SourceError(f"{' '.join(filter(None, key))}: {error}", error.asked_seconds) from error

    def _put_together(
        self, taken: float, targets: Sequence[NodeTarget], bodies: Mapping[Asked, bytes]
    ) -> CollectedUsage:
        found = {key: parse_vector(" ".join(key).strip(), body, self._instance) for key, body in bodies.items()}
        newest = found.pop(NEWEST, None)
        if newest is None:
            measured = {name: taken for vector in found.values() for name in vector.numbers}
        else:
            # By Prometheus' own clock both times, so it does not matter how that differs from ours.
            offset = taken - (newest.at or taken)
            measured = {name: at + offset for name, at in newest.numbers.items()}
        return collect(taken, targets, measured, {key: vector.numbers for key, vector in found.items()})


def in_force(asked: Queries) -> Queries:
    """What is asked, with the defaults for what the policy does not say.

    The newest samples of node_exporter say nothing of the samples that other queries rest on; spreads without their
    averages are of no use.
    """
    return Queries(
        cpu=asked.cpu or DEFAULTS.cpu,
        memory=asked.memory or DEFAULTS.memory,
        cpu_spread=asked.cpu_spread or ("" if asked.cpu else DEFAULTS.cpu_spread),
        memory_spread=asked.memory_spread or ("" if asked.memory else DEFAULTS.memory_spread),
        measured=asked.measured or ("" if asked.cpu or asked.memory else DEFAULTS.measured),
    )


def spelled(query: str, period: str, instance: str) -> str:
    """A query with its period, in seconds as Prometheus reads them, and the label of nodes."""
    seconds = period_seconds(period) or 0.0
    return query.replace("{period}", f"{max(1, round(seconds))}s").replace("{instance}", instance)


def parse_vector(figure: str, body: bytes, instance: str) -> Vector:
    """The numbers of an answer; where several are of one node the largest counts. Raises SourceError."""
    try:
        data = _ANSWER.decode(body).data
        if data.result_type != "vector":
            raise SourceError(words.no_vector(figure, one_line(data.result_type)))
        series = _SERIES.decode(data.result)
    except UNREADABLE as error:
        raise misread(figure, error, body) from error
    numbers: dict[str, float] = {}
    at: float | None = None
    for one in series:
        name = one.metric.get(instance)
        if name is None:
            labels = ", ".join(sorted(one.metric)) or words.NO_LABEL
            labels = one_line(labels)
            raise SourceError(words.series_without_label(figure, instance, labels))
        at, number = one.value[0], _number(one.value[1])
        known = numbers.get(name, nan)
        numbers[name] = known if known >= number or isnan(number) else number
    return Vector(at, numbers)


def _number(text: str) -> float:
    """What a text stands for, NaN where it is no number."""
    try:
        return float(text)
    except ValueError:
        return nan

"""What queues held in the past week, from the metrics that vsched and Volcano have in Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec
import numpy as np

from vsched.collectors import words
from vsched.collectors.endpoint import Endpoint, misread
from vsched.collectors.prometheus import FORM
from vsched.collectors.source import SourceError, answers_to
from vsched.errors import UNREADABLE
from vsched.model.history.records import CLUSTER, HOUR_SECONDS, WEEK_HOURS, Holder, Sums, UsageHistory

PATH = "/api/v1/query_range"
RESOURCE = "resource"
QUESTIONS = {
    "cpu": "max by (queue_name) (volcano_queue_allocated_milli_cpu)",
    "memory": "max by (queue_name) (volcano_queue_allocated_memory_bytes)",
    RESOURCE: "max by (queue_name, resource) (volcano_queue_allocated_scalar_resources)",
}
"""What queues held at one time, in base units. Daemons that follow one another show the same."""
_MINUTES = 60


class _Series(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: list[_Series]


class _Answer(msgspec.Struct, frozen=True):
    data: _Result


_ANSWER = msgspec.json.Decoder(_Answer)


class Amount(NamedTuple):
    """What a queue held of a resource during one hour, on average."""

    queue: str
    resource: str
    end: float
    """When the hour ended, seconds since the epoch."""
    held: float
    """In base units."""


def hourly(question: str) -> str:
    """The average over the hour before, where minutes without a sample count as nothing held."""
    minutes = f"({question})[{_MINUTES}m:1m]"
    return f"avg_over_time({minutes}) * clamp_max(count_over_time({minutes}) / {_MINUTES}, 1)"


async def read_past(endpoint: Endpoint, now: float, timeout_seconds: float) -> list[Amount]:
    """What queues held in each whole hour of the last week; raises SourceError."""
    last = now // HOUR_SECONDS * HOUR_SECONDS
    first = last - (WEEK_HOURS - 2) * HOUR_SECONDS
    span = {"start": f"{first:.0f}", "end": f"{last:.0f}", "step": f"{HOUR_SECONDS:.0f}"}

    async def ask(question: str) -> bytes:
        form = {"query": hourly(question), **span, "timeout": f"{max(1, round(1e3 * timeout_seconds))}ms"}
        return await endpoint.post(PATH, urlencode(form).encode(), FORM, timeout_seconds)

    bodies = await answers_to({resource: ask(question) for resource, question in QUESTIONS.items()})
    return await asyncio.to_thread(lambda: [each for name, body in bodies.items() for each in parse_range(name, body)])


def parse_range(name: str, body: bytes) -> list[Amount]:
    """The amounts of one answer; ``name`` is that of the question. Raises SourceError."""
    try:
        data = _ANSWER.decode(body).data
        if data.result_type != "matrix":
            raise SourceError(words.no_range(name, data.result_type))
        return [
            Amount(series.metric["queue_name"], series.metric.get(RESOURCE, name), at, float(text))
            for series in data.result
            if series.metric.get("queue_name")
            for at, text in series.values
        ]
    except UNREADABLE as error:
        raise misread(name, error, body) from error


def past_history(
    amounts: Iterable[Amount], now: float, total: Mapping[str, int], inner: Collection[str]
) -> UsageHistory | None:
    """The history of what queues held, as far as it is known; None where nothing is.

    ``total`` is what the cluster has of each resource that counts: it is taken to have had the same all the time.
    ``inner`` are queues with queues below them, whose amounts are sums of those.
    """
    found = [each for each in amounts if each.resource in total and each.queue not in inner and isfinite(each.held)]
    if not found:
        return None
    ends = sorted({each.end for each in found})
    resources, queues = tuple(total), sorted({each.queue for each in found})
    columns = {name: place for place, name in enumerate(resources)}
    rows = {name: place for place, name in enumerate(queues, 1)}
    hours: Sums = np.zeros((len(ends), len(queues) + 1, len(resources)), np.float32)
    places = {end: place for place, end in enumerate(ends)}
    for each in found:
        hours[places[each.end], rows[each.queue], columns[each.resource]] = max(0.0, each.held) * HOUR_SECONDS
    hours[:, 0] = np.array(list(total.values()), dtype=np.float64) * HOUR_SECONDS
    return UsageHistory(
        at=now,
        since=ends[0] - HOUR_SECONDS,
        resources=resources,
        holders=(CLUSTER, *map(Holder, queues)),
        present=np.zeros(hours.shape[1:]),
        ends=np.array(ends),
        lengths=np.full(len(ends), HOUR_SECONDS),
        hours=hours,
    )

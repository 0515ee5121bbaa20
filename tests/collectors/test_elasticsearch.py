"""Node usage from Elasticsearch, old and new: what is known, what is unknown, and what is an error."""

from __future__ import annotations

import time
from typing import Any

import orjson
import pytest

from tests.collectors.asking import collected, problem, targets
from tests.support.answering import Reply, answering, content
from tests.support.elastic import Elastic
from vsched.collectors import words
from vsched.collectors.source import CollectedUsage, NodeTarget
from vsched.settings.metrics import ElasticsearchSettings, MetricsSource, Queries


def metricbeat(
    elastic: Elastic, host: str, cpu: float | None, memory: float | None, field: str = "host.hostname"
) -> None:
    """Ten minutes of documents, processors and memory apart as Metricbeat has them; the older half counts double."""
    for ago in range(5, 600, 30):
        part = 2.0 if ago > 300 else 1.0
        for name, value in (("cpu", cpu), ("memory", memory)):
            elastic.add("metricbeat-7", host, ago, field, **{name: None if value is None else part * value})


async def read(elastic: Elastic, *names: str, periods: tuple[str, ...] = ("5m",), **more: Any) -> CollectedUsage:
    async with answering() as server:
        elastic.serve(server)
        settings = MetricsSource(type="elasticsearch", address=server.url, **more)
        return await collected(settings, targets(*names), periods)


@pytest.mark.parametrize("version", [1, 8])
async def test_averages_spreads_and_times_of_all_nodes(version: int) -> None:
    elastic, began = Elastic(version), time.time()
    metricbeat(elastic, "n1", 0.2, 0.4)
    metricbeat(elastic, "n2", 0.3, None)
    metricbeat(elastic, "n3", None, None)
    elastic.add("metricbeat-7", "n4", 900.0, cpu=0.5)
    found = (await read(elastic, "n1", "n2", "n3", "n4", periods=("5m", "10m"))).reading
    assert sorted(found.nodes) == ["n1", "n2"]
    n1, n2 = found.nodes["n1"], found.nodes["n2"]
    assert n1.cpu["5m"].average == pytest.approx(20.0)
    assert n1.cpu["5m"].spread == pytest.approx(0.0, abs=1e-6)
    assert n1.cpu["10m"].average == pytest.approx(30.0)
    assert n1.cpu["10m"].spread == pytest.approx(10.0)
    assert n1.memory["5m"].average == pytest.approx(40.0)
    assert (n2.cpu["5m"].average, n2.memory) == (pytest.approx(30.0), {})
    assert began - 6 <= n1.measured <= time.time() - 4


async def test_fields_index_and_host_of_ones_own() -> None:
    elastic = Elastic()
    elastic.add("mine", "host-of-n1", 10.0, "agent.name", load=0.25, used=0.5)
    async with answering() as server:
        elastic.serve(server)
        settings = MetricsSource(
            type="elasticsearch",
            address=server.url,
            queries=Queries(cpu="load", memory="used"),
            elasticsearch=ElasticsearchSettings(index="mine", hostname_field="agent.name"),
        )
        found = await collected(settings, [NodeTarget("n1", "host-of-n1")])
    assert found.reading.nodes["n1"].cpu["5m"].average == 25.0
    assert found.reading.nodes["n1"].memory["5m"].average == 50.0


async def test_only_where_no_node_is_known_is_it_asked_whom_it_knows() -> None:
    elastic = Elastic()
    for host in ("n1.example.com", "n2.example.com"):
        metricbeat(elastic, host, 0.2, 0.4)
    assert (await read(elastic, "n1", "n2")).strangers == ("n1.example.com", "n2.example.com")
    metricbeat(elastic, "n1", 0.2, 0.4)
    found = await read(elastic, "n1", "n2")
    assert (list(found.reading.nodes), found.strangers) == (["n1"], ())


async def test_more_nodes_than_buckets_are_asked_about_in_portions() -> None:
    elastic = Elastic()
    names = [f"n{number}" for number in range(12_000)]
    for name in names:
        elastic.add("metricbeat-7", name, 5.0, cpu=0.5)
    async with answering() as server:
        elastic.serve(server)
        found = await collected(MetricsSource(type="elasticsearch", address=server.url), targets(*names))
        sizes = [orjson.loads(one.body)["aggs"]["hosts"]["terms"]["size"] for one in server.asked]
    assert sorted(sizes) == [2000, 5000, 5000]
    assert len(found.reading.nodes) == 12_000


async def test_an_index_that_is_not_there() -> None:
    async with answering() as server:
        Elastic().serve(server)
        wild = MetricsSource(type="elasticsearch", address=server.url)
        assert await problem(wild) == words.no_such_index("metricbeat-*")
        named = MetricsSource(type="elasticsearch", address=server.url, elasticsearch=ElasticsearchSettings(index="a"))
        assert (await problem(named)).endswith("/a/_search: 404: no such index [a]")


SHARDS = {"total": 2, "successful": 0, "failed": 2}
REFUSALS = {
    "nobody knows us": (content({"error": "missing authentication credentials"}, 401), "401: missing authentication"),
    "it is overloaded": (content(b"", 503), "503: Service Unavailable"),
    "it ran out of time": (content({"timed_out": True}), words.search_out_of_time("metricbeat-*")),
    "all shards failed": (content({"_shards": SHARDS}), words.all_shards_failed("metricbeat-*", 2)),
    "buckets of numbers": (
        content({"aggregations": {"hosts": {"buckets": [{"key": 7}]}}}),
        "metricbeat-*: must be a string, is an integer - at `$.aggregations.hosts.buckets[0].key`",
    ),
}


@pytest.mark.parametrize(("reply", "said"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_answers_that_cannot_be_used(reply: Reply, said: str) -> None:
    async with answering() as server:
        server.replies["*"] = reply
        assert said in await problem(MetricsSource(type="elasticsearch", address=server.url))

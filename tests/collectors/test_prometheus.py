"""Node usage from a real Prometheus, and what its answers come to."""

from __future__ import annotations

import base64
import time
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
from aiohttp import web

from tests.collectors.asking import collected, problem, targets
from tests.support.answering import answering, content
from tests.support.prometheus import prometheus, steady, swinging
from vsched.clock import FakeClock
from vsched.collectors import words as collectors_words
from vsched.collectors.prometheus import DEFAULTS, in_force, parse_vector, spelled
from vsched.collectors.source import NodeTarget, SourceError
from vsched.model import words as model_words
from vsched.model.nodes.usage import Reading
from vsched.settings.metrics import MetricsSource, Queries

pytestmark = pytest.mark.real_time

PASSWORD = "s3cret"
WEB_CONFIG = "basic_auth_users:\n  me: $2b$05$0xpG6d7eHMO9dlb6l6pZ0OUWsWrJCVFBFe17u1Qmzx499sfUWRYAC\n"


async def reading(address: str, *names: str, periods: tuple[str, ...] = ("5m",), **more: Any) -> Reading:
    return (await collected(MetricsSource(address=address, **more), targets(*names), periods)).reading


async def test_averages_spreads_and_times_of_all_nodes() -> None:
    nodes = {"n1": steady(30, 40), "n2": steady(75, 90), "n3": swinging(10, 90), "silent": steady(5, 5, until=200.0)}
    async with prometheus(nodes) as address:
        found = await reading(address, "n1", "n2", "n3", "silent", "n9", periods=("5m", "10m"))
    assert sorted(found.nodes) == ["n1", "n2", "n3", "silent"]
    for period in ("5m", "10m"):
        assert found.nodes["n1"].cpu[period].average == pytest.approx(30, abs=0.5)
        assert found.nodes["n1"].memory[period].average == pytest.approx(40, abs=0.5)
        assert found.nodes["n2"].cpu[period].average == pytest.approx(75, abs=0.5)
        assert found.nodes["n2"].memory[period].average == pytest.approx(90, abs=0.5)
        assert found.nodes["n1"].cpu[period].spread == pytest.approx(0, abs=0.5)
        assert found.nodes["n3"].cpu[period].average == pytest.approx(50, abs=15)
        assert found.nodes["n3"].cpu[period].spread == pytest.approx(40, abs=5)
    now = time.time()
    assert 0 <= now - found.nodes["n1"].measured < 25
    assert 195 < now - found.nodes["silent"].measured < 260


async def test_a_clock_that_is_not_prometheus_own_does_not_matter() -> None:
    clock = FakeClock(1_000_000.0)
    async with prometheus({"n1": steady(30)}) as address:
        found = await collected(MetricsSource(address=address), targets("n1"), clock=clock)
    assert 0 <= 1_000_000.0 - found.reading.nodes["n1"].measured < 25


async def test_an_instance_is_a_node_by_name_with_a_port_or_by_a_label() -> None:
    nodes = {"n1:9100": steady(30), "host-of-n2": steady(60), "[fd00::3]:9100": steady(20), "other": steady(1)}
    known = [NodeTarget("n1"), NodeTarget("n2", "host-of-n2"), NodeTarget("n3", "fd00::3")]
    async with prometheus(nodes, label="kubernetes_node") as address:
        settings = MetricsSource(address=address, instance_label="kubernetes_node")
        found = await collected(settings, known)
        wrong = await problem(MetricsSource(address=address))
    averages = {name: round(usage.cpu["5m"].average) for name, usage in found.reading.nodes.items()}
    assert averages == {"n1": 30, "n2": 60, "n3": 20}
    assert found.strangers == ("other",)
    assert wrong == collectors_words.series_without_label("cpu 5m", "instance", collectors_words.NO_LABEL)


async def test_queries_of_ones_own() -> None:
    queries = Queries(cpu="100 - 100 * node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes")
    async with prometheus({"n1": steady(30, 40)}) as address:
        found = await reading(address, "n1", queries=queries)
        rows = await problem(MetricsSource(address=address, queries=Queries(cpu="sum(node_memory_MemTotal_bytes)")))
        number = await problem(MetricsSource(address=address, queries=Queries(memory="1")))
        broken = await problem(MetricsSource(address=address, queries=Queries(cpu_spread="stddev(")))
    usage = found.nodes["n1"]
    assert usage.cpu["5m"].average == pytest.approx(40, abs=0.5)
    assert usage.cpu["5m"].spread == 0.0
    assert usage.memory["5m"].average == pytest.approx(40, abs=0.5)
    assert usage.measured == found.taken
    assert rows == collectors_words.series_without_label("cpu 5m", "instance", collectors_words.NO_LABEL)
    assert number == collectors_words.no_vector("memory 5m", "scalar")
    assert broken.startswith("cpuSpread 5m: http://127.0.0.1:")
    assert "400: invalid parameter" in broken


async def test_a_name_and_a_password() -> None:
    known = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    async with prometheus({"n1": steady(30)}, web_config=WEB_CONFIG, authorization=known) as address:
        login = {"basicauth": True, "username": "me"}
        assert (await reading(address, "n1", password=PASSWORD, **login)).nodes
        host = address.removeprefix("http://")
        assert (await reading(f"http://me:{PASSWORD}@{host}", "n1")).nodes
        refused = await problem(MetricsSource(address=f"http://me:wr0ng@{host}"))
    assert "401: Unauthorized" in refused
    assert "wr0ng" not in refused


async def test_a_prometheus_without_samples_knows_no_node() -> None:
    async with prometheus({}) as address:
        found = await collected(MetricsSource(address=address), targets("n1", "n2"))
    assert (found.reading.nodes, found.strangers) == ({}, ())


def vector(*rows: tuple[dict[str, str], str], at: float = 1000.0) -> bytes:
    result = [{"metric": metric, "value": [at, value]} for metric, value in rows]
    return orjson.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})


def test_the_largest_of_several_series_of_a_node_counts() -> None:
    rows = [({"instance": "n1", "job": job}, value) for job, value in (("a", "NaN"), ("b", "40"), ("c", "30"))]
    assert parse_vector("cpu", vector(*rows), "instance").numbers == {"n1": 40.0}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b'{"status":"success"}', "cpu: Object missing required field `data`; the answer", id="no data"),
        pytest.param(
            b'{"data":',
            collectors_words.unreadable("cpu", model_words.INPUT_WAS_TRUNCATED, '{"data":'),
            id="half an answer",
        ),
        pytest.param(
            b'{"data":{"resultType":"matrix","result":[]}}',
            collectors_words.no_vector("cpu", "matrix"),
            id="a range instead of a moment",
        ),
    ],
)
def test_answers_that_cannot_be_used(body: bytes, text: str) -> None:
    with pytest.raises(SourceError) as failed:
        parse_vector("cpu", body, "instance")
    assert str(failed.value).startswith(text)


async def test_numbers_that_are_none_are_unknown() -> None:
    async def reply(request: web.Request, body: bytes) -> web.StreamResponse:
        query = parse_qs(body.decode())["query"][0]
        value = "NaN" if "irate" in query else "970" if "timestamp" in query else "+Inf"
        rows = [({"instance": "n1"}, value), ({"instance": "n2"}, "970" if "timestamp" in query else "12.5")]
        return web.Response(body=vector(*rows), content_type="application/json")

    async with answering() as server:
        server.replies["/api/v1/query"] = reply
        found = await collected(MetricsSource(address=server.url), targets("n1", "n2"), clock=FakeClock(5000.0))
    assert list(found.reading.nodes) == ["n2"]
    assert found.reading.nodes["n2"].measured == 4970.0


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        pytest.param(Queries(), DEFAULTS, id="nothing said is all the defaults"),
        pytest.param(
            Queries(cpu="x"),
            Queries("x", DEFAULTS.memory, "", DEFAULTS.memory_spread, ""),
            id="an average of one's own has no spread and no newest sample by default",
        ),
        pytest.param(
            Queries(cpu="x", cpu_spread="y", measured="z"),
            Queries("x", DEFAULTS.memory, "y", DEFAULTS.memory_spread, "z"),
            id="all of one's own",
        ),
    ],
)
def test_which_queries_are_asked(asked: Queries, left: Queries) -> None:
    assert in_force(asked) == left


def test_a_period_is_spelled_in_seconds() -> None:
    assert spelled("rate(x{a='b'}[{period}]) by ({instance})", "90m", "node") == "rate(x{a='b'}[5400s]) by (node)"


async def test_a_round_for_five_thousand_nodes_is_a_request_a_figure() -> None:
    names = [f"node-{number:04}" for number in range(5000)]
    now = time.time()
    rows = [({"instance": f"{name}:9100"}, "63.21987654321") for name in names]
    numbers, times = vector(*rows, at=now), vector(*((metric, f"{now - 5}") for metric, _ in rows), at=now)

    async def reply(request: web.Request, body: bytes) -> web.StreamResponse:
        return web.Response(body=times if b"timestamp" in body else numbers, content_type="application/json")

    async with answering() as server:
        server.replies["/api/v1/query"] = reply
        known = targets(*names)
        found = await collected(MetricsSource(address=server.url), known)
        assert len(server.asked) == 5
    assert len(found.reading.nodes) == 5000


async def test_an_address_with_a_path() -> None:
    async with answering() as server:
        server.replies["/prometheus/api/v1/query"] = content(orjson.loads(vector()))
        found = await collected(MetricsSource(address=f"{server.url}/prometheus/"), targets("n1"))
    assert found.reading.nodes == {}

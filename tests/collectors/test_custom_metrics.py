"""Node usage from the Custom Metrics API of a cluster, as the Prometheus adapter serves it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.collectors.asking import collected, made, problem, targets
from tests.support.answering import Answering, answering, content
from vsched.clock import FakeClock
from vsched.collectors import words
from vsched.collectors.cluster_api import moment
from vsched.collectors.source import SourceError
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.model.nodes.usage import Figures
from vsched.settings.metrics import MetricsSource, Queries

GROUP = "/apis/custom.metrics.k8s.io"
SETTINGS = MetricsSource(type="prometheus_adaptor")
TIME, LATER = "2026-11-21T16:00:00Z", "2026-11-21T16:00:30Z"
NOW = moment(LATER) + 10


def group(*versions: str) -> dict[str, Any]:
    return {"kind": "APIGroup", "name": GROUP[6:], "versions": [{"version": version} for version in versions]}


def values(metric: str, version: str, *rows: tuple[str, str, str]) -> dict[str, Any]:
    named: dict[str, Any] = (
        {"metric": {"name": metric, "selector": None}} if version == "v1beta2" else {"metricName": metric}
    )
    items = [
        {
            "describedObject": {"kind": "Node", "name": name, "apiVersion": "/v1"},
            **named,
            "timestamp": at,
            "value": value,
        }
        for name, value, at in rows
    ]
    return {"kind": "MetricValueList", "apiVersion": f"custom.metrics.k8s.io/{version}", "metadata": {}, "items": items}


def serve(server: Answering, version: str, metric: str, *rows: tuple[str, str, str]) -> None:
    server.replies[f"{GROUP}/{version}/nodes/*/{metric}"] = content(values(metric, version, *rows))


@pytest.mark.parametrize(
    ("versions", "used"),
    [
        pytest.param(("v1beta1", "v1beta2"), "v1beta2", id="the newer of both"),
        pytest.param(("v1beta1",), "v1beta1", id="the older alone"),
    ],
)
async def test_fractions_become_percent_for_every_period(versions: tuple[str, ...], used: str) -> None:
    async with answering() as server:
        server.replies[GROUP] = content(group(*versions))
        serve(server, used, "node_cpu_usage_avg", ("n1", "300m", TIME), ("n2", "1", TIME), ("gone", "1m", TIME))
        serve(server, used, "node_memory_usage_avg", ("n1", "450m", LATER))
        found = await collected(
            SETTINGS, targets("n1", "n2", "n3"), ("5m", "1h"), cluster=server.url, clock=FakeClock(NOW)
        )
        assert [one.path for one in server.asked].count(GROUP) == 1
        assert len(server.asked) == 3
    nodes = found.reading.nodes
    assert sorted(nodes) == ["n1", "n2"]
    assert nodes["n1"].cpu == {"5m": Figures(30.0), "1h": Figures(30.0)}
    assert nodes["n1"].memory["5m"] == Figures(45.0)
    assert nodes["n2"].memory == {}
    # What is known worst decides how old it is.
    assert NOW - nodes["n1"].measured == 40.0
    assert found.strangers == ("gone",)


async def test_metrics_of_ones_own_with_a_period_in_their_names() -> None:
    queries = Queries(cpu="cpu_{period}", memory="mem", cpu_spread="cpu_dev")
    async with answering() as server:
        server.replies[GROUP] = content(group("v1beta2"))
        for metric, value in (("cpu_5m", "100m"), ("cpu_1h", "200m"), ("mem", "500m"), ("cpu_dev", "30m")):
            serve(server, "v1beta2", metric, ("n1", value, LATER))
        settings = MetricsSource(type="prometheus_adaptor", queries=queries)
        found = await collected(settings, targets("n1"), ("5m", "1h"), cluster=server.url, clock=FakeClock(NOW))
    assert found.reading.nodes["n1"].cpu == {"5m": Figures(10.0, 3.0), "1h": Figures(20.0, 3.0)}
    assert found.reading.nodes["n1"].memory["1h"] == Figures(50.0)


async def test_what_is_missing_is_told() -> None:
    async with answering() as server:
        server.replies["*"] = content({"kind": "Status", "message": "not found", "code": 404}, 404)
        nothing = await problem(SETTINGS, cluster=server.url)
        server.replies[GROUP] = content(group("v2"))
        newer = await problem(SETTINGS, cluster=server.url)
        server.replies[GROUP] = content(group("v1beta2"))
        unknown = await problem(SETTINGS, cluster=server.url)
        for metric in ("node_cpu_usage_avg", "node_memory_usage_avg"):
            server.replies[f"{GROUP}/v1beta2/nodes/*/{metric}"] = content({"items": [{"value": "1"}]})
        wrong = await problem(SETTINGS, cluster=server.url)
        server.replies[GROUP] = content({"kind": "Status", "message": "not you", "code": 403}, 403)
        forbidden = await problem(SETTINGS, cluster=server.url)
    assert nothing.endswith(
        "serves no custom.metrics.k8s.io: is the Prometheus adapter installed, and its APIService available?"
    )
    assert newer == words.served_as_other_version("custom.metrics.k8s.io", "v2", "v1beta2 or v1beta1")
    assert "_usage_avg: not found" in unknown
    assert "Object missing required field `describedObject`" in wrong
    assert forbidden.endswith("403: not you")


async def test_an_adapter_that_comes_back_in_another_version() -> None:
    async with answering() as server, ApiClient(Connection(server.url)) as client:
        source = made(SETTINGS, client, FakeClock(NOW))
        for version in ("v1beta1", "v1beta2"):
            server.replies[GROUP] = content(group(version))
            for metric in ("node_cpu_usage_avg", "node_memory_usage_avg"):
                serve(server, version, metric, ("n1", "300m", LATER))
            if version == "v1beta2":
                for path in [path for path in server.replies if "v1beta1" in path]:
                    del server.replies[path]
                with pytest.raises(SourceError):
                    await source.read(targets("n1"), ["5m"])
            assert list((await source.read(targets("n1"), ["5m"])).reading.nodes) == ["n1"]

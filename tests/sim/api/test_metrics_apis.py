"""The metrics APIs of the embedded cluster: discovery, figures in the forms of both groups, and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import aiohttp
import pytest

from tests.sim.api_client import Api
from tests.support.waiting import until_answered
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, UsageSettings

Obj = dict[str, Any]
CUSTOM, METRICS = "/apis/custom.metrics.k8s.io", "/apis/metrics.k8s.io/v1beta1"
USAGE = UsageSettings(low=0.5, high=0.5, window_seconds=0.2)


def pod(name: str, node: str, **labels: str) -> Obj:
    resources = {"requests": {"cpu": "8", "memory": "32Gi"}}
    containers = [{"name": name, "image": "i", "resources": resources} for name in ("main", "side")]
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": containers},
    }


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """Three nodes, the first with a load of 8 cores and 32Gi."""
    settings = ClusterSettings(controllers=ControllerSettings(usage=USAGE))
    async with Cluster(3, settings=settings) as cluster, aiohttp.ClientSession(cluster.url) as session:
        cluster.client.create("pods", pod("a", "node-0", app="web"))
        cluster.client.create("pods", pod("waits", ""))
        api = Api(session)

        async def measured() -> bool:
            found = await api.get(f"{CUSTOM}/v1beta2/nodes/node-0/node_cpu_usage_avg")
            return bool(found.body["items"][0]["value"] == "250m")

        await until_answered(measured)
        yield api


async def test_both_groups_are_discovered(api: Api) -> None:
    groups = {group["name"]: group for group in (await api.get("/apis")).body["groups"]}
    assert [each["version"] for each in groups["custom.metrics.k8s.io"]["versions"]] == ["v1beta2", "v1beta1"]
    assert groups["metrics.k8s.io"]["preferredVersion"]["version"] == "v1beta1"
    for version in ("v1beta2", "v1beta1"):
        listed = (await api.get(f"{CUSTOM}/{version}")).body["resources"]
        assert [row["name"] for row in listed] == [
            f"nodes/node_{resource}_usage_{figure}" for resource in ("cpu", "memory") for figure in ("avg", "stddev")
        ]
        assert {(row["kind"], *row["verbs"]) for row in listed} == {("MetricValueList", "get")}
    listed = (await api.get(METRICS)).body["resources"]
    assert [(row["name"], row["kind"], row["verbs"]) for row in listed] == [
        ("nodes", "NodeMetrics", ["get", "list"]),
        ("pods", "PodMetrics", ["get", "list"]),
    ]


async def test_without_usage_nobody_serves_them() -> None:
    async with Cluster(1) as cluster, aiohttp.ClientSession(cluster.url) as session:
        api = Api(session)
        names = {group["name"] for group in (await api.get("/apis")).body["groups"]}
        assert not names & {"metrics.k8s.io", "custom.metrics.k8s.io"}
        assert (await api.get(f"{METRICS}/nodes")).code == 404


async def test_all_nodes_in_one_answer(api: Api) -> None:
    reply = await api.get(f"{CUSTOM}/v1beta2/nodes/*/node_cpu_usage_avg?labelSelector=")
    assert reply.body["kind"] == "MetricValueList"
    assert reply.body["apiVersion"] == "custom.metrics.k8s.io/v1beta2"
    first = reply.body["items"][0]
    assert datetime.fromisoformat(first.pop("timestamp")).tzinfo is not None
    assert first == {
        "describedObject": {"kind": "Node", "name": "node-0", "apiVersion": "/v1"},
        "metric": {"name": "node_cpu_usage_avg", "selector": None},
        "value": "250m",
    }
    assert [item["describedObject"]["name"] for item in reply.body["items"]] == ["node-0", "node-1", "node-2"]
    assert reply.body["items"][1]["value"] == "0"


async def test_the_older_version_names_the_metric_in_its_own_way(api: Api) -> None:
    reply = await api.get(f"{CUSTOM}/v1beta1/nodes/%2A/node_memory_usage_avg")
    first = reply.body["items"][0]
    assert (first["metricName"], first["value"]) == ("node_memory_usage_avg", "250m")
    assert "metric" not in first


async def test_selectors_choose_nodes(api: Api) -> None:
    for path in (f"{CUSTOM}/v1beta2/nodes/*/node_cpu_usage_avg", f"{METRICS}/nodes"):
        reply = await api.get(f"{path}?labelSelector=kubernetes.io/hostname%3Dnode-1&limit=1")
        assert len(reply.body["items"]) == 1
    assert len((await api.get(f"{METRICS}/nodes?limit=1")).body["items"]) == 3


async def test_nodes_as_metrics_server_tells_them(api: Api) -> None:
    reply = await api.get(f"{METRICS}/nodes/node-0")
    assert (reply.body["kind"], reply.body["metadata"]["name"]) == ("NodeMetrics", "node-0")
    assert reply.body["window"] == "15s"
    listed = (await api.get(f"{METRICS}/nodes")).body
    assert listed["kind"] == "NodeMetricsList"
    used = {item["metadata"]["name"]: item["usage"] for item in listed["items"]}
    assert used["node-1"] == {"cpu": "0", "memory": "0Ki"}
    assert used["node-0"]["memory"].endswith("Ki")
    assert 0 < int(used["node-0"]["memory"][:-2]) <= 32 << 20


async def test_pods_that_run_as_metrics_server_tells_them(api: Api) -> None:
    for path in ("pods", "namespaces/default/pods", "pods?labelSelector=app%3Dweb"):
        assert (await api.get(f"{METRICS}/{path}")).names() == ["a"]
    found = (await api.get(f"{METRICS}/namespaces/default/pods/a")).body
    assert [container["name"] for container in found["containers"]] == ["main", "side"]
    assert found["containers"][0]["usage"] == found["containers"][1]["usage"]
    assert (await api.get(f"{METRICS}/pods?labelSelector=app%3Ddb")).body["items"] == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(f"{CUSTOM}/v1beta2/nodes/*/load", "could not find the metric load for nodes", id="no such metric"),
        pytest.param(
            f"{CUSTOM}/v1beta2/namespaces/default/pods/*/node_cpu_usage_avg",
            "could not find the metric node_cpu_usage_avg for pods",
            id="a metric of nodes asked of pods",
        ),
        pytest.param(f"{CUSTOM}/v1beta2/nodes/n/node_cpu_usage_avg", 'nodes "n" not found', id="no such node"),
        pytest.param(f"{CUSTOM}/v1beta2/nodes/node-0", "could not find the requested resource", id="no metric at all"),
        pytest.param(f"{CUSTOM}/v1/nodes/*/load", "could not find the requested resource", id="no such version"),
        pytest.param(f"{METRICS}/nodes/n", 'nodes "n" not found', id="figures of no such node"),
        pytest.param(f"{METRICS}/namespaces/default/pods/waits", "not found", id="figures of a pod that does not run"),
        pytest.param(f"{METRICS}/namespaces/default/nodes", "could not find the requested", id="nodes in a namespace"),
        pytest.param(f"{METRICS}/services", "could not find the requested resource", id="no such resource"),
    ],
)
async def test_what_is_not_there_is_a_404(api: Api, path: str, message: str) -> None:
    reply = await api.get(path)
    assert (reply.code, reply.reason) == (404, "NotFound")
    assert message in reply.message


async def test_figures_are_only_read(api: Api) -> None:
    assert (await api.delete(f"{METRICS}/nodes/node-0")).code == 405


async def test_a_namespace_with_figures_can_be_deleted(api: Api) -> None:
    await api.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "brief"}})
    await api.delete("/api/v1/namespaces/brief")

    async def gone() -> bool:
        return (await api.get("/api/v1/namespaces/brief")).code == 404

    await until_answered(gone)

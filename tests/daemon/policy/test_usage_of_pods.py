"""Load follows placement, and placement follows load: the daemon with figures from the embedded cluster's own APIs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes, UsageSettings

Obj = dict[str, Any]
SETTINGS = ClusterSettings(
    controllers=ControllerSettings(
        pods=PodTimes(termination=0.0), usage=UsageSettings(low=0.1, high=0.1, window_seconds=0.4)
    )
)
POLICY = """
actions: "enqueue, allocate, backfill, shuffle"
tiers:
- plugins:
  - name: gang
  - name: usage
    arguments: {usage.period: 1s, thresholds: {cpu: 60}}
  - name: rescheduling
    arguments:
      interval: 1s
      metricsPeriod: 1s
      strategies:
      - name: lowNodeUtilization
        params: {thresholds: {cpu: 40}, targetThresholds: {cpu: 60}}
- plugins:
  - name: predicates
metrics: {type: SOURCE, interval: 200ms}
"""


def replica_set(cpu: str, usage: str, replicas: int) -> Obj:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"vsched.io/cpu-usage": usage}},
        "spec": {"schedulerName": "vsched", "containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """Two nodes, of which the one that comes first by name is busy with what is no pod."""
    busy = node("busy", cpu="10")
    busy["metadata"]["annotations"] = {"vsched.io/cpu-usage": "90%"}
    async with Cluster([busy, node("idle", cpu="10")], settings=SETTINGS) as running:
        yield running


def known(daemon: Daemon) -> object:
    """How many nodes there are figures of."""
    nodes = daemon.usage.to_dict().get("nodes")
    return nodes["known"] if isinstance(nodes, dict) else None


def written(folder: Path, source: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(POLICY.replace("SOURCE", source))
    return path


@pytest.mark.parametrize("source", ["prometheus_adaptor", "metrics_server"])
async def test_pods_stay_off_a_node_that_is_busy(cluster: Cluster, tmp_path: Path, source: str) -> None:
    async with scheduling(cluster.url, policy_file=written(tmp_path, source)) as daemon:
        await until(lambda: known(daemon) == 2)
        cluster.apply(gang("g", 3))
        await until(lambda: len(nodes_of(cluster, "g-")) == 3)
    assert set(nodes_of(cluster, "g-").values()) == {"idle"}


async def test_pods_leave_a_node_that_gets_too_busy(cluster: Cluster, tmp_path: Path) -> None:
    """Quiet by what they ask for, they turn out to work hard: one after the other goes where there is room."""
    cluster.client.patch("nodes", "", "busy", _without_load)
    cluster.client.patch("nodes", "", "idle", lambda found: {**found, "spec": {"unschedulable": True}})
    async with scheduling(cluster.url, policy_file=written(tmp_path, "prometheus_adaptor")):
        cluster.apply([replica_set("1", "250%", 4)])
        await until(lambda: len(nodes_of(cluster, "web-")) == 4)
        assert set(nodes_of(cluster, "web-").values()) == {"busy"}
        cluster.client.patch("nodes", "", "idle", lambda found: {**found, "spec": {}})
        await until(lambda: sorted(nodes_of(cluster, "web-").values()) == ["busy", "busy", "idle", "idle"])


def _without_load(found: Obj) -> Obj:
    return {**found, "metadata": {**found["metadata"], "annotations": {}}}

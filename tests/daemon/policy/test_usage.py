"""The daemon collects what nodes use, tells how that is going, and is not disturbed when it goes wrong."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from structlog.testing import capture_logs

from tests.support.answering import Reply, answering, content, endless, hang_up, silence
from tests.support.prometheus import prometheus, steady
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.model.nodes.usage import UsageTable
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, UsageSettings

NODES = [node("n1", cpu="64"), node("n2", cpu="64")]
POLICY = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
"""
QUERY = "/api/v1/query"


def write(path: Path, metrics: str = "") -> Path:
    """A policy file with this block of metrics."""
    path.write_text(POLICY + metrics, encoding="utf-8")
    return path


def block(address: str, interval: str = "50ms", more: str = "") -> str:
    return f"metrics: {{address: '{address}', interval: {interval}, timeout: 500ms{more}}}\n"


def usage_of(daemon: Daemon) -> UsageTable | None:
    """What the next session would see."""
    return daemon.mirror.snapshot(time.time()).nodes.usage


def averages(daemon: Daemon, period: str = "5m") -> list[float]:
    usage = usage_of(daemon)
    return [] if usage is None or period not in usage.cpu else [round(one, 0) for one in usage.cpu[period].average]


def rounds(daemon: Daemon) -> float:
    """How often the source was asked."""
    return sum(daemon.usage.numbers().get("vsched_usage_rounds_total", {}).values())


@asynccontextmanager
async def at_work(tmp_path: Path, metrics: str) -> AsyncIterator[tuple[Cluster, Daemon, Path]]:
    path = write(tmp_path / "policy.yaml", metrics)
    async with Cluster(NODES) as cluster, scheduling(cluster.url, policy_file=path) as daemon:
        yield cluster, daemon, path


@pytest.mark.real_time
async def test_figures_of_prometheus_reach_the_sessions(tmp_path: Path) -> None:
    async with (
        prometheus({"n1:9100": steady(30, 40), "n2:9100": steady(75, 90)}) as address,
        at_work(tmp_path, block(address)) as (_, daemon, _),
    ):
        await until(lambda: averages(daemon) == [30.0, 75.0])
        details = daemon.health.ready().details["usage"]
        assert (details["state"], details["nodes"]) == ("good", {"known": 2, "stale": 0, "unknown": 0})
        assert details["source"] == f"prometheus {address}"


@pytest.mark.parametrize(
    "metrics",
    [
        pytest.param("{type: prometheus_adaptor, interval: 50ms}", id="the custom metrics API"),
        pytest.param(
            "{type: prometheus_adaptor, interval: 50ms, queries: {cpuSpread: node_cpu_usage_stddev}}",
            id="the custom metrics API with spreads",
        ),
        pytest.param("{type: metrics_server, interval: 50ms}", id="the metrics server"),
    ],
)
async def test_figures_of_the_cluster_itself_follow_its_pods(tmp_path: Path, metrics: str) -> None:
    path = write(tmp_path / "policy.yaml", f"metrics: {metrics}\n")
    machines = ClusterSettings(ControllerSettings(usage=UsageSettings(low=0.5, high=0.5, window_seconds=0.2)))
    async with Cluster(NODES, settings=machines) as cluster, scheduling(cluster.url, policy_file=path) as daemon:
        await until(lambda: averages(daemon) == [0.0, 0.0])
        cluster.apply(gang("g", 1, cpu="64"))
        await until(lambda: max(averages(daemon)) > 5.0)
        [name] = nodes_of(cluster, "g-").values()
        assert averages(daemon).index(max(averages(daemon))) == NODES.index(node(name, cpu="64"))


@pytest.mark.real_time
async def test_metrics_tell_how_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    async with prometheus({"n1": steady(30)}) as address, Cluster(NODES) as cluster:
        write(path, block(address))
        async with (
            scheduling(cluster.url, policy_file=path, listen_address="127.0.0.1:0") as daemon,
            aiohttp.ClientSession() as session,
        ):
            await until(lambda: averages(daemon))
            url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/metrics"
            async with session.get(url) as answer:
                text = await answer.text()
    assert 'vsched_usage_nodes{name="known"} 1.0' in text
    assert 'vsched_usage_nodes{name="unknown"} 1.0' in text
    assert f'vsched_usage_age_seconds{{name="prometheus {address}"}}' in text
    assert 'vsched_usage_rounds_total{name="success"}' in text


@pytest.mark.real_time
async def test_a_new_source_is_taken_up_with_the_policy_and_given_up_with_it(tmp_path: Path) -> None:
    async with (
        prometheus({"n1": steady(30), "n2": steady(75)}) as first,
        prometheus({"n1": steady(60), "n2": steady(10)}) as second,
        at_work(tmp_path, block(first)) as (_, daemon, path),
    ):
        await until(lambda: averages(daemon) == [30.0, 75.0])
        before = rounds(daemon)
        write(path, block(second))
        daemon.policy.nudge()
        await until(lambda: averages(daemon) == [60.0, 10.0])
        assert rounds(daemon) > before
        write(path)
        daemon.policy.nudge()
        await until(lambda: usage_of(daemon) is None)
        assert "usage" not in daemon.health.ready().details
        assert daemon.usage.numbers() == {}
        write(path, block(first))
        daemon.policy.nudge()
        await until(lambda: averages(daemon) == [30.0, 75.0])


@pytest.mark.real_time
async def test_nodes_are_known_under_a_label_of_theirs(tmp_path: Path) -> None:
    labelled = node("n1")
    labelled["metadata"]["labels"] = {"example.com/host": "rack-7"}
    path = write(tmp_path / "policy.yaml")
    async with prometheus({"rack-7:9100": steady(30)}) as address, Cluster([labelled]) as cluster:
        write(path, block(address, more=", nodeLabel: example.com/host"))
        async with scheduling(cluster.url, policy_file=path) as daemon:
            await until(lambda: averages(daemon) == [30.0])


async def test_a_source_that_goes_and_comes_back_is_a_line_each(tmp_path: Path) -> None:
    good = content({"data": {"resultType": "vector", "result": []}})
    with capture_logs() as lines:
        async with answering() as server:
            server.replies[QUERY] = good
            async with at_work(tmp_path, block(server.url, interval="10ms")) as (_, daemon, _):
                for reply, state in ((good, "blind"), (hang_up, "failing"), (good, "blind")):
                    server.replies[QUERY] = reply
                    await until(lambda state=state: daemon.usage.to_dict().get("state") == state)
                    asked = len(server.asked)
                    await until(lambda asked=asked: len(server.asked) > asked + 3)
    told = [line["state"] for line in lines if line["event"] == "node usage"]
    assert told == ["blind", "failing", "blind"]


FAULTS: dict[str, Reply] = {
    "stays silent": silence,
    "hangs up": hang_up,
    "answers with a web page": content(b"<html>", 200, "text/html"),
    "answers with an error": content({"error": "no"}, 500),
    "answers without end": endless,
    "answers with NaN": content(
        {"data": {"resultType": "vector", "result": [{"metric": {"instance": "n1"}, "value": [1, "NaN"]}]}}
    ),
}


@pytest.mark.parametrize("reply", FAULTS.values(), ids=FAULTS.keys())
async def test_pods_are_bound_whatever_the_source_does(tmp_path: Path, reply: Reply) -> None:
    async with answering() as server, at_work(tmp_path, block(server.url)) as (cluster, daemon, _):
        server.replies[QUERY] = reply
        await until(lambda: rounds(daemon) >= 1)
        cluster.apply(gang("g", 4))
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)
        assert daemon.health.ready().ok
        assert daemon.health.ready().details["usage"]["nodes"]["known"] == 0
        usage = usage_of(daemon)
        assert usage is None or np.isnan(usage.measured).all()


async def test_a_source_that_is_not_there_at_the_start(tmp_path: Path) -> None:
    patient = block("http://127.0.0.1:1").replace("500ms", "30s")
    async with at_work(tmp_path, patient) as (cluster, daemon, _):
        cluster.apply(gang("g", 4))
        await until(lambda: len(nodes_of(cluster, "g-")) == 4)
        await until(lambda: daemon.usage.to_dict().get("state") == "failing")
        assert "Cannot connect" in str(daemon.usage.to_dict()["problem"])

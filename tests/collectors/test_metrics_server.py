"""Node usage from the metrics server, and averages over what it said before."""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collectors.asking import made, problem, targets
from tests.support.answering import Answering, answering, content
from vsched.clock import FakeClock
from vsched.collectors.history import MOST_ROUNDS, SampleHistory
from vsched.collectors.metrics_server import PATH
from vsched.collectors.source import NodeTarget
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.metrics import MetricsSource

SETTINGS = MetricsSource(type="metrics_server")
NOW = 1_795_276_800.0


def serve(server: Answering, at: float, **usage: tuple[str, str]) -> None:
    """What nodes use, as quantities of cpu and memory."""
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    items: list[dict[str, Any]] = [
        {"metadata": {"name": name}, "timestamp": stamp, "window": "20s", "usage": {"cpu": cpu, "memory": memory}}
        for name, (cpu, memory) in usage.items()
    ]
    server.replies[PATH] = content({"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": items})


async def test_amounts_become_percent_of_what_is_allocatable_and_averages_grow() -> None:
    clock = FakeClock(NOW)
    known = [*targets("n1", "n2"), NodeTarget("empty")]
    async with answering() as server, ApiClient(Connection(server.url)) as client:
        source = made(SETTINGS, client, clock)
        serve(server, NOW - 10, n1=("1000m", "4Gi"), n2=("2", "oops"), empty=("1", "1Gi"), gone=("1", "1Gi"))
        first = await source.read(known, ["1m", "5m"])
        clock.advance(90)
        serve(server, NOW + 80, n1=("3000000000n", "4194304Ki"))
        second = (await source.read(known, ["1m", "5m"])).reading.nodes["n1"]
    nodes = first.reading.nodes
    assert sorted(nodes) == ["n1", "n2"]
    assert (nodes["n1"].cpu["5m"].average, nodes["n1"].memory["1m"].average) == (25.0, 25.0)
    assert nodes["n1"].cpu["5m"].spread == 0.0
    assert (nodes["n2"].cpu["5m"].average, nodes["n2"].memory) == (50.0, {})
    assert nodes["n1"].measured == NOW - 10
    assert first.strangers == ("gone",)
    assert (second.cpu["5m"].average, second.cpu["5m"].spread) == (50.0, 25.0)
    assert (second.cpu["1m"].average, second.cpu["1m"].spread) == (75.0, 0.0)
    assert second.measured == NOW + 80


async def test_what_is_missing_is_told() -> None:
    async with answering() as server:
        assert (await problem(SETTINGS, cluster=server.url)).endswith(
            "serves no metrics.k8s.io: is the metrics server installed?"
        )
        server.replies[PATH] = content({"kind": "Status", "message": "the server is starting", "code": 503}, 503)
        assert (await problem(SETTINGS, cluster=server.url)).endswith("503: the server is starting")
        server.replies[PATH] = content({"items": 3})
        assert "metrics.k8s.io: must be a list, is an integer" in await problem(SETTINGS, cluster=server.url)


def add(history: SampleHistory, taken: float, **samples: tuple[float, float]) -> None:
    """One round: time and value by node."""
    times = np.array([at for at, _ in samples.values()])
    history.add(taken, list(samples), times, np.array([[value for _, value in samples.values()]]))


def test_a_sample_that_is_told_again_counts_once() -> None:
    history = SampleHistory(1, 300.0)
    add(history, 0.0, a=(-5.0, 10.0))
    add(history, 30.0, a=(-5.0, 10.0))
    add(history, 60.0, a=(55.0, 40.0))
    assert history.over(300.0, 60.0).average[0].tolist() == [25.0]


def test_nodes_come_and_go() -> None:
    history = SampleHistory(1, 300.0)
    add(history, 0.0, a=(0.0, 10.0), b=(0.0, 20.0))
    add(history, 30.0, b=(30.0, 40.0), c=(30.0, 50.0))
    assert dict(zip(history.names, history.over(300.0, 30.0).average[0].tolist(), strict=True)) == {
        "b": 30.0,
        "c": 50.0,
    }
    add(history, 60.0)
    add(history, 90.0, a=(90.0, 70.0))
    assert history.over(300.0, 90.0).average[0].tolist() == [70.0]


def test_a_long_period_keeps_few_rounds() -> None:
    history = SampleHistory(1, 86_400.0)
    for number in range(3 * MOST_ROUNDS):
        add(history, 30.0 * number, a=(30.0 * number, float(number % 2)))
    summary = history.over(86_400.0, 90.0 * MOST_ROUNDS)
    assert 0.0 <= summary.average[0][0] <= 1.0
    assert len(history._rounds) <= MOST_ROUNDS + 1


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.floats(31, 600))
def test_averages_and_spreads_are_those_of_the_samples_within_the_period(values: list[float], period: float) -> None:
    history = SampleHistory(1, 600.0)
    for number, value in enumerate(values):
        add(history, 30.0 * number, a=(30.0 * number, value))
    now = 30.0 * (len(values) - 1)
    within = [value for number, value in enumerate(values) if 30.0 * number > now - period]
    average, spread = history.over(period, now)
    assert average[0][0] == pytest.approx(fmean(within), abs=1e-9)
    assert spread[0][0] == pytest.approx(pstdev(within), abs=1e-6)

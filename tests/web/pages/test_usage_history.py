"""The resource-hours of a cluster over HTTP."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from tests.support.plans import manifests, mirror
from vsched.model.frozen import frozen_history
from vsched.web.pages.usage_history import usage_history_route
from vsched.web.serve.server import serving

NOW = 3_600_000.0
TEXT = """
    node n1 cpu=9 memory=10Gi
    job ns/train min=2 phase=Running
    pods ns/train 2 cpu=1 memory=1Gi on=n1
"""


async def ask(query: str) -> tuple[int, dict[str, Any]]:
    cache = mirror(manifests(TEXT))
    cache.snapshot(NOW)
    cache.snapshot(NOW + 1800)
    route = usage_history_route(lambda: frozen_history(cache.history.publish()))
    async with (
        serving([route], "127.0.0.1:0", "--listen-address") as port,
        aiohttp.request("GET", f"http://127.0.0.1:{port}/usage-history{query}") as answer,
    ):
        return answer.status, await answer.json()


async def test_it_has_what_each_holder_used_and_what_the_cluster_had() -> None:
    code, found = await ask("")
    assert code == 200
    assert (found["span_seconds"], found["counted_seconds"]) == (86_400, 1800)
    assert found["by"] == ["queue", "namespace", "user"]
    assert found["had"] == {"cpu": 4.5, "memory": 5.0}
    [row] = found["rows"]
    assert (row["queue"], row["namespace"], row["used"]) == ("default", "ns", {"cpu": 1.0, "memory": 1.0})
    assert row["share"] == pytest.approx(1 / 4.5, abs=1e-6)


async def test_a_span_and_what_it_is_grouped_by_can_be_chosen() -> None:
    _, found = await ask("?since=900&by=queue")
    assert (found["by"], found["counted_seconds"]) == (["queue"], 900)
    assert [(row["queue"], row["namespace"], row["used"]["cpu"]) for row in found["rows"]] == [("default", "", 0.5)]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        pytest.param("?since=0", "expected seconds above 0", id="no span"),
        pytest.param("?since=nan", "expected seconds above 0", id="no number"),
        pytest.param("?since=604801", "604800 (a week) at most", id="longer than a week"),
        pytest.param("?since=1h", "expected seconds", id="a unit"),
        pytest.param("?by=pod", "expected some of queue,namespace,user", id="a dimension that is none"),
    ],
)
async def test_what_cannot_be_answered_is_said(query: str, says: str) -> None:
    code, found = await ask(query)
    assert code == 400
    assert says in found["error"]

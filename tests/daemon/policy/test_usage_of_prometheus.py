"""Four nodes that a real Prometheus knows to be loaded differently, and where the daemon puts pods for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.prometheus import prometheus, steady, swinging
from tests.support.running import condition_of, gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

pytestmark = pytest.mark.real_time

LOADS = {"n1": steady(70), "n2": steady(30), "n3": swinging(20, 60), "n4": steady(95)}
"""n3 uses 40 % on average."""
POLICY = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: usage
    enablePredicate: {filters}
    arguments:
      thresholds: {{cpu: 80}}
metrics:
  address: {address}
  interval: 200ms
"""


@asynccontextmanager
async def at_work(tmp_path: Path, *, filters: bool = True, without: tuple[str, ...] = ()) -> AsyncIterator[Cluster]:
    """The daemon at four nodes, some of them cordoned, once it knows what they use."""
    nodes: list[dict[str, Any]] = [node(name, cpu="64") for name in LOADS]
    for found in nodes:
        found["spec"] = {"unschedulable": found["metadata"]["name"] in without}
    path = tmp_path / "policy.yaml"
    async with prometheus(LOADS) as address, Cluster(nodes) as cluster:
        path.write_text(POLICY.format(filters=str(filters).lower(), address=address), encoding="utf-8")
        async with scheduling(cluster.url, policy_file=path) as daemon:
            await until(lambda: (daemon.usage.to_dict().get("nodes") or {}).get("known") == len(LOADS))  # type: ignore[union-attr]
            yield cluster


async def placed(cluster: Cluster, size: int) -> set[str]:
    """The nodes that a gang goes to."""
    cluster.apply(gang("g", size))
    await until(lambda: len(nodes_of(cluster, "g-")) == size)
    return set(nodes_of(cluster, "g-").values())


@pytest.mark.parametrize(
    ("without", "chosen"),
    [
        pytest.param((), "n2", id="the least loaded of all"),
        pytest.param(("n2", "n3"), "n1", id="the least loaded that may be used"),
        pytest.param(("n2",), "n3", id="one that swings below one that is steadily loaded"),
    ],
)
async def test_pods_go_where_there_is_least_load(tmp_path: Path, without: tuple[str, ...], chosen: str) -> None:
    async with at_work(tmp_path, without=without) as cluster:
        assert await placed(cluster, 2) == {chosen}


async def test_none_goes_to_a_node_above_its_threshold(tmp_path: Path) -> None:
    async with at_work(tmp_path, without=("n1", "n2", "n3")) as cluster:
        cluster.apply(gang("g", 1))
        await until(lambda: condition_of(cluster.client.get("pods", "default", "g-0"), "PodScheduled"))
        told = condition_of(cluster.client.get("pods", "default", "g-0"), "PodScheduled")
    assert told["status"] == "False"
    assert "usage" in told["message"]
    assert nodes_of(cluster, "g-") == {}


async def test_without_the_filter_a_loaded_node_only_scores_less(tmp_path: Path) -> None:
    async with at_work(tmp_path, filters=False, without=("n1", "n2", "n3")) as cluster:
        assert await placed(cluster, 2) == {"n4"}

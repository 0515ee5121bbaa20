"""Gangs at a cluster with an autoscaler: what is bought for them, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.running import condition_of, gang, node, nodes_of, podgroup, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
GPU = "example.com/gpu"
QUEUES = "scheduling.volcano.sh/queues"


def pools(path: Path, **more: Any) -> Path:
    """A file with one pool of nodes with eight devices each."""
    shape = {"cpu": 64, GPU: 8}
    path.write_text(yaml.safe_dump([{"name": "h100", "max": 10, "delay": "200ms", "capacity": shape, **more}]))
    return path


def of_gpus(name: str, size: int, queue: str = "default") -> list[Obj]:
    """A gang of pods with a device each."""
    members = gang(name, size)[1:]
    for member in members:
        member["spec"]["containers"][0]["resources"]["requests"][GPU] = "1"
        member["spec"]["containers"][0]["resources"]["limits"] = {GPU: "1"}
    return [podgroup(name, size, queue=queue), *members]


def queue(name: str, gpus: int) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "capability": {GPU: str(gpus)}},
    }


def bought(cluster: Cluster) -> list[str]:
    """The nodes of the pool; none of them is ever removed."""
    return sorted(
        found["metadata"]["name"] for found in cluster.client.list("nodes") if "h100" in found["metadata"]["name"]
    )


def reasons(cluster: Cluster, prefix: str) -> set[str]:
    found = [one for one in cluster.client.list("pods", "default") if one["metadata"]["name"].startswith(prefix)]
    return {condition_of(one, "PodScheduled").get("reason", "") for one in found}


@pytest.mark.parametrize("idle", [[], [("own", 4)]], ids=["nothing is there", "some room is there"])
async def test_a_gang_of_16_buys_exactly_two_nodes(tmp_path: Path, idle: list[tuple[str, int]]) -> None:
    nodes = [node("n1")]
    for name, gpus in idle:
        nodes.append(node(name, cpu="64"))
        for amounts in nodes[-1]["status"].values():
            amounts[GPU] = str(gpus)
    async with Cluster(nodes, pools=pools(tmp_path / "pools.yaml")) as cluster, scheduling(cluster.url):
        cluster.apply(of_gpus("a", 16))
        await until(lambda: len(nodes_of(cluster, "a-")) == 16)
        assert bought(cluster) == ["h100-0", "h100-1"]


async def test_a_gang_over_the_capability_of_its_queue_buys_none_and_the_next_one_does(tmp_path: Path) -> None:
    async with (
        Cluster([node("n1")], pools=pools(tmp_path / "pools.yaml")) as cluster,
        scheduling(cluster.url),
    ):
        cluster.apply([queue("q", 15), *of_gpus("a", 16, "q")])
        await until(lambda: reasons(cluster, "a-") == {"QueueCapability"})
        cluster.apply(of_gpus("b", 8, "q"))
        await until(lambda: len(nodes_of(cluster, "b-")) == 8)
        assert bought(cluster) == ["h100-0"]
        assert reasons(cluster, "a-") == {"QueueCapability"}

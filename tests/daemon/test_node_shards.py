"""NodeShards end to end: followed while the daemon runs, and told which nodes are in use."""

from __future__ import annotations

from typing import Any

from tests.support.builders import merged
from tests.support.running import condition_of, gang, node, nodes_of, scheduling, status_of
from tests.support.waiting import until
from vsched.controllers import words
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
NODE_SHARDS = "shard.volcano.sh/nodeshards"
DEFINITION = "nodeshards.shard.volcano.sh"


def shard(name: str, *desired: str) -> Obj:
    return {
        "apiVersion": "shard.volcano.sh/v1alpha1",
        "kind": "NodeShard",
        "metadata": {"name": name},
        "spec": {"nodesDesired": list(desired)},
    }


def uses(cluster: Cluster, name: str, *nodes: str) -> None:
    """Another scheduler says which nodes it uses."""
    status = {"status": {"nodesInUse": list(nodes)}}
    cluster.client.patch_status(NODE_SHARDS, "", name, lambda found: merged(found, status))


def in_use(cluster: Cluster) -> list[str]:
    return list(((cluster.client.get(NODE_SHARDS, "", "ours") or {}).get("status") or {}).get("nodesInUse") or ())


async def test_a_hard_shard_is_followed_as_nodes_move_between_schedulers() -> None:
    async with Cluster([node(f"n{at}") for at in (1, 2, 3)]) as cluster:
        cluster.apply([shard("ours", "n1", "n2"), shard("other", "n3")])
        uses(cluster, "other", "n2", "n3")
        cluster.apply(gang("g", 4))
        async with scheduling(cluster.url, sharding_mode="hard", sharding_name="ours") as daemon:
            await until(lambda: set(nodes_of(cluster, "g").values()) == {"n1"})
            await until(lambda: in_use(cluster) == ["n1"])
            assert daemon.health.ready().details["nodeShard"] == {"mode": "hard", "name": "ours", "nodes": 1}
            cluster.apply(gang("h", 4))
            await until(
                lambda: (
                    "another shard"
                    in condition_of({"status": status_of(cluster, "h")}, "Unschedulable").get("message", "")
                )
            )
            uses(cluster, "other", "n3")  # the other scheduler has let go of n2
            await until(lambda: len(nodes_of(cluster, "h")) == 4)
            assert set(nodes_of(cluster, "h").values()) == {"n2"}
            await until(lambda: in_use(cluster) == ["n1", "n2"])


async def test_a_soft_shard_is_filled_before_other_nodes() -> None:
    async with Cluster([node(f"n{at}") for at in (1, 2)]) as cluster:
        cluster.apply([shard("ours", "n2"), *gang("g", 4)])
        async with scheduling(cluster.url, sharding_mode="soft", sharding_name="ours"):
            await until(lambda: len(nodes_of(cluster, "g")) == 4)
            assert set(nodes_of(cluster, "g").values()) == {"n2"}
            cluster.apply(gang("h", 4))
            await until(lambda: len(nodes_of(cluster, "h")) == 4)
            assert set(nodes_of(cluster, "h").values()) == {"n1"}


async def test_where_nobody_serves_the_kind_all_nodes_are_used() -> None:
    async with Cluster([node("n1")]) as cluster:
        cluster.client.delete("apiextensions.k8s.io/customresourcedefinitions", "", DEFINITION)
        cluster.apply(gang("g", 2))
        async with scheduling(cluster.url, sharding_mode="hard", sharding_name="ours") as daemon:
            await until(lambda: len(nodes_of(cluster, "g")) == 2)
            told = daemon.health.ready().details["nodeShard"]
            assert told["problem"] == words.NODESHARDS_CANNOT_BE_LISTED

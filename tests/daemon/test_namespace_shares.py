"""Namespaces of one queue share a live cluster by weight, with PodGroups that state their minimum as controllers do."""

from __future__ import annotations

from collections import Counter

from tests.support.running import Obj, digested, node, pod, podgroup, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

WEIGHTS = {"a": 1, "b": 3, "c": 2}
EACH = 14
"""Jobs of each namespace: more than there is room for, even for one alone."""


def weighed(namespace: str, weight: int) -> list[Obj]:
    """A namespace and the quota that carries its weight."""
    quota = {"hard": {"volcano.sh/namespace.weight": str(weight)}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "weight", "namespace": namespace},
            "spec": quota,
        },
    ]


def job(namespace: str, name: str) -> list[Obj]:
    """A job of one pod and one cpu."""
    made = [podgroup(name, 1, minResources={"cpu": "1"}), pod(f"{name}-0", name)]
    for one in made:
        one["metadata"]["namespace"] = namespace
    return made


def placed(cluster: Cluster) -> Counter[str]:
    """How many pods of each namespace have a node and stay."""
    return Counter(
        found["metadata"]["namespace"]
        for found in cluster.client.list("pods")
        if found["spec"].get("nodeName") and not found["metadata"].get("deletionTimestamp")
    )


async def test_namespaces_of_weights_1_3_2_get_a_sixth_a_half_and_a_third_again_and_again() -> None:
    async with Cluster([node(f"n{number}") for number in range(3)]) as cluster:
        cluster.apply([found for namespace, weight in WEIGHTS.items() for found in weighed(namespace, weight)])
        cluster.apply([found for namespace in WEIGHTS for at in range(EACH) for found in job(namespace, f"j{at:02}")])
        async with scheduling(cluster.url) as daemon:
            await until(lambda: placed(cluster).total() == 12)
            await digested(cluster, daemon)
            assert placed(cluster) == {"a": 2, "b": 6, "c": 4}

            for found in cluster.client.list("pods"):
                if found["spec"].get("nodeName"):
                    cluster.client.delete("pods", found["metadata"]["namespace"], found["metadata"]["name"])
            await digested(cluster, daemon)
            await until(lambda: placed(cluster).total() == 12)
            assert placed(cluster) == {"a": 2, "b": 6, "c": 4}

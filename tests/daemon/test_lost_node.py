"""A node is lost under a gang that has to be in one rack: its pod is replaced there, before anybody else is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.builders import merged
from tests.support.hypernodes import hypernode_object
from tests.support.kubectl import Kubectl
from tests.support.running import condition_of, gang, node, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

RACKS = [
    hypernode_object("r1", 1, "n1", "n2", "n3", "n4", tier_name="rack"),
    hypernode_object("r2", 1, "n5", "n6", tier_name="rack"),
]


@pytest.mark.kubectl
async def test_the_pod_of_a_lost_node_is_replaced_in_the_rack_of_its_gang_before_others_start(tmp_path: Path) -> None:
    group, *pods = gang("g", 3, cpu="3")
    near = merged(group, {"spec": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}})
    async with Cluster([node(f"n{number}") for number in range(1, 7)]) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        for spare in ("n4", "n5", "n6"):
            await kubectl("cordon", spare)
        cluster.apply([*RACKS, near, *pods])
        async with scheduling(cluster.url):
            await until(lambda: set(nodes_of(cluster, "g").values()) == {"n1", "n2", "n3"})
            cluster.apply(gang("waits", 1, cpu="3"))
            before = {name: where for name, where in nodes_of(cluster, "g").items() if where != "n3"}
            await kubectl("delete", "node", "n3")
            await until(lambda: nodes_of(cluster, "g") == before)
            cluster.apply([pod("g-new", "g", "3")])
            await until(lambda: condition_of(cluster.client.get("pods", "default", "g-new"), "PodScheduled"))
            await kubectl("uncordon", "n4")
            await until(lambda: nodes_of(cluster, "g").get("g-new") == "n4")
            assert not nodes_of(cluster, "waits")
            await kubectl("uncordon", "n5", "n6")
            await until(lambda: set(nodes_of(cluster, "waits").values()) <= {"n5", "n6"} and nodes_of(cluster, "waits"))
            assert nodes_of(cluster, "g") == {**before, "g-new": "n4"}

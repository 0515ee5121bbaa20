"""Sub-groups end to end: a gang of two segments, each in a rack of its own, both in one block, with kubectl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.hypernodes import hypernode_object
from tests.support.kubectl import Kubectl
from tests.support.running import condition_of, node, nodes_of, pod, podgroup, scheduling
from tests.support.waiting import until
from vsched.plugins.words import jobs as words
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
PODGROUPS = "scheduling.volcano.sh/podgroups"
RACKS = ("r1", "r2", "r3", "r4")
TREE = [
    *(hypernode_object(rack, 1, f"{rack}-a", f"{rack}-b", tier_name="rack") for rack in RACKS),
    hypernode_object("b1", 2, "^r1", "^r2", tier_name="block"),
    hypernode_object("b2", 2, "^r3", "^r4", tier_name="block"),
]
NODES = [node(f"{rack}-{side}", cpu="2") for rack in RACKS for side in "ab"]
GROUP = podgroup(
    "train",
    8,
    networkTopology={"mode": "hard", "highestTierName": "block"},
    subGroupPolicy=[
        {
            "name": "segment",
            "subGroupSize": 4,
            "minSubGroups": 2,
            "matchLabelKeys": ["segment"],
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        }
    ],
)


def segment(name: str) -> Obj:
    """A Job of four pods, which are one sub-group of the gang."""
    template = {
        "metadata": {"labels": {"segment": name}, "annotations": {"scheduling.k8s.io/group-name": "train"}},
        "spec": {"schedulerName": "vsched", "restartPolicy": "Never", "containers": pod("p")["spec"]["containers"]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"train-{name}", "namespace": "default"},
        "spec": {"parallelism": 4, "completions": 4, "template": template},
    }


def why(cluster: Cluster) -> tuple[str, str]:
    """Why the gang waits: reason and message of its condition; empty where it does not."""
    found = condition_of(cluster.client.get(PODGROUPS, "default", "train"), "Unschedulable")
    return (found["reason"], found["message"]) if found.get("status") == "True" else ("", "")


@pytest.mark.kubectl
async def test_each_segment_gets_a_rack_and_the_gang_a_block(tmp_path: Path) -> None:
    async with Cluster(NODES) as cluster, scheduling(cluster.url):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)

        async def apply(*objects: Obj) -> None:
            await kubectl("apply", "-f", "-", given="\n".join(orjson.dumps(one).decode() for one in objects))

        await apply(*TREE, pod("other"))
        await until(lambda: nodes_of(cluster) == {"other": "r1-a"})
        await apply(GROUP, segment("a"))
        lacking = words.sub_groups_lack_pods("segment has 1 of 2 sub-groups of 4 pods")
        await until(lambda: why(cluster) == ("NotEnoughPodsOfTask", lacking))
        assert list(nodes_of(cluster)) == ["other"]

        await apply(segment("b"))
        await until(lambda: len(nodes_of(cluster, "train")) == 8)
        await until(lambda: why(cluster) == ("", ""))
        racks = {name: {one[:2] for one in nodes_of(cluster, f"train-{name}").values()} for name in "ab"}
        assert sorted(map(len, racks.values())) == [1, 1]
        assert racks["a"] | racks["b"] == {"r3", "r4"}

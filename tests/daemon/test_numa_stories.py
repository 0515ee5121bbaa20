"""NUMA zones end to end: reports come by kubectl, and pods wait for a zone that holds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.running import node, nodes_of, scheduling
from tests.support.waiting import until
from tests.support.zones import DECISION, POLICY, report, volcano_report
from vsched.sim.cluster import Cluster

NUMA = Path(__file__).parents[2] / "config" / "policies" / "numa.yaml"
Obj = dict[str, Any]


def aligned(name: str, cpu: str, **annotations: str) -> Obj:
    """A Guaranteed pod that requires a policy."""
    amounts = {"cpu": cpu, "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {POLICY: "single-numa-node", **annotations}},
        "spec": {
            "schedulerName": "vsched",
            "containers": [{"name": "main", "image": "busybox", "resources": {"requests": amounts, "limits": amounts}}],
        },
    }


def listed(*objects: Obj) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def why(cluster: Cluster, name: str) -> str:
    found = cluster.client.get("pods", "default", name) or {}
    conditions = (found.get("status") or {}).get("conditions") or []
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


@pytest.mark.kubectl
async def test_a_pod_waits_until_a_zone_of_a_node_holds_it(tmp_path: Path) -> None:
    nodes = [node("n1", "8"), node("n2", "8")]
    async with Cluster(nodes) as cluster, scheduling(cluster.url, policy_file=NUMA):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("apply", "-f", "-", given=listed(report("n1", "2", "2"), aligned("a", "3")))
        await until(lambda: "1 node(s) had too little cpu free in every NUMA node" in why(cluster, "a"))
        assert "1 node(s) whose numa info is empty" in why(cluster, "a")

        await kubectl("apply", "-f", "-", given=listed(report("n1", "2", "4")))
        await until(lambda: nodes_of(cluster) == {"a": "n1"})
        decision = f"jsonpath={{.metadata.annotations.{DECISION.replace('.', chr(92) + '.')}}}"
        assert json.loads(await kubectl("get", "pod", "a", "-o", decision)) == {"numa": {"1": {"cpu": "3"}}}


@pytest.mark.kubectl
async def test_a_report_that_lists_pods_does_not_count_a_new_one(tmp_path: Path) -> None:
    cpus = dict.fromkeys(range(4), 0) | dict.fromkeys(range(4, 8), 1)
    async with Cluster([node("n1", "8")]) as cluster, scheduling(cluster.url, policy_file=NUMA):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        found = volcano_report("n1", "0-7", cpus, pods={})
        await kubectl("apply", "-f", "-", given=listed(found, aligned("a", "4")))
        await until(lambda: nodes_of(cluster) == {"a": "n1"})
        await kubectl("apply", "-f", "-", given=listed(aligned("b", "4")))
        await until(lambda: len(nodes_of(cluster)) == 2)
        await kubectl("apply", "-f", "-", given=listed(aligned("c", "1")))
        await until(
            lambda: "too little cpu free in every NUMA node" in why(cluster, "c") or "Insufficient" in why(cluster, "c")
        )
        zones = {
            name: json.loads((cluster.client.get("pods", "default", name) or {})["metadata"]["annotations"][DECISION])
            for name in ("a", "b")
        }
        assert [list(zones[name]["numa"]) for name in ("a", "b")] == [["0"], ["1"]]

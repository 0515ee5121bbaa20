"""Consolidation at an embedded cluster: a pod is moved, its controller makes a new one, and the job starts."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.preempting import QUICK_TO_GO, Obj
from tests.support.running import gang, node, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster
from vsched.writes.words import has_room_on, makes_room_for

POLICY = """
actions: "enqueue, allocate, consolidate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: nodeorder}]
configurations:
- name: consolidate
  arguments: {minRunningTime: 0s}
"""


def replicas(name: str, count: int, cpu: str) -> Obj:
    labels = {"app": name}
    containers = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}]
    template = {"metadata": {"labels": labels}, "spec": {"schedulerName": "vsched", "containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": template},
    }


def running(cluster: Cluster, prefix: str) -> dict[str, str]:
    """The nodes of the running pods whose names begin so."""
    return {
        found["metadata"]["name"]: found["spec"].get("nodeName", "")
        for found in cluster.client.list("pods", "default")
        if found["metadata"]["name"].startswith(prefix)
        and found["status"].get("phase") == "Running"
        and not found["metadata"].get("deletionTimestamp")
    }


async def test_a_pod_is_moved_and_the_job_gets_its_node(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    nodes = [node("n1", cpu="4"), node("n2", cpu="4")]
    async with (
        Cluster(nodes, settings=QUICK_TO_GO) as cluster,
        scheduling(cluster.url, period_seconds=0.05, policy_file=policy) as daemon,
    ):
        cluster.apply([replicas("web", 2, "2")])
        await until(lambda: len(running(cluster, "web")) == 2)
        before = running(cluster, "web")
        assert sorted(before.values()) == ["n1", "n2"], "each keeps the job from a whole node"
        cluster.apply(gang("train", 1, cpu="4"))
        await until(lambda: len(running(cluster, "train")) == 1 and len(running(cluster, "web")) == 2)
        [node_of_job] = running(cluster, "train").values()
        after = running(cluster, "web")
        assert set(after.values()) == {"n1", "n2"} - {node_of_job}
        assert len(before.keys() & after.keys()) == 1, "one of them was moved"
        told = has_room_on(makes_room_for("default/train"), min({"n1", "n2"} - {node_of_job}))
        await until(lambda: any(told in one["message"] for one in cluster.client.list("events", "default")))
        evicted = {"action": "consolidate", "verdict": "evicted"}
        assert daemon.telemetry.registry.get_sample_value("vsched_evictions_total", evicted) == 1

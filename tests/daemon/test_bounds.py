"""What bounds pods reaches a running daemon from the API server: disruption budgets, quotas, annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.running import gang, node, nodes_of, podgroup, reasons_of, scheduling, status_of
from tests.support.waiting import until
from vsched.sim.cluster import Cluster, ClusterSettings

SLA = "volcano.sh/sla-waiting-time"
POLICY = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: resourcequota
  - name: predicates
"""


def budget(name: str, minimum: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": minimum, "selector": {"matchLabels": {"app": "web"}}},
    }


def quota(name: str, cpu: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"hard": {"requests.cpu": cpu}},
    }


def use(cluster: Cluster, name: str, cpu: str) -> None:
    """What the quota controller of a cluster would say is used."""
    status = {"hard": {"requests.cpu": "3"}, "used": {"requests.cpu": cpu}}
    cluster.client.patch_status("resourcequotas", "default", name, lambda found: {**found, "status": status})


async def test_budgets_are_followed() -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url) as daemon:
        cluster.apply([budget("guard", 1), budget("other", 2)])
        await until(lambda: daemon.mirror.describe()["budgets"] == 2)
        cluster.client.delete("policy/poddisruptionbudgets", "default", "guard")
        await until(lambda: daemon.mirror.describe()["budgets"] == 1)


async def test_a_gang_waits_for_the_quota_of_its_namespace(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(POLICY, encoding="utf-8")
    groups = [podgroup("late", 1, minResources={"cpu": "2"}), podgroup("less", 1, minResources={"cpu": "1"})]
    # Nobody counts what the quota says of itself anew.
    async with Cluster([node("n1")], settings=ClusterSettings(None)) as cluster:
        cluster.apply([quota("small", "3")])
        use(cluster, "small", "2")
        async with scheduling(cluster.url, policy_file=path):
            cluster.apply(groups)
            await until(lambda: status_of(cluster, "less").get("phase") == "Inqueue")
            assert status_of(cluster, "late").get("phase", "Pending") == "Pending"
            use(cluster, "small", "1")
            await until(lambda: status_of(cluster, "late").get("phase") == "Inqueue")


async def test_an_annotation_that_makes_no_sense_is_told_and_its_gang_placed() -> None:
    group, *members = gang("g", 2)
    group["metadata"]["annotations"] = {SLA: "soon"}
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        cluster.apply([group, *members])
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        await until(lambda: "BadObject" in reasons_of(cluster, "g"))
        await until(lambda: status_of(cluster, "g").get("phase") == "Running")

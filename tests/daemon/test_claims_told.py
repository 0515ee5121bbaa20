"""What people are told of a gang whose claims cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import volumes
from tests.support.claiming import cluster_with
from tests.support.explanations import Asking
from tests.support.killing import is_free, member
from tests.support.running import condition_of, nodes_of, podgroup, reasons_of, scheduling
from tests.support.waiting import until
from vsched.model import words as model_words
from vsched.sim.cluster import Cluster
from vsched.writes import words

POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
    arguments:
      volumebinding.bindTimeoutSeconds: 1
"""
OPTIONS: dict[str, Any] = {"listen_address": "127.0.0.1:0", "advise": False}
LATE = "PersistentVolumeClaim default/data was not bound within 1 s"


def messages(cluster: Cluster, name: str) -> set[str]:
    """The messages of Events about an object whose binding failed."""
    events = [each for each in cluster.client.list("events", "default") if each["reason"] == "FailedBinding"]
    return {each["message"] for each in events if each["involvedObject"]["name"] == name}


async def test_a_volume_that_is_not_bound_in_time_is_told_everywhere(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    slow = cluster_with(volumes.storage_class(), volumes.claim("data", namespace="default"), provisioning=3600.0)
    async with slow as cluster, scheduling(cluster.url, policy_file=policy, **OPTIONS) as daemon:
        cluster.apply([podgroup("g", 2), member("g-0", "g", ("data",)), member("g-1", "g")])
        await until(lambda: messages(cluster, "g-0"))
        [told] = messages(cluster, "g-0")
        assert told in {words.not_bound_to(node, LATE) for node in ("n1", "n2")}
        assert "FailedBinding" not in reasons_of(cluster, "g-1"), "it has no part in it"
        assert messages(cluster, "g") == {f"not bound: {LATE}"}
        said = model_words.NOT_HAD + LATE
        found = await Asking(daemon).until("explain/default/g?kind=PodGroup", message=said)
        assert [one["code"] for one in found["constraints"]] == ["Claim"]
        pod_found = await Asking(daemon).until("explain/default/g-0", state="starting")
        assert pod_found["message"].startswith(said)
        assert nodes_of(cluster) == {}


async def test_metrics_count_transactions_by_phase_and_result(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    slow = cluster_with(volumes.storage_class(), volumes.claim("data", namespace="default"), provisioning=3600.0)
    async with slow as cluster, scheduling(cluster.url, policy_file=policy, **OPTIONS) as daemon:

        def value(name: str, label: str) -> float:
            return daemon.telemetry.registry.get_sample_value(name, {"name": label}) or 0.0

        cluster.apply([podgroup("g", 1), member("g-0", "g", ("data",))])
        await until(lambda: value("vsched_gang_phases", "waiting") == 1)
        await until(lambda: value("vsched_gang_transactions_total", "undone") >= 1)
        for name in ("n1", "n2"):
            cluster.client.patch("nodes", "", name, lambda node: {**node, "spec": {"unschedulable": True}})
        await until(lambda: value("vsched_gang_phases", "waiting") == 0 and is_free(cluster))
        await until(lambda: condition_of(cluster.client.get("pods", "default", "g-0"), "PodScheduled"))

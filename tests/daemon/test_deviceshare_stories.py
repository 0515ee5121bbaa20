"""Shared devices end to end: nodes are annotated as device plugins do it, and pods get parts of their devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.deviceshare import HANDSHAKE, IDS, REGISTER, devices
from tests.support.kubectl import KUBECTL, Kubectl
from tests.support.running import node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

DEVICES = Path(__file__).parents[2] / "config" / "policies" / "devices.yaml"
TAKING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: predicates
  - name: proportion
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
"""
Obj = dict[str, Any]


def pod(name: str, memory: int, **spec: Any) -> Obj:
    """A pod that asks for one vGPU."""
    limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": str(memory), "volcano.sh/vgpu-cores": "10"}
    container = {"name": "main", "image": "busybox", "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": "vsched", "containers": [container], **spec},
    }


def listed(*objects: Obj) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def found(cluster: Cluster, name: str) -> Obj:
    return cluster.client.get("pods", "default", name) or {}


def why(cluster: Cluster, name: str) -> str:
    conditions = (found(cluster, name).get("status") or {}).get("conditions") or []
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


@pytest.mark.skipif(not KUBECTL, reason="needs kubectl")
async def test_pods_get_parts_of_devices_once_a_node_registers_them(tmp_path: Path) -> None:
    async with Cluster([node("n1", "8"), node("n2", "8")]) as cluster, scheduling(cluster.url, policy_file=DEVICES):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("apply", "-f", "-", given=listed(pod("a", 600)))
        await until(lambda: "2 node(s) had no registered devices of the kind vgpu" in why(cluster, "a"))

        await kubectl("annotate", "node", "n2", f"{REGISTER}={devices(2, memory=1000)}", f"{HANDSHAKE}=Reported_now")
        await until(lambda: nodes_of(cluster) == {"a": "n2"})
        said = found(cluster, "a")["metadata"]["annotations"]
        assert said["volcano.sh/vgpu-node"] == "n2"
        assert said["volcano.sh/bind-phase"] == "allocating"
        assert said["volcano.sh/devices-to-allocate"] == said[IDS]
        first = said[IDS]
        assert first in ("GPU-0,NVIDIA,600,10:", "GPU-1,NVIDIA,600,10:")

        await kubectl("apply", "-f", "-", given=listed(pod("b", 600)))
        await until(lambda: "b" in nodes_of(cluster))
        assert {first, found(cluster, "b")["metadata"]["annotations"][IDS]} == {
            "GPU-0,NVIDIA,600,10:",
            "GPU-1,NVIDIA,600,10:",
        }
        await kubectl("apply", "-f", "-", given=listed(pod("c", 600)))
        await until(lambda: "too few devices with enough memory" in why(cluster, "c"))

        await kubectl("delete", "pod", "a", "--wait=false")
        await until(lambda: nodes_of(cluster).get("c") == "n2")
        assert found(cluster, "c")["metadata"]["annotations"][IDS] == first, "what the first one had"


@pytest.mark.skipif(not KUBECTL, reason="needs kubectl")
async def test_a_victim_frees_its_device(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(TAKING)
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    async with Cluster([node("n1", "8")]) as cluster, scheduling(cluster.url, policy_file=policy):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("annotate", "node", "n1", f"{REGISTER}={devices(1, memory=1000)}", f"{HANDSHAKE}=Reported_now")
        await kubectl("apply", "-f", "-", given=listed(high, pod("low", 1000)))
        await until(lambda: nodes_of(cluster) == {"low": "n1"})

        await kubectl("apply", "-f", "-", given=listed(pod("urgent", 700, priorityClassName="high")))
        await until(lambda: nodes_of(cluster) == {"urgent": "n1"})
        assert found(cluster, "urgent")["metadata"]["annotations"][IDS] == "GPU-0,NVIDIA,700,10:"

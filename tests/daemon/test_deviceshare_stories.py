"""Shared devices end to end: nodes are annotated as device plugins do it, and pods get parts of their devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.deviceshare import HANDSHAKE, IDS, REGISTER, devices, vgpu_pod
from tests.support.kubectl import Kubectl
from tests.support.npus import CHIP, allocated, asking_npu, npu, npu_node, npu_part
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


def listed(*objects: Obj) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def found(cluster: Cluster, name: str) -> Obj:
    return cluster.client.get("pods", "default", name) or {}


def why(cluster: Cluster, name: str) -> str:
    conditions = (found(cluster, name).get("status") or {}).get("conditions") or []
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


@pytest.mark.kubectl
async def test_pods_get_parts_of_devices_once_a_node_registers_them(tmp_path: Path) -> None:
    async with Cluster([node("n1", "8"), node("n2", "8")]) as cluster, scheduling(cluster.url, policy_file=DEVICES):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("apply", "-f", "-", given=listed(vgpu_pod("a", 600)))
        await until(lambda: "2 node(s) had no registered devices of the kind vgpu" in why(cluster, "a"))

        await kubectl("annotate", "node", "n2", f"{REGISTER}={devices(2, memory=1000)}", f"{HANDSHAKE}=Reported_now")
        await until(lambda: nodes_of(cluster) == {"a": "n2"})
        said = found(cluster, "a")["metadata"]["annotations"]
        assert said["volcano.sh/vgpu-node"] == "n2"
        assert said["volcano.sh/bind-phase"] == "allocating"
        assert said["volcano.sh/devices-to-allocate"] == said[IDS]
        first = said[IDS]
        assert first in ("GPU-0,NVIDIA,600,10:", "GPU-1,NVIDIA,600,10:")

        await kubectl("apply", "-f", "-", given=listed(vgpu_pod("b", 600)))
        await until(lambda: "b" in nodes_of(cluster))
        assert {first, found(cluster, "b")["metadata"]["annotations"][IDS]} == {
            "GPU-0,NVIDIA,600,10:",
            "GPU-1,NVIDIA,600,10:",
        }
        await kubectl("apply", "-f", "-", given=listed(vgpu_pod("c", 600)))
        await until(lambda: "no device with 600 MiB of memory left" in why(cluster, "c"))

        await kubectl("delete", "pod", "a", "--wait=false")
        await until(lambda: nodes_of(cluster).get("c") == "n2")
        assert found(cluster, "c")["metadata"]["annotations"][IDS] == first, "what the first one had"


@pytest.mark.kubectl
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
        await kubectl("apply", "-f", "-", given=listed(high, vgpu_pod("low", 1000)))
        await until(lambda: nodes_of(cluster) == {"low": "n1"})

        await kubectl("apply", "-f", "-", given=listed(vgpu_pod("urgent", 700, priorityClassName="high")))
        await until(lambda: nodes_of(cluster) == {"urgent": "n1"})
        assert found(cluster, "urgent")["metadata"]["annotations"][IDS] == "GPU-0,NVIDIA,700,10:"


@pytest.mark.kubectl
async def test_pods_of_a_node_get_their_devices_one_after_the_other(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(TAKING + "      deviceshare.NodeLockEnable: true\n")
    async with Cluster([node("n1", "8")]) as cluster, scheduling(cluster.url, policy_file=policy):
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("annotate", "node", "n1", f"{REGISTER}={devices(1, memory=1000)}", f"{HANDSHAKE}=Reported_now")
        await kubectl("apply", "-f", "-", given=listed(vgpu_pod("a", 100), vgpu_pod("b", 100)))
        await until(lambda: len(nodes_of(cluster)) == 1)
        (first,) = nodes_of(cluster)
        locked = (cluster.client.get("nodes", "", "n1") or {})["metadata"]["annotations"]
        assert locked["hamivgpu"].startswith("20")

        await kubectl("annotate", "node", "n1", "hamivgpu-")  # as the device plugin does once the pod has its devices
        await until(lambda: len(nodes_of(cluster)) == 2)
        assert first in nodes_of(cluster)


async def test_pods_get_parts_of_npus_and_wait_for_what_others_hold(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(TAKING.replace("VGPUEnable", "AscendHAMiVNPUEnable"))
    machine = npu_node("n1", [npu(0)])

    def asking(name: str, memory: int) -> Obj:
        found = vgpu_pod(name, 1)
        found["spec"]["containers"] = [asking_npu(1, memory) | {"image": "busybox"}]
        return found

    async with Cluster([machine]) as cluster, scheduling(cluster.url, policy_file=policy):
        cluster.apply([asking("a", 10000)])
        await until(lambda: nodes_of(cluster) == {"a": "n1"})
        said = found(cluster, "a")["metadata"]["annotations"]
        assert said[allocated()] == said[f"hami.io/{CHIP}-devices-to-allocate"] == npu_part(0, 16384) + ";"
        assert json.loads(said[f"huawei.com/{CHIP}"]) == [{"UUID": "NPU-0", "temp": "vir05_1c_16g"}]

        cluster.apply([asking("b", 0)])
        await until(lambda: "no device with 100% of memory left" in why(cluster, "b"))
        cluster.apply([asking("c", 32768)])
        await until(lambda: "c" in nodes_of(cluster))
        assert found(cluster, "c")["metadata"]["annotations"][allocated()] == npu_part(0, 32768) + ";"

"""MIG geometries in a ConfigMap: pods wait for them, and get instances by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.deviceshare import HANDSHAKE, IDS, REGISTER, device, devices, vgpu_node
from tests.support.npus import allocated, asking_npu, npu, npu_node, npu_part
from tests.support.plans import mirror
from tests.support.running import node, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched.daemon.policy.config_map import ConfigMap, ConfigMapKey
from vsched.daemon.policy.geometries import GeometrySink
from vsched.kube.watch.deltas import Delta
from vsched.model.deviceshare.geometries import DEFAULT_GEOMETRIES
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
POLICY = """
actions: allocate
tiers:
- plugins:
  - name: predicates
  - name: deviceshare
    arguments: {deviceshare.VGPUEnable: true, deviceshare.KnownGeometriesCMName: gpus}
"""
TEXT = """
nvidia:
  knownMigGeometries:
  - models: [H100]
    allowedGeometries:
    - group: %s
      geometries: [{name: 1g.10gb, memory: 10240, count: 7}]
"""


def config(group: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "gpus", "namespace": "kube-system"},
        "data": {"device-config.yaml": TEXT % group},
    }


def gpu_node() -> Obj:
    found = node("n1", "8")
    registered = device(0, model="NVIDIA-H100-80GB", memory=81920, mode="mig")
    found["metadata"]["annotations"] = {REGISTER: registered, HANDSHAKE: "Reported_now"}
    return found


def asking(name: str) -> Obj:
    found = pod(name)
    found["spec"]["containers"][0]["resources"] = {
        "limits": {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "8000"}
    }
    return found


def why(cluster: Cluster, name: str) -> str:
    conditions = ((cluster.client.get("pods", "default", name) or {}).get("status") or {}).get("conditions") or []
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


def given(cluster: Cluster, name: str) -> str:
    found = cluster.client.get("pods", "default", name) or {}
    said: str = found["metadata"]["annotations"][IDS]
    return said


async def test_pods_get_instances_by_the_config_map_that_the_policy_names(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    async with Cluster([gpu_node()]) as cluster, scheduling(cluster.url, policy_file=tmp_path / "policy.yaml"):
        cluster.client.create("pods", asking("a"))
        await until(lambda: "no device of a model with known MIG geometries" in why(cluster, "a"))

        cluster.client.create("configmaps", config("one"))
        await until(lambda: "a" in nodes_of(cluster))
        assert given(cluster, "a") == "GPU-0[one-0],NVIDIA,8000,0:"

        cluster.client.patch("configmaps", "kube-system", "gpus", lambda _: config("two"))
        cluster.client.create("pods", asking("b"))
        await until(lambda: "no device with a free MIG instance of 8000 MiB" in why(cluster, "b"))
        cluster.client.delete("pods", "default", "a")
        await until(lambda: "b" in nodes_of(cluster))
        assert given(cluster, "b") == "GPU-0[two-0],NVIDIA,8000,0:", "the GPU is divided in the new way"


async def test_a_config_map_that_cannot_be_understood_divides_nothing(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    async with Cluster([gpu_node()]) as cluster:
        cluster.client.create("configmaps", config("a-b"))
        async with scheduling(cluster.url, policy_file=tmp_path / "policy.yaml"):
            cluster.client.create("pods", asking("a"))
            await until(lambda: "no device of a model with known MIG geometries" in why(cluster, "a"))
            cluster.client.patch("configmaps", "kube-system", "gpus", lambda _: config("one"))
            await until(lambda: "a" in nodes_of(cluster))
            assert given(cluster, "a") == "GPU-0[one-0],NVIDIA,8000,0:"


NPUS = """
vnpus:
  configs:
  - commonWord: Ascend910B3
    memoryAllocatable: 65536
    memoryCapacity: 65536
    templates: [{name: small, memory: %d}]
"""


async def test_pods_get_parts_of_npus_by_the_config_map(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.replace("VGPUEnable", "AscendHAMiVNPUEnable"))
    machine = npu_node("n1", [npu(0)])

    def templates(memory: int) -> Obj:
        return config("one") | {"data": {"device-config.yaml": NPUS % memory}}

    def asking_for(name: str) -> Obj:
        found = pod(name)
        found["spec"]["containers"] = [asking_npu(1, 10) | {"image": "busybox"}]
        return found

    def part(name: str) -> str:
        said: str = (cluster.client.get("pods", "default", name) or {})["metadata"]["annotations"][allocated()]
        return said

    async with Cluster([machine]) as cluster:
        cluster.client.create("configmaps", templates(100))
        async with scheduling(cluster.url, policy_file=tmp_path / "policy.yaml"):
            cluster.client.create("pods", asking_for("a"))
            await until(lambda: "a" in nodes_of(cluster))
            assert part("a") == npu_part(0, 100) + ";"


GOOD, BAD = config("one"), config("a-b")
OURS = [("H100",)]
USUAL = [one.models for one in DEFAULT_GEOMETRIES]
REFUSED = "configmaps is forbidden"


@pytest.mark.parametrize(
    ("steps", "models", "worries"),
    [
        pytest.param([GOOD], OURS, 0, id="it is read"),
        pytest.param([None], USUAL, 0, id="there is none"),
        pytest.param([{**GOOD, "data": {"other": "x"}}], USUAL, 0, id="it has no such key"),
        pytest.param([REFUSED], USUAL, 1, id="it may not be read"),
        pytest.param([REFUSED, GOOD], OURS, 1, id="it may be read later"),
        pytest.param([GOOD, BAD], OURS, 1, id="an edit that cannot be understood changes nothing"),
        pytest.param([GOOD, None], USUAL, 0, id="it is deleted"),
    ],
)
def test_which_geometries_count(steps: list[Obj | str | None], models: list[tuple[str, ...]], worries: int) -> None:
    cache, worried = mirror([vgpu_node("n1", devices(1))]), list[str]()
    at = ConfigMapKey("kube-system", "gpus", "device-config.yaml")
    sink = GeometrySink(
        mirror=cache, at=at, note=lambda says, **more: None, worry=lambda says, **more: worried.append(says)
    )
    for step in steps:
        if isinstance(step, str):
            sink.refused(step)
        elif step is None:
            sink.replace([], "1")
        else:
            sink.apply(Delta.MODIFIED, msgspec.convert(step, ConfigMap))
    assert [one.models for one in cache.snapshot(0.0).device_shares.geometries] == models
    assert len(worried) == worries

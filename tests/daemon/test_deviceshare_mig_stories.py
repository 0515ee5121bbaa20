"""GPUs that are divided by MIG end to end: a pretended device plugin gives pods the instances that were decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.deviceshare import IDS
from tests.support.running import node, pod, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

POLICY = Path(__file__).parents[2] / "config" / "policies" / "devices.yaml"
GPUS = "[{plugin: vgpu, nodes: [n1], type: NVIDIA-A100-SXM4-40GB, memory: 40960, mode: mig, uuid: 'GPU-{n}'}]"
Obj = dict[str, Any]


def asking(name: str, memory: int) -> Obj:
    """A pod for an instance of MIG, and for nothing else."""
    found = pod(name)
    found["metadata"]["annotations"]["volcano.sh/vgpu-mode"] = "mig"
    limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": str(memory)}
    found["spec"]["containers"][0]["resources"] = {"limits": limits}
    return found


def running(cluster: Cluster) -> dict[str, str]:
    """By pod that runs: what its annotation says of its devices."""
    found = cluster.client.list("pods")
    assert not [each for each in found if (each.get("status") or {}).get("phase") == "Failed"], "the plugin objects"
    return {
        each["metadata"]["name"]: each["metadata"]["annotations"][IDS]
        for each in found
        if (each.get("status") or {}).get("phase") == "Running"
    }


async def test_a_gpu_is_divided_for_the_pods_that_come_and_anew_once_they_have_left(tmp_path: Path) -> None:
    (tmp_path / "gpus.yaml").write_text(GPUS)
    async with (
        Cluster([node("n1", "8")], devices=tmp_path / "gpus.yaml") as cluster,
        scheduling(cluster.url, policy_file=POLICY),
    ):
        for number in range(3):
            cluster.client.create("pods", asking(f"half-{number}", 18000))
        found = await until(lambda: here if len(here := running(cluster)) == 2 else None)
        assert sorted(found.values()) == [f"GPU-0[group3-{at}],NVIDIA,18000,0:" for at in range(2)]
        for name in sorted(found):
            cluster.client.delete("pods", "default", name)
        third = await until(lambda: here if len(here := running(cluster)) == 1 and not here.keys() & found else None)
        assert set(third.values()) <= set(found.values()), "an instance that came free"

        cluster.client.create("pods", asking("small", 5000))
        both = await until(lambda: here if len(here := running(cluster)) == 2 else None)
        assert both["small"].startswith("GPU-0[group3-"), "the geometry in use"
        for name in both:
            cluster.client.delete("pods", "default", name)
        await until(lambda: not cluster.client.list("pods"))
        for number in range(7):
            cluster.client.create("pods", asking(f"seventh-{number}", 5000))
        expected = [f"GPU-0[group1-{at}],NVIDIA,5000,0:" for at in range(7)]
        await until(lambda: sorted(running(cluster).values()) == expected)

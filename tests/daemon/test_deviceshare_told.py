"""What people are told of shared devices, end to end: metrics, pages, explanations and commands."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from tests.support.deviceshare import HANDSHAKE, REGISTER, devices, vgpu_pod
from tests.support.explanations import Asking
from tests.support.running import node, nodes_of, scheduling
from tests.support.shell import shell
from tests.support.waiting import until, until_answered
from vsched.cli import cli
from vsched.explain.words import edits as words
from vsched.sim.cluster import Cluster
from vsched.web.words import answers as answers_words

DEVICES = Path(__file__).parents[2] / "config" / "policies" / "devices.yaml"
Obj = dict[str, Any]
LABELS = ("devID", "NodeName", "podName")


def gpu_node(name: str, count: int) -> Obj:
    made = node(name, "8")
    made["metadata"]["annotations"] = {REGISTER: devices(count, memory=1000), HANDSHAKE: "Reported_now"}
    return made


def series(text: str) -> dict[str, float]:
    """The values of vGPUs by name and labels, without the beginning of the name."""
    return {
        " ".join(
            [
                one.name.removeprefix("volcano_vgpu_device_"),
                *(one.labels[name] for name in LABELS if name in one.labels),
            ]
        ): one.value
        for family in text_string_to_metric_families(text)
        if family.name.startswith("volcano_vgpu")
        for one in family.samples
    }


def condition(cluster: Cluster, name: str) -> str:
    """The messages of a pod's conditions."""
    found = (cluster.client.get("pods", "default", name) or {}).get("status") or {}
    return " ".join(one.get("message", "") for one in found.get("conditions") or ())


@pytest.mark.real_time
async def test_parts_of_devices_are_told_everywhere() -> None:
    async with (
        Cluster([gpu_node("n1", 2)]) as cluster,
        scheduling(cluster.url, policy_file=DEVICES, listen_address="127.0.0.1:0") as daemon,
        aiohttp.ClientSession() as http,
    ):
        await until(lambda: "--listen-address" in daemon.ports)
        url = f"http://127.0.0.1:{daemon.ports['--listen-address']}"

        async def get(path: str) -> Any:
            async with http.get(f"{url}{path}") as response:
                return await response.json()

        async def metrics() -> dict[str, float]:
            async with http.get(f"{url}/metrics") as response:
                return series(await response.text())

        async def shown(*flags: str) -> str:
            command = ["devices", "--daemon", url, *flags]
            return (await asyncio.to_thread(CliRunner().invoke, cli, command, env={"COLUMNS": "200"})).output

        cluster.apply([vgpu_pod("a", 600, 20), vgpu_pod("b", 600, 30)])
        await until(lambda: len(nodes_of(cluster)) == 2)
        cluster.apply([vgpu_pod("c", 500, 10)])

        async def waits() -> bool:
            found = await get("/explain/default/c?seconds=20")
            return "no device with 500 MiB of memory left" in found["message"]

        await until_answered(waits)
        await until(lambda: "no device with 500 MiB of memory left" in condition(cluster, "c"))
        held = [one["message"] for one in (await get("/explain/default/c?seconds=20"))["constraints"]]
        assert any("comes closest: 400 MiB" in one and "default/" in one for one in held)

        [one] = (await get("/devices?node=n1"))["nodes"]
        assert [each["taken"] for each in one["devices"]] == [60, 60]
        assert {each["holders"][0]["name"] for each in one["devices"]} == {"default/a", "default/b"}
        assert answers_words.no_node("n9") in (await get("/devices?node=n9"))["error"]

        found = await metrics()
        assert found["shared_number GPU-0 n1"] == 1
        assert found["memory_limit GPU-1 n1"] == 1000
        assert sorted(value for name, value in found.items() if name.startswith("allocated_cores")) == [20, 30]
        by_pod = {name.split()[-1]: value for name, value in found.items() if name.startswith("memory_allocation")}
        assert by_pod == {"a": 600, "b": 600}

        assert "600/1000 MiB" in await shown()


@pytest.mark.kubectl
async def test_what_is_said_to_help_helps(tmp_path: Path) -> None:
    """A wish for a model is dropped by the command that is told, and a smaller part is the largest that fits."""
    picky, large = vgpu_pod("picky", 100, 10), vgpu_pod("large", 900, 10)
    picky["metadata"]["annotations"] = {"nvidia.com/use-gputype": "A100"}
    async with (
        Cluster([gpu_node("n1", 1)], manifests=[vgpu_pod("first", 300, 10)]) as cluster,
        scheduling(cluster.url, policy_file=DEVICES, listen_address="127.0.0.1:0") as daemon,
    ):
        await until(lambda: nodes_of(cluster) == {"first": "n1"})
        asking = Asking(daemon)
        cluster.apply([picky])
        found = await asking.until("explain/default/picky?kind=Pod", state="never")
        assert "had no device of a type that the pod accepts" in found["message"]
        [change] = [one for one in found["changes"] if one["edits"][0]["edit"] == "dropRule"]
        await shell(cluster, tmp_path, change["command"])
        await until(lambda: nodes_of(cluster).get("picky") == "n1")

        cluster.apply([large])
        found = await asking.until("explain/default/large?kind=Pod", state="waits")
        said = words.request_of_containers(600, "volcano.sh/vgpu-memory", 900)
        assert said in [one["message"] for one in found["changes"]]
        cluster.client.delete("pods", "default", "large")
        cluster.apply([vgpu_pod("larger", 601, 10), vgpu_pod("fits", 600, 10)])
        await until(lambda: nodes_of(cluster).get("fits") == "n1")
        assert "larger" not in nodes_of(cluster)

"""The samples of devices in parts do what their first lines and their page promise, on the nodes that they describe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.deviceshare import IDS, INDEX
from tests.support.pages import page
from tests.support.running import reasons_of, scheduling
from tests.support.shell import shell
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.framework.words import nodes as words
from vsched.settings import load_file
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

Obj = dict[str, Any]
TOP = Path(__file__).parents[2]
SAMPLES = "config/samples/deviceshare"
PHASE, ASSIGNED = "volcano.sh/bind-phase", "volcano.sh/gpu-assigned"

pytestmark = pytest.mark.kubectl


class Here:
    """The cluster of the samples with the daemon."""

    def __init__(self, cluster: Cluster, daemon: Daemon, folder: Path) -> None:
        self.cluster = cluster
        self._daemon = daemon
        self._folder = folder

    async def apply(self, sample: str) -> None:
        """Apply a sample as its first lines say."""
        text = (TOP / SAMPLES / f"{sample}.yaml").read_text(encoding="utf-8")
        assert f"# kubectl apply -f {SAMPLES}/{sample}.yaml\n" in text
        await self.type(f"kubectl apply -f {TOP}/{SAMPLES}/{sample}.yaml")

    async def type(self, command: str) -> str:
        """What a command prints."""
        return await shell(self.cluster, self._folder, command)

    async def ask(self, command: str) -> list[str]:
        """What a command that asks the daemon prints, by line."""
        port = await until(lambda: self._daemon.ports.get("--listen-address"))
        return (await self.type(f"export VSCHED_DAEMON=127.0.0.1:{port}\n{command}")).splitlines()

    def pods(self, prefix: str = "") -> dict[str, Obj]:
        """The pods that run, by name."""
        return {
            pod["metadata"]["name"]: pod
            for pod in self.cluster.client.list("pods", "default")
            if pod["metadata"]["name"].startswith(prefix)
            and pod["status"].get("phase") == "Running"
            and not pod["metadata"].get("deletionTimestamp")
        }

    async def running(self, names: set[str]) -> dict[str, tuple[str, list[str]]]:
        """Where these pods run and what they got, once no others do: the node, and the devices by container."""
        await until(lambda: self.pods().keys() == names)
        return {
            name: (pod["spec"]["nodeName"], pod["metadata"]["annotations"].get(IDS, "").split(";"))
            for name, pod in self.pods().items()
        }

    def said(self, pod: str, key: str) -> str:
        """An annotation of a pod."""
        found = self.cluster.client.get("pods", "default", pod) or {"metadata": {}}
        return str((found["metadata"].get("annotations") or {}).get(key, ""))

    def why(self, pod: str) -> str:
        """What the condition of a pod says of its waiting."""
        found = (self.cluster.client.get("pods", "default", pod) or {"status": {}})["status"]
        return next((one.get("message", "") for one in found.get("conditions") or () if one["status"] == "False"), "")


@asynccontextmanager
async def samples(folder: Path, policy: str = "policy") -> AsyncIterator[Here]:
    path = TOP / SAMPLES / f"{policy}.yaml"
    settings = ClusterSettings(ControllerSettings(pods=PodTimes(termination=0.0), events=True))
    nodes, devices = (TOP / SAMPLES / name for name in ("nodes.yaml", "devices.yaml"))
    async with (
        Cluster(nodes, devices=devices, settings=settings) as cluster,
        scheduling(cluster.url, policy_file=path, listen_address="127.0.0.1:0") as daemon,
    ):
        yield Here(cluster, daemon, folder)


@pytest.mark.parametrize("name", ["policy", "memory-policy"])
def test_the_policies_have_no_warnings(name: str) -> None:
    found = load_file(TOP / SAMPLES / f"{name}.yaml", REGISTRY)
    assert (found.warnings, found.no_effect) == ((), ())


async def test_pods_get_the_parts_that_they_ask_for(tmp_path: Path) -> None:
    async with samples(tmp_path) as here:
        await here.apply("parts")
        found = await here.running({"notebook", "half", "several", "t4", "containers"})
        assert {name: node for name, (node, _) in found.items()} == {
            "notebook": "a100-0",
            "half": "a100-0",
            "several": "a100-0",
            "t4": "t4-0",
            "containers": "t4-0",
        }
        amounts = {name: [some.count(":") for some in devices] for name, (_, devices) in found.items()}
        assert amounts == {"notebook": [1], "half": [1], "several": [2], "t4": [1], "containers": [1, 1]}
        assert "NVIDIA,40960,50:" in found["half"][1][0]
        assert {here.said(name, PHASE) for name in found} == {"success"}

        (told,) = (block.text for block in page(f"{SAMPLES}/README.md").blocks if block.language == "console")
        command, *shown = told.splitlines()
        await until(lambda: "90000" in here.why("too-large"))
        assert (await here.ask(command.removeprefix("$ ")))[: len(shown)] == shown


async def test_queues_take_back_parts_and_urgent_pods_take_them(tmp_path: Path) -> None:
    async with samples(tmp_path) as here:
        await here.apply("train")
        workers = {f"train-worker-{number}" for number in range(4)}
        before = await here.running(workers)
        assert sorted(devices[0] for _, devices in before.values()) == [
            "GPU-a0,NVIDIA,40960,40:",
            "GPU-a0,NVIDIA,40960,40:",
            "GPU-a1,NVIDIA,40960,40:",
            "GPU-a1,NVIDIA,40960,40:",
        ]

        await here.apply("serving")
        await until(lambda: "model" in here.pods() and len(here.pods("train")) == 2)
        (kept,) = {here.said(name, IDS) for name in here.pods("train")}
        assert {kept[:6], here.said("model", IDS)[:6]} == {"GPU-a0", "GPU-a1"}

        await here.type("kubectl delete pod model")
        await here.running(workers)
        await here.apply("urgent")
        await until(lambda: "urgent" in here.pods() and len(here.pods("train")) == 3)
        assert "Evict" in {reason for name in workers for reason in reasons_of(here.cluster, name)}


async def test_whole_gpus_stand_beside_those_in_parts(tmp_path: Path) -> None:
    async with samples(tmp_path) as here:
        await here.apply("whole")
        assert await here.running({"whole"}) == {"whole": ("whole-0", [""])}
        await until(lambda: here.why("too-many") == words.none_available(5, "5 Insufficient nvidia.com/gpu"))


async def test_npus_are_given_in_parts_and_whole(tmp_path: Path) -> None:
    async with samples(tmp_path) as here:
        await here.apply("npus")
        await here.running({"npu-part", "npu-whole"})
        ids = "hami.io/Ascend910B3-devices-allocated"
        found = {name: here.said(name, ids) for name in ("npu-part", "npu-whole")}
        assert {name: text.partition(",")[2] for name, text in found.items()} == {
            "npu-part": "Ascend910B3,16384,0:;",
            "npu-whole": "Ascend910B3,65536,0:;",
        }
        assert {here.said(name, "hami.io/bind-phase") for name in found} == {"success"}
        await until(lambda: "3 devices" in here.why("npu-more"))


async def test_pods_share_gpus_by_memory_alone(tmp_path: Path) -> None:
    async with samples(tmp_path, "memory-policy") as here:
        await here.apply("memory")
        await here.running({"first", "second", "third"})
        assert {here.said("first", INDEX), here.said("second", INDEX)} == {"0", "1"}
        assert {here.said(name, ASSIGNED) for name in ("first", "second", "third")} == {"true"}
        await until(lambda: "17000 MiB" in here.why("too-large"))


async def test_pods_start_one_after_the_other_on_a_node_that_is_locked(tmp_path: Path) -> None:
    text = (TOP / SAMPLES / "policy.yaml").read_text(encoding="utf-8")
    policy = tmp_path / "locking.yaml"
    policy.write_text(f"{text}      deviceshare.NodeLockEnable: true\n", encoding="utf-8")
    nodes, devices = (TOP / SAMPLES / name for name in ("nodes.yaml", "devices.yaml"))
    async with Cluster(nodes, devices=devices) as cluster, scheduling(cluster.url, policy_file=policy) as daemon:
        here = Here(cluster, daemon, tmp_path)
        await here.apply("train")
        await here.running({f"train-worker-{number}" for number in range(4)})
        locks = [node["metadata"]["annotations"].get("hamivgpu") for node in cluster.client.list("nodes")]
        assert locks == [None] * 5


async def test_a_plugin_that_leaves_and_comes_again(tmp_path: Path) -> None:
    text = (TOP / SAMPLES / "devices.yaml").read_text(encoding="utf-8")
    path = tmp_path / "devices.yaml"
    path.write_text(text.replace("nodes: [t4-0]", "nodes: []"), encoding="utf-8")
    nodes, policy = TOP / SAMPLES / "nodes.yaml", TOP / SAMPLES / "policy.yaml"
    async with Cluster(nodes, devices=path) as cluster, scheduling(cluster.url, policy_file=policy) as daemon:
        here = Here(cluster, daemon, tmp_path)
        await here.apply("parts")
        await here.running({"notebook", "half", "several"})
        path.write_text(text, encoding="utf-8")
        await here.running({"notebook", "half", "several", "t4", "containers"})

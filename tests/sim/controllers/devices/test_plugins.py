"""The pretended device plugins: what they register for nodes, how they follow changes, and which pods get devices."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sim.controllers.claimed import bind, cluster, node, phase, pod, reasons
from tests.support.deviceshare import HANDSHAKE, IDS, INDEX, REGISTER, asking, part
from tests.support.waiting import until
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.devices.plugins import PluginDevices, registration_of

Obj = dict[str, Any]
PHASE, TO_ALLOCATE, ASSIGNED = "volcano.sh/bind-phase", "volcano.sh/devices-to-allocate", "volcano.sh/gpu-assigned"
VGPU = "volcano.sh/vgpu-"
TWO = "[{plugin: vgpu, nodes: [a], count: 2, memory: 1000, sharers: 3, uuid: 'GPU-{n}', unhealthy: [1]}]"


@asynccontextmanager
async def registering(folder: Path, text: str) -> AsyncIterator[Cluster]:
    """A cluster of two nodes whose devices a file describes; their kubelets have reported."""
    path = folder / "devices.yaml"
    path.write_text(text)
    async with cluster([node("a"), node("b")], devices_file=path) as running:
        await until(lambda: all(found_node(running, name)["status"].get("allocatable") for name in "ab"))
        assert await running.settle()
        yield running


def found_node(running: Cluster, name: str = "a") -> Obj:
    return running.client.get("nodes", "", name) or {}


def said(running: Cluster, name: str = "a") -> dict[str, str]:
    """The annotations of a node."""
    return found_node(running, name)["metadata"].get("annotations") or {}


def amounts(running: Cluster, name: str = "a", of: str = "allocatable") -> dict[str, str]:
    """What a node has of the resources of plugins."""
    found = found_node(running, name)["status"][of]
    return {key.removeprefix("volcano.sh/"): value for key, value in found.items() if "/" in key}


@pytest.mark.parametrize(
    ("plugins", "annotations", "allocatable"),
    [
        pytest.param(
            [PluginDevices("vgpu", count=2, type="V100", memory=1000, sharers=4)],
            {REGISTER: "GPU-n-0,4,1000,V100,true,hami-core:GPU-n-1,4,1000,V100,true,hami-core:"},
            {f"{VGPU}number": 8, f"{VGPU}memory": 2000, f"{VGPU}cores": 200},
            id="vGPUs with their sums",
        ),
        pytest.param(
            [
                PluginDevices("vgpu", type="V100", memory=1000, sharers=1),
                PluginDevices("vgpu", type="A100", memory=500, sharers=1, mode="mps", uuid="u{n}"),
            ],
            {REGISTER: "GPU-n-0,1,1000,V100,true,hami-core:u1,1,500,A100,true,mps:"},
            {f"{VGPU}number": 2, f"{VGPU}memory": 1500, f"{VGPU}cores": 200},
            id="models of one node are numbered together",
        ),
        pytest.param(
            [PluginDevices("gpu", count=3, memory=100, unhealthy=(0, 2))],
            {"volcano.sh/gpu-unhealthy-ids": "0,2"},
            {"volcano.sh/gpu-number": 1, "volcano.sh/gpu-memory": 100},
            id="GPUs, of which two are unhealthy",
        ),
        pytest.param(
            [PluginDevices("Ascend910B3", memory=65536, sharers=4, uuid="N{n}")],
            {
                "hami.io/node-register-Ascend910B3": '[{"id":"N0","index":0,"count":4,"devmem":65536,'
                '"type":"Ascend910B3","health":true}]'
            },
            {"huawei.com/Ascend910B3": 4},
            id="NPUs",
        ),
        pytest.param([PluginDevices("example.com/gpu", count=8)], {}, {"example.com/gpu": 8}, id="whole devices"),
        pytest.param([PluginDevices("vgpu", ("m*",))], {}, {}, id="other nodes have none of them"),
    ],
)
def test_what_is_registered_for_a_node(
    plugins: list[PluginDevices], annotations: dict[str, str], allocatable: dict[str, int]
) -> None:
    found = registration_of(plugins, "n")
    assert (found.annotations, found.allocatable) == (annotations, allocatable)


@pytest.mark.real_time
async def test_a_node_registers_its_devices_and_takes_them_back(tmp_path: Path) -> None:
    async with registering(tmp_path, TWO) as running:
        await until(lambda: REGISTER in said(running))
        assert said(running)[REGISTER].endswith("GPU-1,3,1000,NVIDIA-GPU,false,hami-core:")
        assert said(running)[HANDSHAKE].startswith("Reported ")
        assert amounts(running, of="capacity") == {"vgpu-number": "6", "vgpu-memory": "2000", "vgpu-cores": "200"}
        assert amounts(running) == {"vgpu-number": "3", "vgpu-memory": "1000", "vgpu-cores": "100"}
        assert (amounts(running, "b"), REGISTER in said(running, "b")) == ({}, False)

        (tmp_path / "devices.yaml").write_text(TWO.replace("[a]", "[b]"))
        await until(lambda: REGISTER in said(running, "b") and said(running)[HANDSHAKE].startswith("Deleted_"))
        assert set(amounts(running).values()) == {"0"}


async def test_what_is_registered_by_hand_stays(tmp_path: Path) -> None:
    async with registering(tmp_path, TWO) as running:
        await until(lambda: REGISTER in said(running))

        def left(found: Obj) -> Obj:
            annotations = {**found["metadata"]["annotations"], HANDSHAKE: "Deleted_now"}
            return {**found, "metadata": {**found["metadata"], "annotations": annotations}}

        running.client.patch("nodes", "", "a", left)
        assert await running.settle()
        assert said(running)[HANDSHAKE] == "Deleted_now"


async def test_a_later_node_registers_too(tmp_path: Path) -> None:
    async with registering(tmp_path, TWO.replace("[a]", "[c]")) as running:
        running.apply([node("c")])
        await until(lambda: REGISTER in said(running, "c"))


def assigned(name: str, text: str, *, limits: Obj | None = None, **more: str) -> Obj:
    """A pod that a scheduler has given vGPUs of node ``a``."""
    made = pod(name, containers=[{**asking(**(limits or {"vgpu_number": "1"})), "image": "i"}])
    annotations = {"volcano.sh/vgpu-node": "a", IDS: text, TO_ALLOCATE: text, PHASE: "allocating", **more}
    return {**made, "metadata": {**made["metadata"], "annotations": annotations}}


async def started(running: Cluster, *pods: Obj) -> dict[str, str]:
    """The phases of pods that are bound to node ``a``, one after the other."""
    found = {}
    for each in pods:
        name = each["metadata"]["name"]
        running.apply([each])
        bind(running, name, "a")
        found[name] = await until(lambda name=name: _ended_start(running, name))
    return found


def _ended_start(running: Cluster, name: str) -> str:
    found = phase(running, "pods", name)
    return "" if found in (None, "Pending") else str(found)


def annotations_of(running: Cluster, name: str) -> Obj:
    return dict((running.client.get("pods", "default", name) or {})["metadata"]["annotations"])


async def test_a_pod_gets_what_it_was_assigned(tmp_path: Path) -> None:
    async with registering(tmp_path, TWO) as running:
        assert await started(running, assigned("p", f"{part(0, 600, 10)};{part(0, 400, 20)}")) == {"p": "Running"}
        said_of = annotations_of(running, "p")
        assert (said_of[PHASE], said_of[TO_ALLOCATE]) == ("success", ";")
        assert said_of[IDS] == f"{part(0, 600, 10)};{part(0, 400, 20)}"
        assert int(said_of["volcano.sh/vgpu-time"]) == (1 << 64) - 1


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        pytest.param([assigned("p", "")], "no devices were assigned to the pod on node a", id="nothing was assigned"),
        pytest.param(
            [assigned("p", part(0, 1, 1), **{"volcano.sh/vgpu-node": "b"})],
            "no devices were assigned to the pod on node a",
            id="it was assigned on another node",
        ),
        pytest.param([assigned("p", part(7, 1, 1))], "there is no device GPU-7", id="there is no such device"),
        pytest.param([assigned("p", part(1, 1, 1))], "device GPU-1 is unhealthy", id="it is unhealthy"),
        pytest.param([assigned("p", "GPU-0")], "what was assigned to the pod cannot be read", id="it cannot be read"),
        pytest.param(
            [assigned("o", part(0, 600, 1)), assigned("p", part(0, 401, 1))],
            "device GPU-0 has 1000 MiB: 1001 are assigned",
            id="another pod has the memory",
        ),
        pytest.param(
            [assigned("o", part(0, 1, 60)), assigned("p", part(0, 1, 41))],
            "device GPU-0 has 100 per cent of its cores: 101 are assigned",
            id="another pod has the cores",
        ),
        pytest.param(
            [assigned("o", f"{part(0, 1, 1)};{part(0, 1, 1)};{part(0, 1, 1)}"), assigned("p", part(0, 1, 1))],
            "device GPU-0 has room for 3 containers: 4 are assigned",
            id="it has too many sharers",
        ),
    ],
)
async def test_a_pod_is_refused_what_is_not_there(tmp_path: Path, pods: list[Obj], why: str) -> None:
    async with registering(tmp_path, TWO) as running:
        found = await started(running, *pods)
        assert found == {"p": "Failed"} | ({"o": "Running"} if len(pods) > 1 else {})
        status = (running.client.get("pods", "default", "p") or {})["status"]
        told = f"Allocate failed due to rpc error: code = Unknown desc = {why}, which is unexpected"
        assert (status["reason"], status["message"]) == ("UnexpectedAdmissionError", f"Pod was rejected: {told}")
        assert annotations_of(running, "p")[PHASE] == "failed"
        await until(lambda: reasons(running, "p").get("UnexpectedAdmissionError") == told)


DIVIDED = TWO.replace("sharers: 3", "sharers: 3, mode: mig")


def instance(place: str) -> str:
    return f"GPU-0[{place}],NVIDIA,1,1:"


@pytest.mark.parametrize(
    ("text", "first", "second", "why"),
    [
        pytest.param(DIVIDED, instance("g-0"), instance("g-1"), "", id="two instances of a geometry"),
        pytest.param(
            DIVIDED,
            instance("g-0"),
            instance("h-1"),
            "device GPU-0 has one geometry at a time: g-0, h-1 are assigned",
            id="instances of two geometries",
        ),
        pytest.param(
            DIVIDED, instance("g-0"), instance("g-0"), "an instance of device GPU-0 is assigned twice", id="one twice"
        ),
        pytest.param(
            DIVIDED,
            instance("g-0"),
            part(0, 1, 1),
            "device GPU-0 is divided by MIG, and no instance is assigned",
            id="no instance",
        ),
        pytest.param(TWO, part(0, 1, 1), instance("g-0"), "device GPU-0 is not divided by MIG", id="no MIG"),
    ],
)
async def test_how_a_gpu_is_divided(tmp_path: Path, text: str, first: str, second: str, why: str) -> None:
    async with registering(tmp_path, text) as running:
        found = await started(running, assigned("o", first), assigned("p", second))
        assert found == {"o": "Running", "p": "Failed" if why else "Running"}
        status = (running.client.get("pods", "default", "p") or {})["status"]
        assert why in status.get("message", "")


@pytest.mark.parametrize("text", [pytest.param(part(0, 1, 1), id="given"), pytest.param(part(7, 1, 1), id="refused")])
async def test_the_lock_of_a_node_is_taken_away(tmp_path: Path, text: str) -> None:
    async with registering(tmp_path, TWO) as running:

        def locked(found: Obj) -> Obj:
            metadata = found["metadata"]
            return {**found, "metadata": {**metadata, "annotations": {**metadata["annotations"], "hamivgpu": "2026"}}}

        await until(lambda: REGISTER in said(running))
        running.client.patch("nodes", "", "a", locked)
        await started(running, assigned("p", text))
        assert "hamivgpu" not in said(running)
        assert REGISTER in said(running)


async def test_what_an_ended_pod_had_is_free(tmp_path: Path) -> None:
    async with registering(tmp_path, TWO) as running:
        await started(running, assigned("o", part(0, 1000, 100)))
        running.client.delete("pods", "default", "o")
        await until(lambda: running.client.get("pods", "default", "o") is None)
        assert await started(running, assigned("p", part(0, 1000, 100))) == {"p": "Running"}


async def test_a_plugin_fails_when_it_is_told(tmp_path: Path) -> None:
    async with registering(tmp_path, TWO.replace("unhealthy: [1]", "failure: out of order")) as running:
        assert await started(running, assigned("p", part(0, 1, 1))) == {"p": "Failed"}
        assert "out of order" in (running.client.get("pods", "default", "p") or {})["status"]["message"]


async def test_gpus_are_given_by_their_number(tmp_path: Path) -> None:
    async with registering(tmp_path, "[{plugin: gpu, nodes: [a], count: 2, memory: 1000}]") as running:
        pods = [
            assigned("one", "", limits={"gpu_memory": "700"}, **{INDEX: "1"}),
            assigned("two", "", limits={"gpu_memory": "700"}, **{INDEX: "1"}),
            assigned("three", "", limits={"gpu_memory": "700"}, **{INDEX: "0"}),
            assigned("four", "", limits={"gpu_memory": "1"}, **{INDEX: "2"}),
            assigned("five", "", limits={"gpu_memory": "1"}),
        ]
        expected = {"one": "Running", "two": "Failed", "three": "Running", "four": "Failed", "five": "Failed"}
        assert await started(running, *pods) == expected
        assert [name for name in expected if ASSIGNED in annotations_of(running, name)] == ["one", "three"]


async def test_npus_are_given_as_hami_writes_them(tmp_path: Path) -> None:
    text = "[{plugin: Ascend910B3, nodes: [a], count: 1, memory: 65536, uuid: 'NPU-{n}'}]"
    async with registering(tmp_path, text) as running:
        await until(lambda: said(running).get("hami.io/node-handshake-Ascend910B3", "").startswith("Reported"))

        def asking_npu(name: str, memory: int) -> Obj:
            ids, prefix = f"NPU-0,Ascend910B3,{memory},0:;", "hami.io/Ascend910B3-devices-"
            limits = {"huawei.com/Ascend910B3": "1"}
            made = pod(name, containers=[{"name": "c", "image": "i", "resources": {"limits": limits}}])
            annotations = {f"{prefix}{word}": ids for word in ("allocated", "to-allocate")}
            annotations |= {"hami.io/vgpu-node": "a", "hami.io/bind-phase": "allocating"}
            return {**made, "metadata": {**made["metadata"], "annotations": annotations}}

        found = await started(running, asking_npu("one", 32768), asking_npu("two", 32768), asking_npu("three", 1))
        assert found == {"one": "Running", "two": "Running", "three": "Failed"}
        assert annotations_of(running, "one")["hami.io/bind-phase"] == "success"
        assert annotations_of(running, "three")["hami.io/bind-phase"] == "failed"


async def test_pods_without_devices_start_as_ever(tmp_path: Path) -> None:
    async with registering(tmp_path, TWO) as running:
        assert await started(running, pod("p")) == {"p": "Running"}

"""Shared devices of nodes, requests of pods, and what pods hold: how they are read, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.deviceshare import HANDSHAKE, IDS, INDEX, REGISTER, V100, asking, device, devices, vgpu_node
from vsched import api
from vsched.mirror.ingest.deviceshare import node_devices_of, parts_of
from vsched.mirror.ingest.nodes import node_of
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.ingest.words import devices as words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.deviceshare.records import (
    DeviceAsk,
    HeldPart,
    NodeDevices,
    SharedDevice,
    SharedDeviceRequest,
)
from vsched.model.pods.task import Task

Obj = dict[str, Any]
ONE = SharedDeviceRequest("vgpu", (DeviceAsk(),), (0,))
HAMI_JSON = '[{"id":"GPU-0","index":0,"count":4,"devmem":8192,"devcore":100,"type":"A10","numa":1,"health":true}]'


def node(fields: Obj) -> api.Node:
    found = make.read(fields)
    assert isinstance(found, api.Node)
    return found


def read(fields: Obj) -> tuple[tuple[NodeDevices, ...], list[str]]:
    remarks: list[str] = []
    return node_devices_of(node(fields), remarks), remarks


def task_of(*containers: Obj, inits: tuple[Obj, ...] = (), axis: ResourceAxis | None = None, **said: str) -> Task:
    fields = make.pod(
        metadata={"annotations": said},
        spec={"schedulerName": "vsched", "containers": list(containers), "initContainers": list(inits)},
    )
    found = make.read(fields)
    assert isinstance(found, api.Pod)
    facts = PodReader(axis or ResourceAxis(), frozenset({"vsched"})).read(found)
    assert facts is not None
    return facts.task


@pytest.mark.parametrize(
    ("register", "handshake", "found"),
    [
        pytest.param(
            devices(2),
            "Reported_2026.01.01 00:00:00",
            (
                SharedDevice(0, "GPU-0", V100, 32768, 10),
                SharedDevice(1, "GPU-1", V100, 32768, 10),
            ),
            id="two devices as Volcano's device plugin writes them",
        ),
        pytest.param(
            "GPU-0,10,32768,A100,false:",
            "Requesting_2026",
            (SharedDevice(0, "GPU-0", "A100", 32768, 10, healthy=False),),
            id="an older device plugin names no mode, and one device is ill",
        ),
        pytest.param(
            "GPU-0,5,8192,90,A10,1,true:",
            "Reported",
            (SharedDevice(0, "GPU-0", "A10", 8192, 5, thousandths=900, numa=1),),
            id="HAMi's line has cores and the zone",
        ),
        pytest.param(
            HAMI_JSON, "Reported", (SharedDevice(0, "GPU-0", "A10", 8192, 4, numa=1),), id="HAMi's list in JSON"
        ),
        pytest.param(
            HAMI_JSON.replace(',"health":true', ""),
            "Reported",
            (SharedDevice(0, "GPU-0", "A10", 8192, 4, healthy=False, numa=1),),
            id="in JSON, a device that is ill has no health",
        ),
        pytest.param(devices(1), None, None, id="a plugin that has not reported has no devices"),
        pytest.param(devices(1), "Deleted_2026", None, id="a plugin that has left has no devices"),
        pytest.param("", "Reported", None, id="nothing is registered"),
    ],
)
def test_what_a_node_registers(register: str, handshake: str | None, found: tuple[SharedDevice, ...] | None) -> None:
    devices_found, remarks = read(vgpu_node("n1", register, handshake))

    expected = () if found is None else (NodeDevices("n1", "vgpu", "hami-core", found),)
    assert (devices_found, remarks) == (expected, [])


@pytest.mark.parametrize(
    ("register", "problem"),
    [
        pytest.param("GPU-0,1:", "'GPU-0,1' (expected uuid,sharers,MiB,type,healthy,mode)", id="too few fields"),
        pytest.param("GPU-0,many,1,A10,true:", words.no_whole_number("many"), id="no number"),
        pytest.param("GPU-0,1,1,A10,well:", words.no_bool("well"), id="no health"),
        pytest.param(device(0) + device(0), words.ONE_UUID, id="a device twice"),
        pytest.param(devices(65), words.too_many_devices(65, 64), id="more devices than are read"),
        pytest.param("[:", words.no_list_of_devices("[:"), id="no JSON"),
        pytest.param("x:" * 10_000, words.too_many_letters(20000, 16384), id="a text without an end"),
    ],
)
def test_what_cannot_be_read_of_a_node_is_said_and_left_out(register: str, problem: str) -> None:
    found, remarks = read(vgpu_node("n1", register))

    assert found == ()
    assert remarks == [words.devices_of_annotation_left_out(REGISTER, Exception(problem))]


@pytest.mark.parametrize(
    ("amount", "handshake", "count"),
    [
        pytest.param("20", None, 1, id="a newer plugin shakes no hands, and the kubelet knows it"),
        pytest.param("0", None, 0, id="it has left"),
        pytest.param("20", "Deleted_2026", 0, id="a plugin that shakes hands has left"),
    ],
)
def test_the_kubelet_tells_of_plugins_that_shake_no_hands(amount: str, handshake: str | None, count: int) -> None:
    found = vgpu_node("n1", devices(1), handshake, status={"allocatable": {"volcano.sh/vgpu-number": amount}})
    assert len(read(found)[0]) == count


def test_devices_of_the_kind_gpu_share_the_memory_equally() -> None:
    fields = make.node(
        metadata={"annotations": {"volcano.sh/gpu-unhealthy-ids": "1"}},
        status={"capacity": {"volcano.sh/gpu-memory": "32", "volcano.sh/gpu-number": "2"}},
    )
    found, remarks = read(fields)

    assert found == (
        NodeDevices("n1", "gpu", "", (SharedDevice(0, memory=16), SharedDevice(1, memory=16, healthy=False))),
    )
    assert remarks == []


def test_a_node_offers_the_sums_of_its_devices_and_its_own_number_of_shares() -> None:
    axis = ResourceAxis()
    fields = vgpu_node("n1", devices(2), status={"allocatable": {"volcano.sh/vgpu-number": "20"}})
    facts = node_of(node(fields), axis)

    offered = axis.render(facts.allocatable)
    assert {name: value for name, value in offered.items() if "vgpu" in name} == {
        "volcano.sh/vgpu-number": "20",
        "volcano.sh/vgpu-memory": "65536",
        "volcano.sh/vgpu-memory-percentage": "200",
        "volcano.sh/vgpu-cores": "200",
    }
    assert not {REGISTER, HANDSHAKE} & facts.attributes.annotations.keys(), "they change every half minute"


@pytest.mark.parametrize(
    ("containers", "asks", "positions"),
    [
        pytest.param(
            (asking(vgpu_number=1, vgpu_memory=3000, vgpu_cores=30),),
            (DeviceAsk(1, 300, 3000),),
            (0,),
            id="one device with memory and cores",
        ),
        pytest.param((asking(vgpu_number=2),), (DeviceAsk(2, 0, 0, 100),), (0,), id="without memory it gets all of it"),
        pytest.param(
            (asking(vgpu_number=1, vgpu_memory_percentage=50),),
            (DeviceAsk(1, 0, 0, 50),),
            (0,),
            id="memory in per cent",
        ),
        pytest.param((asking(vgpu_memory=1024),), (DeviceAsk(1, 0, 1024),), (0,), id="memory alone means one device"),
        pytest.param(
            (asking(), asking(vgpu_number=1, vgpu_cores=100, vgpu_memory=5), asking(vgpu_number=1, vgpu_memory=7)),
            (DeviceAsk(1, 1000, 5), DeviceAsk(1, 0, 7)),
            (1, 2),
            id="containers that ask for none are passed over",
        ),
    ],
)
def test_what_a_pod_asks_of_vgpus(
    containers: tuple[Obj, ...], asks: tuple[DeviceAsk, ...], positions: tuple[int, ...]
) -> None:
    assert task_of(*containers).shape.devices == SharedDeviceRequest("vgpu", asks, positions)


@pytest.mark.parametrize(
    ("containers", "inits", "ask"),
    [
        pytest.param(
            (asking(gpu_memory=4), asking(gpu_memory=2)), (), DeviceAsk(1, 0, 6), id="memory of one device for all"
        ),
        pytest.param((asking(gpu_memory=4),), (asking(gpu_memory=8),), DeviceAsk(1, 0, 8), id="the larger init counts"),
        pytest.param((asking(gpu_number=2),), (), DeviceAsk(2, 1000), id="whole devices"),
    ],
)
def test_what_a_pod_asks_of_devices_of_the_kind_gpu(
    containers: tuple[Obj, ...], inits: tuple[Obj, ...], ask: DeviceAsk
) -> None:
    assert task_of(*containers, inits=inits).shape.devices == SharedDeviceRequest("gpu", (ask,), (0,))


def test_wishes_for_devices() -> None:
    said = {
        "nvidia.com/use-gputype": "A100, V100",
        "nvidia.com/nouse-gputype": "T4",
        "volcano.sh/vgpu-use-gpuuuid": "GPU-1",
        "volcano.sh/vgpu-nouse-gpuuuid": "GPU-2,GPU-3",
        "volcano.sh/vgpu-mode": "mps",
    }
    found = task_of(asking(vgpu_number=1, vgpu_memory=1), **said).shape.devices

    assert found == SharedDeviceRequest(
        "vgpu", (DeviceAsk(1, 0, 1),), (0,), ("A100", "V100"), (), ("GPU-1",), ("GPU-2", "GPU-3"), "mps"
    ), "types to avoid do not count beside types to use"


def test_pods_of_other_resources_ask_for_no_devices() -> None:
    assert task_of(make.container("1")).shape.devices is None
    assert task_of(asking(other=1)).shape.devices is None


def test_requests_count_the_memory_and_cores_of_all_devices() -> None:
    axis = ResourceAxis()
    shape = task_of(asking(vgpu_number=3, vgpu_memory=1000, vgpu_cores=20), axis=axis).shape

    assert axis.render(shape.request) == {
        "pods": "1",
        "volcano.sh/vgpu-number": "3",
        "volcano.sh/vgpu-memory": "3000",
        "volcano.sh/vgpu-cores": "60",
    }


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(
            "GPU-0,NVIDIA,3000,30:;GPU-1,NVIDIA,1,0:GPU-2,NVIDIA,1,0:",
            (
                (HeldPart(-1, 300, 3000, "GPU-0"),),
                (HeldPart(-1, 0, 1, "GPU-1"), HeldPart(-1, 0, 1, "GPU-2")),
            ),
            id="two containers",
        ),
        pytest.param(
            "GPU-0[group2-3],NVIDIA,3000,0:",
            ((HeldPart(-1, 0, 3000, "GPU-0", "group2-3"),),),
            id="an instance of a GPU that is divided by MIG",
        ),
    ],
)
def test_what_a_pod_holds(text: str, parts: object) -> None:
    assert parts_of(text, ONE) == parts
    assert task_of(asking(vgpu_number=1), **{IDS: text}).devices == text
    assert task_of(make.container("1"), **{IDS: text}).devices == "", "it asks for none"


def test_what_a_pod_holds_of_devices_of_the_kind_gpu() -> None:
    assert parts_of("0,2", SharedDeviceRequest("gpu", (DeviceAsk(2, 1000),), (0,))) == (
        (HeldPart(0, 1000), HeldPart(2, 1000)),
    )
    assert task_of(asking(gpu_memory=4), **{INDEX: "1"}).devices == "1"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("GPU-0,NVIDIA", "'GPU-0,NVIDIA' (expected uuid,type,MiB,cores)", id="too few fields"),
        pytest.param("GPU-0[g-1,NVIDIA,1,0:", "'GPU-0[g-1' (expected uuid[geometry-position])", id="half an instance"),
        pytest.param("[g-1],NVIDIA,1,0:", "'[g-1]' (expected uuid[geometry-position])", id="an instance of no device"),
    ],
)
def test_what_a_pod_holds_is_passed_over_where_it_cannot_be_read(text: str, problem: str) -> None:
    fields = make.pod(metadata={"annotations": {IDS: text}}, spec={"schedulerName": "vsched"})
    fields["spec"]["containers"] = [asking(vgpu_number=1)]
    found = make.read(fields)
    assert isinstance(found, api.Pod)
    facts = PodReader(ResourceAxis(), frozenset({"vsched"})).read(found)

    assert facts is not None
    assert facts.task.devices == ""
    assert facts.remarks == [f"metadata.annotations[{IDS}]: {problem}: ignored"]


@pytest.mark.parametrize(
    ("amounts", "policy", "remark"),
    [
        pytest.param({"vgpu_number": 1}, "spread", "", id="the one that is known"),
        pytest.param({"vgpu_number": 1}, "pack", "'pack' (expected spread): ignored", id="another one"),
        pytest.param({"gpu_number": 1}, "spread", f"{words.NO_EFFECT_WITHOUT_VGPUS}: ignored", id="no vGPUs"),
    ],
)
def test_policies_for_the_devices_of_a_podgroup(amounts: dict[str, int], policy: str, remark: str) -> None:
    name = "volcano.sh/vgpu-podgroup-policy"
    fields = make.pod(metadata={"annotations": {name: policy}}, spec={"schedulerName": "vsched"})
    fields["spec"]["containers"] = [asking(**amounts)]
    found = make.read(fields)
    assert isinstance(found, api.Pod)
    facts = PodReader(ResourceAxis(), frozenset({"vsched"})).read(found)

    assert facts is not None
    assert facts.task.shape.devices is not None
    assert facts.task.shape.devices.spread == (not remark)
    assert list(facts.remarks) == ([f"metadata.annotations[{name}]: {remark}"] if remark else [])


def test_init_containers_get_no_vgpus() -> None:
    request = task_of(make.container("1"), inits=(asking(vgpu_number=1),)).shape.devices
    assert request is not None
    assert request.problem == (words.limits_not_of_containers("spec.initContainers", 0, "volcano.sh/vgpu-number"))


def test_npus_do_not_go_together_with_gpus() -> None:
    npus = {"name": "c", "resources": {"limits": {"huawei.com/Ascend910B3": "1"}}}
    request = task_of(asking(vgpu_number=1), npus).shape.devices
    assert request is not None
    assert request.problem == (
        words.two_kinds("spec.containers[0].resources.limits", "volcano.sh/vgpu-number", "huawei.com/Ascend910B3")
    )
